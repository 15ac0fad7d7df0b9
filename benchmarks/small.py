"""Times of calls for small graphs, by part of a call, and of one call for many graphs."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any
from unittest import mock

import numpy as np

#: The parts of a call: check the options, open the graph and plan; submit the stages and store
#: their results; run the stages; check the result and make the forest.
PARTS = ("plan", "dispatch", "stages", "answer")
#: The number of rounds whose times a record has, in addition to the least and the median of all.
KEPT = 9


def measure(edges: Sequence[int], many: Sequence[tuple[int, int]], rounds: int) -> dict[str, Any]:
    """Measure random graphs with three edges for each vertex, on all processors.

    `edges` are numbers of edges of single graphs. `many` are pairs: a number of graphs that one
    call solves, and the number of edges of each. Graphs with over 100,000 edges, and many graphs,
    have a tenth of the rounds. Return `rows`: the `times` for each graph and code, for mstflow by
    part; and `many`: the `times` of the call for each pair.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import minimum_spanning_tree

    import mstflow

    rows: list[dict[str, Any]] = []
    for count in edges:
        u, v, w = _graph(count, 0)
        matrix = coo_array((w, (u, v)), shape=(count // 3 + 1,) * 2).tocsr()
        graph = mstflow.EdgeList(u, v, w)
        solve = partial(mstflow.minimum_spanning_forest, graph, backend="numba")
        codes: dict[str, Callable[[], dict[str, Any]]] = {
            "mstflow": partial(_by_part, solve),
            "scipy": partial(_whole, partial(minimum_spanning_tree, matrix)),
        }
        repeats = rounds if count <= 10**5 else -(-rounds // 10)
        for code, call in codes.items():
            call()
            rows.append({"edges": count, "code": code, **times(call() for _ in range(repeats))})
    batches: list[dict[str, Any]] = []
    for num_graphs, count in many:
        graphs = [_graph(count, seed) for seed in range(num_graphs)]
        solve_all = partial(mstflow.minimum_spanning_forests, graphs, backend="numba")
        solve_all()
        summary = times(_whole(solve_all) for _ in range(-(-rounds // 10)))
        batches.append({"graphs": num_graphs, "edges": count, **summary})
    return {"rows": rows, "many": batches}


def times(calls: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Summarise calls: the least and the median seconds of each part, and the first rounds."""
    measured = list(calls)
    seconds = [call["seconds"] for call in measured]
    summary = {
        name: {part: pick(each[part] for each in seconds) for part in seconds[0]}
        for name, pick in (("least", min), ("median", statistics.median))
    }
    facts = {name: value for name, value in measured[0].items() if name != "seconds"}
    return {**facts, "rounds": len(measured), **summary, "first": seconds[:KEPT]}


def _graph(edges: int, seed: int) -> tuple[Any, Any, Any]:
    random = np.random.default_rng(seed)
    u, v = random.integers(0, edges // 3 + 1, (2, edges))
    return u, v, random.random(edges)


def _whole(call: Callable[[], Any]) -> dict[str, Any]:
    start = time.perf_counter()
    call()
    return {"seconds": {"whole": time.perf_counter() - start}}


def _by_part(solve: Callable[[], Any]) -> dict[str, Any]:
    """Return the seconds of each part of a call, and the number of calls of stages."""
    from mstflow.pipeline.execute import execute

    clock = [time.perf_counter()]

    def timed(*arguments: Any, **options: Any) -> Any:
        clock.append(time.perf_counter())
        fields = execute(*arguments, **options)
        clock.append(time.perf_counter())
        return fields

    with mock.patch("mstflow.pipeline.run.execute", timed):
        clock[0] = time.perf_counter()
        forest = solve()
        clock.append(time.perf_counter())
    plan, run, answer = np.diff(clock).tolist()
    stages = sum(call.work.seconds for call in forest.report.calls)
    seconds = dict(zip(PARTS, (plan, run - stages, stages, answer), strict=True))
    return {
        "seconds": {**seconds, "whole": sum(seconds.values())},
        "calls": len(forest.report.calls),
    }
