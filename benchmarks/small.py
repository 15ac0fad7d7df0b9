"""Times of calls for small graphs, by part of a call, and of one call for many graphs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any
from unittest import mock

import numpy as np

from .measure import Benchmark, Facts, Row, in_turn, timed
from .tables import Table, median

#: The parts of a call: check the options, open the graph and plan; submit the stages and store
#: their results; run the stages; check the result and make the forest.
PARTS = ("plan", "dispatch", "stages", "answer")


def rows(edges: Sequence[int], many: Sequence[tuple[int, int]], rounds: int) -> Iterator[Row]:
    """Yield times for random graphs with three edges for each vertex, on all processors.

    `edges` are numbers of edges of single graphs. `many` are pairs: a number of graphs that one
    call solves, and the number of edges of each.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import minimum_spanning_tree

    import mstflow

    for count in edges:
        u, v, w = _graph(count, 0)
        matrix = coo_array((w, (u, v)), shape=(count // 3 + 1,) * 2).tocsr()
        solve = partial(mstflow.minimum_spanning_forest, mstflow.EdgeList(u, v, w), backend="numba")
        calls: dict[str, Callable[[], Facts]] = {
            "mstflow": partial(_by_part, solve),
            "scipy": timed(partial(minimum_spanning_tree, matrix)),
        }
        cases = [({"graphs": 1, "edges": count, "code": code}, of) for code, of in calls.items()]
        yield from in_turn(cases, rounds, warm_ups=1)
    for number, count in many:
        graphs = [_graph(count, seed) for seed in range(number)]
        call = partial(mstflow.minimum_spanning_forests, graphs, backend="numba")
        yield from in_turn([({"graphs": number, "edges": count}, timed(call))], rounds, warm_ups=1)


def _graph(edges: int, seed: int) -> tuple[Any, Any, Any]:
    random = np.random.default_rng(seed)
    u, v = random.integers(0, edges // 3 + 1, (2, edges))
    return u, v, random.random(edges)


def _by_part(solve: Callable[[], Any]) -> Facts:
    """Return the seconds of a call and of its parts, and the number of calls of stages."""
    from mstflow.pipeline.execute import execute

    clock = []

    def timed_execute(*arguments: Any, **options: Any) -> Any:
        clock.append(time.perf_counter())
        fields = execute(*arguments, **options)
        clock.append(time.perf_counter())
        return fields

    with mock.patch("mstflow.pipeline.run.execute", timed_execute):
        clock.append(time.perf_counter())
        forest = solve()
        clock.append(time.perf_counter())
    plan, run, answer = np.diff(clock).tolist()
    calls = forest.report.calls
    stages = sum(call.seconds for call in calls)
    parts = dict(zip(PARTS, (plan, run - stages, stages, answer), strict=True))
    return {"seconds": sum(parts.values()), **parts, "calls": len(calls)}


MICROSECONDS = {f"{part}, µs": median(part, 1e6) for part in PARTS}
BENCHMARK = Benchmark(
    "small graphs: a call by part, and many graphs in one call",
    rows,
    {
        "edges": [10**2, 10**3, 10**4, 10**5, 10**6],
        "many": [(10**4, 10**2), (10**3, 10**3), (10**2, 10**4)],
        "rounds": 25,
    },
    {"edges": [10**2], "many": [(2, 50)], "rounds": 1},
    {
        "small": Table(
            ("edges",),
            ("code",),
            {"calls of stages": median("calls"), **MICROSECONDS, "µs": median(factor=1e6)},
            lambda row: row["graphs"] == 1,
        ),
        "small-many": Table(
            ("graphs", "edges"),
            (),
            {"µs a graph": lambda row, _: median(factor=1e6)(row, row) / row["graphs"]},
            lambda row: row["graphs"] > 1,
        ),
    },
)
