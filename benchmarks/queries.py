"""Times of queries of a forest: replacement edges, bottlenecks of many pairs, and added edges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from . import graphs as graph_list
from .codes import TINY
from .measure import Benchmark, Row, in_turn, timed
from .tables import Table, milliseconds, ratio


def rows(
    graphs: Sequence[str], threads: Sequence[int], pairs: int, batch: int, rounds: int
) -> Iterator[Row]:
    """Yield the times of the solve and of the queries.

    `pairs` is the number of random pairs whose bottlenecks are found, and `batch` the number of
    random edges that are added, with weights drawn from those of the graph.
    """
    import mstflow

    random = np.random.default_rng(0)
    for name in graphs:
        graph = graph_list.load_named(name)
        edges = mstflow.EdgeList(graph.u, graph.v, graph.w, num_vertices=graph.n)
        start, end = random.integers(0, graph.n, (2, pairs))
        added = *random.integers(0, graph.n, (2, batch)), random.choice(graph.w, batch)
        for count in threads:
            solve = partial(mstflow.minimum_spanning_forest, edges, threads=count, progress=False)
            forest = solve()
            calls: dict[str, Any] = {
                "solve": solve,
                "replacement edges": forest.replacement_edges,
                f"{pairs:,} bottlenecks": partial(forest.bottleneck, start, end),
                f"add {batch:,} edges": partial(forest.add, added),
            }
            facts = {"graph": name, "edges": len(graph.u), "threads": count}
            cases = [({**facts, "call": call}, timed(of, count)) for call, of in calls.items()]
            yield from in_turn(cases, rounds, warm_ups=1)


BENCHMARK = Benchmark(
    "replacement edges, bottlenecks and added edges, compared with the solve",
    rows,
    {"graphs": ["E", "N"], "threads": [1, 2], "pairs": 4_000_000, "batch": 100_000, "rounds": 5},
    {**TINY, "pairs": 100, "batch": 10},
    {
        "queries": Table(
            ("graph", "edges", "threads"), ("call",), {"ms": milliseconds(), "/ solve": ratio()}
        )
    },
)
