"""The sizes at which the code changes its method. They affect the speed, never a result.

To measure a size, alternate it with its default in one process::

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
    `work` and `primitives` the others.
    """

    #: Edges of a graph, from which "auto" uses kernels that this process has used before.
    kernels_used_from: int = 30_000
    #: Edges of all graphs so far, from which "auto" loads kernels from the cache (a second, in
    #: which NumPy solves this number of edges), and compiles kernels (ten seconds).
    kernels_loaded_from: int = 4_000_000
    kernels_compiled_from: int = 30_000_000
    #: Edges up to which calling the stages of a pipeline takes longer than their work. The pipeline
    #: with the fewest stages is then the fastest.
    few: int = 2**12
    #: Edges up to which one rank of "exchange" joins them at once: rounds of messages take longer.
    joined_by_one_rank: int = 2**14
    #: Edges that take as long as all calls of functions of a run on a small graph.
    calls: int = 2_500
    #: Edges from which a GPU solves a graph in host memory faster than 16 threads do.
    device_from: int = 2**18
    #: The largest number of bytes of a GPU's memory for an edge.
    device_bytes: int = 72
    #: Edges that a thread reads at once. They fit in the cache while they are filtered or dealt.
    block_edges: int = 2**19
    #: The smallest share of a thread: waking a thread takes as long as processing this share.
    smallest_share: int = 2**17
    #: Bytes from which arrays come from the pool. NumPy's allocator also reuses smaller arrays.
    smallest_block: int = 2**20
    #: Elements from which threads fill, copy and compare arrays in memory of the pool.
    filled_together: int = 2**19
    #: Keys from which threads sort. With fewer keys, they would mostly move records between caches.
    sorted_together: int = 2**18
    #: Places from which threads write to them in any order, and more than two threads lower them by
    #: atomic operations. Fewer places fit in a cache, and threads would mostly wait for its lines.
    lowered_together: int = 2**19
    #: Pairs from which a GPU joins in parts, and the host reads a length after each round.
    joined_in_parts: int = 2**20
    #: Pairs of a run, which fit in a cache. A larger bucket is a run of its own.
    run: int = 2**12
    #: Pairs. If a run is longer than this and than a quarter of a thread's share, all pairs are
    #: sorted at once: the buffer of each thread has the length of the longest run.
    longest_run: int = 2**17
    #: Labels from which computing a bit for each saves time, because they do not fit in a cache.
    summarised_labels: int = 2**17
    #: Bytes that a thread copies to a GPU at once, by a buffer in pinned memory. CuPy never frees
    #: these buffers, so they should be small. One is filled while others are copied.
    copied_to_device: int = 2**23
    #: Seconds between two saves of unfinished work in a checkpoint.
    seconds_unsaved: float = 20.0
    #: Vertices with consecutive ids that stay together in the order of a sweep; a power of two.
    tile: int = 2**10
    #: Bytes up to which the labels at a threshold stay in memory while a table is written.
    labels_in_memory: int = 2**23
    #: Seconds of runs on points without kernels, from which "auto" loads the kernels from the cache
    #: (which takes as long), and compiles them (seven seconds, once).
    points_loaded_from: float = 0.45
    points_compiled_from: float = 1.0
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
