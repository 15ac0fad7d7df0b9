"""The sizes at which the code changes its method. They affect the speed, never a result.

Measure a size in turns with its default, in one process::

    with tuned(run=2**13):
        mstflow.minimum_spanning_forest(graph)

Tests lower sizes in the same way, so that small arrays take the paths of large ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Sizes:
    """Numbers of elements, unless stated otherwise.

    `python -m benchmarks record start` measures the choices of "auto", `device` those of a GPU, and
    `primitives` and `threads` the others.
    """

    #: Edges of a graph, from which "auto" uses kernels that this process has used before.
    kernels_used_from: int = 30_000
    #: Edges of all graphs so far, from which "auto" loads kernels in the cache (this takes as long
    #: as NumPy takes for these edges, a second), and compiles kernels (ten seconds).
    kernels_loaded_from: int = 4_000_000
    kernels_compiled_from: int = 30_000_000
    #: Edges up to which the calls of a pipeline's stages take longer than their work, so the fewest
    #: stages are the fastest.
    few: int = 2**12
    #: Edges that take as long as the calls of functions on a small graph.
    calls: int = 2_500
    #: Edges. A GPU solves a graph in host memory faster than 16 threads do.
    device_from: int = 2**18
    #: Bytes of a GPU's memory that an edge takes at most.
    device_bytes: int = 72
    #: Edges that a thread reads at once. They fit in the cache while they are filtered or dealt.
    block_edges: int = 2**19
    #: A thread gets at least this many, because waking it takes as long.
    smallest_share: int = 2**16
    #: Bytes. Smaller arrays come from NumPy's allocator, which also reuses memory.
    smallest_block: int = 2**20
    #: Arrays are filled, copied and compared by threads, in memory of the pool.
    filled_together: int = 2**19
    #: Keys are sorted by threads. Sorting fewer, they would mostly move records between caches.
    sorted_together: int = 2**20
    #: Threads. Fewer of them leave the joins to one thread, which needs no atomic operations and
    #: half the memory for each node.
    joined_together: int = 4
    #: Pairs of a run, which fit in a cache. A larger bucket is a run of its own.
    run: int = 2**12
    #: Pairs. If a run is longer than this and a quarter of a thread's share, all pairs are sorted
    #: at once: the buffer of each thread has the length of the longest run.
    longest_run: int = 2**17
    #: Labels, from which a bit for each is worth computing because they do not fit in a cache.
    summarised_labels: int = 2**17
    #: Bytes that a thread copies to a GPU at once. CuPy never frees pinned buffers, so they should
    #: be small. Also, one buffer can be filled while others are copied.
    copied_to_device: int = 2**23
    #: Vertices, a power of two: those with consecutive ids stay together in the order of a sweep.
    tile: int = 2**10
    #: Bytes of the labels at a threshold, up to which they stay in memory while a table is written.
    labels_in_memory: int = 2**23
    #: Edges per point whose solution takes as long as the tree of the points.
    edges_per_point: int = 800
    #: Points of a range, which a thread processes before it takes the next one. The points of a
    #: subtree of this size fit in the cache while it is built.
    points_of_range: int = 2**14
    #: Distances of a block that NumPy compares.
    block: int = 2**20
    #: The rows and columns of a block that kernels compare. Threads of a BLAS library wait for each
    #: other at the end of each product, so small products take several times as long.
    block_rows: int = 512
    block_columns: int = 8192


_sizes: ContextVar[Sizes] = ContextVar("sizes", default=Sizes())  # noqa: B039  # frozen


def sizes() -> Sizes:
    """Return the sizes in use."""
    return _sizes.get()


@contextmanager
def tuned(**changes: Any) -> Iterator[None]:
    """Return a context in which this thread uses other sizes."""
    token = _sizes.set(replace(_sizes.get(), **changes))
    try:
        yield
    finally:
        _sizes.reset(token)
