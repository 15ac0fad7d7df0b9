"""Times of queries of a forest: replacement edges, bottlenecks of many pairs, and added edges."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from . import graphs as graph_list
from .machine import pinned
from .programs import seconds_in_turn


def measure(
    graphs: Sequence[str], threads: Sequence[int], pairs: int, batch: int, rounds: int
) -> dict[str, Any]:
    """Measure the solve and the queries in turn.

    `pairs` is the number of random pairs whose bottlenecks are found, and `batch` the number of
    random edges that are added, with weights drawn from those of the graph. Return both numbers and
    `rows`: for each graph, number of threads and round, the seconds of the solve and of each query.
    """
    import mstflow

    rows, random = [], np.random.default_rng(0)
    for name in graphs:
        graph = graph_list.load_named(name)
        edges = mstflow.EdgeList(graph.u, graph.v, graph.w, num_vertices=graph.n)
        start, end = random.integers(0, graph.n, (2, pairs))
        added = *random.integers(0, graph.n, (2, batch)), random.choice(graph.w, batch)
        for count in threads:
            solve = partial(mstflow.minimum_spanning_forest, edges, threads=count, progress=False)
            with pinned(count):
                forest = solve()
            calls: dict[str, Callable[[], Any]] = {
                "solve": solve,
                "replacements": forest.replacement_edges,
                "bottlenecks": partial(forest.bottleneck, start, end),
                "add": partial(forest.add, added),
            }
            seconds = seconds_in_turn(calls, rounds, count)
            row = {"graph": name, "edges": len(graph.u), "threads": count}
            for turn, of_round in enumerate(zip(*seconds.values(), strict=True)):
                by_call = dict(zip(seconds, of_round, strict=True))
                rows.append({**row, "round": turn, "seconds": by_call})
    return {"pairs": pairs, "batch": batch, "rows": rows}
