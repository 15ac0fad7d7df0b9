"""The GPU that is measured, or the interpreter of its kernels."""

from __future__ import annotations

import sys
import time
from typing import Any

from mstflow.errors import OptionError
from mstflow.primitives import resolve_backend

from ..graphs import ROOT, Graph

_COPIED_BYTES = 2**30


class Gpu:
    """The current device of CuPy."""

    def __init__(self) -> None:
        resolve_backend("cupy", 0)
        import cupy

        self._cupy, self._pool = cupy, cupy.get_default_memory_pool()

    def columns(self, graph: Graph) -> tuple[Any, ...]:
        """Copy the columns of a graph to the device."""
        return tuple(map(self._cupy.asarray, graph[:3]))

    def to_host(self, array: Any) -> Any:
        """Return an array of the host or the device as a NumPy array."""
        return self._cupy.asnumpy(array)

    def finish(self) -> None:
        """Wait until the device has finished all its work."""
        self._cupy.cuda.runtime.deviceSynchronize()

    def free(self) -> int:
        """Free the memory that no array uses, and return the bytes that the pool still holds."""
        self._pool.free_all_blocks()
        return int(self._pool.total_bytes())

    def pool_bytes(self) -> int:
        """Return the bytes that the pool holds: at least the peak in use since `free`."""
        return int(self._pool.total_bytes())

    def copy_rate(self) -> float:
        """Return the bytes per second of copies from pinned memory."""
        import cupyx

        source = cupyx.empty_pinned(_COPIED_BYTES, "u1")
        target = self._cupy.empty(_COPIED_BYTES, "u1")
        times = []
        for _ in range(5):
            self.finish()
            start = time.perf_counter()
            target.set(source)
            self.finish()
            times.append(time.perf_counter() - start)
        return _COPIED_BYTES / min(times)


def interpreter() -> Any:
    """Return the module of the tests that runs CuPy without a GPU."""
    if (support := str(ROOT / "tests" / "support")) not in sys.path:
        sys.path.insert(0, support)
    import interpreted_gpu

    return interpreted_gpu


def build_interpreter(folder: str) -> dict[str, str]:
    """Compile the driver that interprets kernels; return the environment that selects it."""
    interpreted_gpu = interpreter()
    if reason := interpreted_gpu.why_not():
        raise OptionError(reason)
    return {interpreted_gpu.VARIABLE: str(interpreted_gpu.build(folder))}
