"""Queries of a forest: replacement edges, bottlenecks of many pairs, and added edges."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from . import graphs as graph_list
from .machine import pinned
from .programs import seconds_in_turn


def measure(
    graphs: Sequence[str], threads: Sequence[int], pairs: int, batch: int, rounds: int = 5
) -> dict[str, Any]:
    """Measure the queries beside the solve.

    They are the bottlenecks of random `pairs`, and the addition of a `batch` of random edges, whose
    weights are drawn from those of the graph. Return `pairs`, `batch`, and `rows`: for each graph,
    number of threads and round, the seconds of the solve and of each query.
    """
    import mstflow

    rows, draw = [], np.random.default_rng(0)
    for name in graphs:
        graph = graph_list.load(graph_list.ensure(name))
        edges = mstflow.EdgeList(graph.u, graph.v, graph.w, num_vertices=graph.n)
        start, end = draw.integers(0, graph.n, (2, pairs))
        added = *draw.integers(0, graph.n, (2, batch)), draw.choice(graph.w, batch)
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
            for turn, spent in enumerate(zip(*seconds.values(), strict=True)):
                own = dict(zip(seconds, spent, strict=True))
                rows.append({**row, "round": turn, "seconds": own})
    return {"pairs": pairs, "batch": batch, "rows": rows}
