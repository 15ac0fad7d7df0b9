"""Times of whole runs with fused primitives, and with their definitions instead.

The definitions call compiled base primitives. Both take turns in one process.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from unittest import mock

from . import graphs as graph_list
from .codes import TINY
from .measure import Benchmark, Row, in_turn, timed
from .primitives import solver
from .tables import Table, milliseconds, ratio

#: Fused primitives, and an algorithm that calls each of them.
CALLED_BY = {
    "compact_pairs": "filter-kruskal",
    "relabel_pairs": "filter-kruskal",
    "sorted_union": "filter-kruskal",
    "consecutive": "filter-kruskal",
    "join_by_key": "filter-kruskal",
    "any_equal": "boruvka-edgelist",
    "scatter_min_pairs": "boruvka-edgelist",
    "cut_mirrors": "boruvka-edgelist",
    "number_roots": "boruvka-edgelist",
    "multiprefix": "boruvka-csr",
    "segmented_compact": "boruvka-csr",
}


def rows(graphs: Sequence[str], threads: Sequence[int], rounds: int) -> Iterator[Row]:
    """Yield the times of runs with each primitive, and with its definition, on each graph."""
    from mstflow.primitives.compiled.arrays import NumbaArrays
    from mstflow.primitives.vocabulary import ArrayModule

    for name in graphs:
        graph = graph_list.load_named(name)
        for primitive, algorithm in CALLED_BY.items():
            definition = getattr(ArrayModule, primitive)
            composed = mock.patch.object(NumbaArrays, primitive, definition)
            for count in threads:
                solve = solver(graph, algorithm=algorithm, backend="numba", threads=count)
                facts = {"graph": name, "primitive": primitive, "algorithm": algorithm}
                cases = [
                    ({**facts, "threads": count, "code": code}, timed(call, count))
                    for code, call in (("fused", solve), ("composed", composed(solve)))
                ]
                yield from in_turn(cases, rounds, warm_ups=1)


BENCHMARK = Benchmark(
    "whole runs with fused primitives, and with their definitions instead",
    rows,
    {"graphs": ["E", "E64i", "N"], "threads": [1, 2], "rounds": 7},
    TINY,
    {
        "fused": Table(
            ("primitive", "algorithm", "graph"),
            ("code", "threads"),
            {"ms": milliseconds(), "ratio": ratio()},
            against=("threads",),
        )
    },
)
