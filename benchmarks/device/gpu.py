"""The GPU that is measured."""

from __future__ import annotations

from functools import partial
from typing import Any

from mstflow.primitives import resolve_backend

from ..graphs import Graph
from ..measure import timed

_COPIED_BYTES = 2**30


class Gpu:
    """The current device of CuPy."""

    def __init__(self) -> None:
        resolve_backend("cupy", 0)
        import cupy

        self._cupy, self._pool = cupy, cupy.get_default_memory_pool()

    def on_device(self, graph: Graph) -> Graph:
        """Copy the columns of a graph to the device."""
        u, v, w = map(self._cupy.asarray, graph[:3])
        return Graph(u, v, w, graph.n)

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
        copy = timed(partial(target.set, source), finish=self.finish)
        return _COPIED_BYTES / float(min(copy()["seconds"] for _ in range(5)))
