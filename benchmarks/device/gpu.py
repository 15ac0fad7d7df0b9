"""The GPU that is measured: its description, copies to it, and its memory pool."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from mstflow.primitives import resolve_backend

if TYPE_CHECKING:
    from ..graphs import Graph

_COPY = 2**30  # bytes


class Gpu:
    """The current device of CuPy.

    Raises
    ------
    OptionError
        If no GPU is usable. Names the reason.
    """

    def __init__(self) -> None:
        resolve_backend("cupy", 0)
        import cupy

        self._cupy, self._pool = cupy, cupy.get_default_memory_pool()

    def about(self) -> dict[str, Any]:
        """Return its name, memory and versions, and the rate of copies from pinned memory."""
        runtime = self._cupy.cuda.runtime
        found = runtime.getDeviceProperties(self._cupy.cuda.Device().id)
        return {
            "name": found["name"].decode(),
            "memory": found["totalGlobalMem"],
            "capability": f"{found['major']}.{found['minor']}",
            "driver": runtime.driverGetVersion(),
            "runtime": runtime.runtimeGetVersion(),
            "cupy": self._cupy.__version__,
            "bus_bytes_per_second": self._bus(),
        }

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

    def held(self) -> int:
        """Return the bytes that the pool holds: at least the peak in use since `free`."""
        return int(self._pool.total_bytes())

    def limit(self, size: int) -> None:
        """Limit the pool to a number of bytes; 0 removes the limit."""
        self._pool.set_limit(size)

    def _bus(self) -> float:
        import cupyx

        source = cupyx.empty_pinned(_COPY, "u1")
        target = self._cupy.empty(_COPY, "u1")
        times = []
        for _ in range(5):
            self.finish()
            start = time.perf_counter()
            target.set(source)
            self.finish()
            times.append(time.perf_counter() - start)
        return _COPY / min(times)
