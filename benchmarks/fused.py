"""Times of whole runs with fused primitives, and with their definitions instead.

The definitions call compiled base primitives. Both take turns in one process.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from statistics import median
from typing import Any
from unittest import mock

from . import graphs as graph_list
from .programs import seconds_in_turn

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


def measure(graphs: Sequence[str], threads: Sequence[int], rounds: int) -> dict[str, Any]:
    """Measure runs on each graph.

    Return `rows`: for each graph, primitive and number of threads, the seconds of all rounds of
    runs with the primitive (`fused`) and with its definition (`composed`).
    """
    rows = []
    for name in graphs:
        graph = graph_list.load_named(name)
        for primitive, algorithm in CALLED_BY.items():
            for count in threads:
                seconds = _turns(graph, primitive, algorithm, count, rounds)
                run = {"graph": name, "primitive": primitive, "algorithm": algorithm}
                rows.append({**run, "threads": count, "seconds": seconds})
    return {"rows": rows}


def _turns(
    graph: graph_list.Graph, primitive: str, algorithm: str, threads: int, rounds: int
) -> dict[str, list[float]]:
    from mstflow import minimum_spanning_forest
    from mstflow.primitives.compiled.arrays import NumbaArrays
    from mstflow.primitives.vocabulary import ArrayModule

    solve = partial(
        minimum_spanning_forest,
        graph[:3],
        num_vertices=graph.n,
        algorithm=algorithm,
        backend="numba",
        threads=threads,
        progress=False,
    )
    composed = mock.patch.object(NumbaArrays, primitive, getattr(ArrayModule, primitive))
    return seconds_in_turn({"fused": solve, "composed": composed(solve)}, rounds, threads)


def rows(result: Mapping[str, Any]) -> Iterator[Sequence[str]]:
    """Yield by primitive and graph the time with the definition, divided by that without it."""
    graphs = list(dict.fromkeys(row["graph"] for row in result["rows"]))
    threads = list(dict.fromkeys(row["threads"] for row in result["rows"]))
    ratio = {
        (row["primitive"], row["graph"], row["threads"]): median(row["seconds"]["composed"])
        / median(row["seconds"]["fused"])
        for row in result["rows"]
    }
    columns = [(graph, count) for graph in graphs for count in threads]
    yield "primitive", "algorithm", *(f"{graph}, T = {count}" for graph, count in columns)
    for name, algorithm in CALLED_BY.items():
        yield (
            f"`{name}`",
            f"`{algorithm}`",
            *(f"{ratio[name, graph, count]:.2f}" for graph, count in columns),
        )
