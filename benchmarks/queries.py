"""Queries of a forest: replacement edges, bottlenecks of many pairs, and added edges."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from . import graphs as graph_list
from .machine import pinned

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def measure(
    graphs: Sequence[str], threads: Sequence[int], pairs: int, batch: int, rounds: int = 5
) -> dict[str, Any]:
    """Measure the queries beside the solve.

    Parameters
    ----------
    graphs : sequence of str
    threads : sequence of int
    pairs : int
        Number of random pairs whose bottlenecks are asked for.
    batch : int
        Number of random edges to add. Their weights are drawn from those of the graph.
    rounds : int

    Returns
    -------
    dict
        `pairs`, `batch`, and `rows`: for each graph, number of threads and round, the seconds of
        the solve and of each query.
    """
    import mstflow

    rows, draw = [], np.random.default_rng(0)
    for name in graphs:
        graph = graph_list.load(graph_list.ensure(name))
        edges = mstflow.EdgeList(graph.u, graph.v, graph.w, num_vertices=graph.n)
        start, end = draw.integers(0, graph.n, (2, pairs))
        added = *draw.integers(0, graph.n, (2, batch)), draw.choice(graph.w, batch)
        for count in threads:
            with pinned(count):
                solve = partial(
                    mstflow.minimum_spanning_forest, edges, threads=count, progress=False
                )
                forest = solve()
                calls: dict[str, Callable[[], Any]] = {
                    "solve": solve,
                    "replacements": forest.replacement_edges,
                    "bottlenecks": partial(forest.bottleneck, start, end),
                    "add": partial(forest.add, added),
                }
                for call in calls.values():  # later calls reuse what the first one computes
                    call()
                for turn in range(rounds):
                    seconds = {question: _seconds(call) for question, call in calls.items()}
                    row = {"graph": name, "edges": len(graph.u), "threads": count, "round": turn}
                    rows.append({**row, "seconds": seconds})
    return {"pairs": pairs, "batch": batch, "rows": rows}


def _seconds(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start
