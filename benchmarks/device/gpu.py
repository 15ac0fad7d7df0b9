"""The GPU that is measured: its facts, its memory, and graphs on it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

import mstflow
from mstflow.primitives import resolve_backend
from mstflow.runtime.device import device_array

from ..graphs import Graph
from ..measure import Row, timed

_COPIED_BYTES = 2**30


class Gpu:
    """The current device of CuPy."""

    def __init__(self) -> None:
        resolve_backend("cupy", 0)
        import cupy

        self._cupy, self._pool = cupy, cupy.get_default_memory_pool()

    def finish(self) -> None:
        """Wait until the device has finished all its work."""
        self._cupy.cuda.runtime.deviceSynchronize()

    def pool_bytes(self, *, free: bool = False) -> int:
        """Return the bytes that the pool holds: at least the peak in use since it was freed."""
        if free:
            self._pool.free_all_blocks()
        return int(self._pool.total_bytes())

    def copy_rate(self) -> float:
        """Return the bytes per second of copies from pinned memory."""
        import cupyx

        source = cupyx.empty_pinned(_COPIED_BYTES, "u1")
        target = self._cupy.empty(_COPIED_BYTES, "u1")
        copy = timed(partial(target.set, source), finish=self.finish)
        return _COPIED_BYTES / float(min(copy()["seconds"] for _ in range(5)))


def on_device(graph: Graph) -> Graph:
    """Copy the columns of a graph to the device."""
    u, v, w = map(device_array, graph[:3])
    return Graph(u, v, w, graph.n)


def facts() -> Iterator[Row]:
    """Yield the device, and the first solves of a small graph on it.

    The first solve of a machine compiles kernels.
    """
    from mstflow.primitives.cuda import device

    yield {"gpu": {"bus_bytes_per_second": Gpu().copy_rate()}, "cuda": device.describe_devices()}
    random = np.random.default_rng(0)
    u, v = random.integers(0, 1000, (2, 5000), dtype=np.int32)
    graph = u, v, random.random(5000, dtype=np.float32)
    solve = timed(partial(mstflow.minimum_spanning_forest, graph, backend="cupy"))
    for name in ("first", "second"):
        yield {"solve": name, **solve()}
