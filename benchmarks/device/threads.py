"""Times of solves by number of threads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .. import graphs as graph_list
from ..machine import pinned
from .times import repeated, solver

ALGORITHMS = ("filter-kruskal", "boruvka-edgelist", "boruvka-csr")
#: Only the default is measured on more edges.
MOST_EDGES = 20_000_000


def solves(
    threads: Sequence[int],
    graphs: Sequence[str] = ("E", "G", "R", "L"),
    disk: Sequence[str] = ("D",),
    seconds: float = 1,
) -> Iterator[dict[str, Any]]:
    """Yield the times of the default algorithm in memory and on disk, then of the others in memory.

    Each measurement is pinned to one processor for each thread.
    """
    for algorithm in ALGORITHMS:
        for name in graphs:
            graph = graph_list.load_named(name)
            if algorithm != ALGORITHMS[0] and len(graph.u) > MOST_EDGES:
                continue
            for count in threads:
                options = {"algorithm": algorithm, "backend": "numba", "threads": count}
                with pinned(count):
                    timed = repeated(solver(graph[:3], graph.n, **options), seconds)
                yield {"graph": name, **options, "seconds": timed}
        for name in disk if algorithm == ALGORITHMS[0] else ():
            folder = graph_list.ensure(name)
            for count in threads:
                options = {"strategy": "two-scan", "partitions": 1, "threads": count}
                with pinned(count):
                    timed = repeated(solver(folder, None, **options), seconds)
                yield {"graph": f"{name}, on disk", **options, "seconds": timed}
