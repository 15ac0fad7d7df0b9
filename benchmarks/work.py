"""Wall time and processor time by number of threads, all on the same processors.

The processor time with many threads, divided by that with one, shows whether the work grows with
the number of threads. It can be measured on two processors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import mstflow

from . import graphs as graph_list
from . import primitives
from .measure import Benchmark, Row, in_turn, timed
from .primitives import solver
from .tables import Table, among, median, milliseconds, ratio

DEFAULT = "filter-kruskal"
ROUNDS = (
    "boruvka-edgelist",
    "filter-boruvka",
    "boruvka-csr",
    "boruvka-flatten",
    "boruvka-unionfind",
    "boruvka-sorted",
)


def rows(
    graphs: Sequence[str],
    algorithms: Sequence[str],
    elements: Sequence[int],
    threads: Sequence[int],
    rounds: int = 3,
    disk: Sequence[str] = (),
) -> Iterator[Row]:
    """Yield seconds and processor seconds of empty calls, of solves, and of all primitives.

    The graphs `disk` are solved from disk. The arrays of primitives have about this number of
    `elements`, of 32 and of 64 bits.
    """
    about = {"algorithm": "1000 empty calls", "graph": "-"}
    yield from _by_threads(about, {count: _empty_calls(count) for count in threads}, rounds)
    for name in graphs:
        graph = graph_list.load_named(name)
        for algorithm in algorithms:
            options = {"algorithm": algorithm, "backend": "numba"}
            calls = {count: solver(graph, threads=count, **options) for count in threads}
            yield from _by_threads({"graph": name, "algorithm": algorithm}, calls, rounds)
    for name in disk:
        read = partial(mstflow.minimum_spanning_forest, graph_list.ensure(name), progress=False)
        scans = {count: partial(read, strategy="two-scan", threads=count) for count in threads}
        names = {"graph": f"{name}, on disk", "algorithm": "two-scan"}
        yield from _by_threads(names, scans, rounds)
    yield from primitives.rows(elements, threads, rounds, bits=(32, 64))


def _by_threads(
    names: Row, calls: Mapping[int, Callable[[], object]], rounds: int
) -> Iterator[Row]:
    """Yield a row for each number of threads, all on the same processors."""
    cases = [({**names, "threads": count}, timed(call)) for count, call in calls.items()]
    return in_turn(cases, rounds, warm_ups=1)


def _empty_calls(threads: int) -> Callable[[], object]:
    """Return a function that makes 1000 calls, which have a share for each thread."""
    from mstflow.runtime.team import Team

    shares = [(place,) for place in range(threads)]

    def call() -> None:
        for _ in range(1000):
            Team(threads).call(abs, shares)

    return call


FIGURES = {"ms": milliseconds(), "work": ratio("processor_seconds")}
OPTIONS: dict[str, Any] = {
    "graphs": ["E", "G", "R", "N", "E64", "G64"],
    "algorithms": ["filter-kruskal", "filter-boruvka", "boruvka-edgelist"],
    "elements": [3 * 2**20],
    "threads": [1, 2, 4, 16],
}
TINY = {"graphs": ["tiny"], "algorithms": [DEFAULT], "elements": [3000], "rounds": 1}

BENCHMARK = Benchmark(
    "wall and processor time of solves and primitives by number of threads",
    rows,
    OPTIONS,
    {**TINY, "threads": [1, 2]},
    {
        "work-solves": Table(
            ("algorithm", "graph"), ("threads",), FIGURES, lambda row: "algorithm" in row
        ),
        "work-primitives": Table(
            ("primitive", "bits"),
            ("threads",),
            FIGURES,
            prepared=lambda rows: among(rows, "primitive", median(), 1e-3),
        ),
    },
)
