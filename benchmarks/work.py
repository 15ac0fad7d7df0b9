"""Wall time and processor time by number of threads, all on the same processors.

The processor time with many threads, divided by that with one, shows whether the work grows with
the number of threads. It can be measured on two processors.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import mstflow

from . import graphs as graph_list
from . import primitives
from .cells import milliseconds
from .machine import used_here

Row = dict[str, Any]

DEFAULT = "filter-kruskal"
ROUNDS = (
    "boruvka-edgelist",
    "filter-boruvka",
    "boruvka-csr",
    "boruvka-flatten",
    "boruvka-unionfind",
    "boruvka-sorted",
)


def measure(**options: Any) -> dict[str, Any]:
    """Return the `rows` of a record."""
    return {"rows": [*rows(**options)]}


def rows(
    graphs: Sequence[str],
    algorithms: Sequence[str],
    elements: Sequence[int],
    threads: Sequence[int],
    rounds: int = 3,
) -> Iterator[Row]:
    """Yield seconds and processor seconds of empty calls, of solves, and of all primitives.

    The arrays of primitives have about this number of `elements`, of 32 and of 64 bits.
    """
    about = {"algorithm": "1000 empty calls", "graph": "-"}
    yield from _in_turn(about, {count: _empty_calls(count) for count in threads}, rounds)
    for name in graphs:
        graph = graph_list.load_named(name)
        for algorithm in algorithms:
            solve = partial(_solve, graph, algorithm)
            calls = {count: partial(solve, count) for count in threads}
            yield from _in_turn({"graph": name, "algorithm": algorithm}, calls, rounds)
    for size in elements:
        for bits in (32, 64):
            yield from _primitives(size, bits, threads, rounds)


def solves(result: Mapping[str, Any]) -> Iterator[Sequence[str]]:
    """Yield the rows of empty calls and of solves."""
    return _table(result, "algorithm", "graph")


def calls(result: Mapping[str, Any]) -> Iterator[Sequence[str]]:
    """Yield the rows of primitives with arrays of 32 and of 64 bits."""
    return _table(result, "primitive", "bits")


def _table(result: Mapping[str, Any], *names: str) -> Iterator[Sequence[str]]:
    """Yield milliseconds by number of threads, the gain from the second thread, and the work.

    Rows below a millisecond are not shown.
    """
    found: dict[tuple[str, ...], dict[int, Row]] = {}
    for row in result["rows"]:
        if names[0] in row:
            found.setdefault(tuple(str(row[name]) for name in names), {})[row["threads"]] = row
    counts = [*next(iter(found.values()))]
    yield (
        *names,
        *(f"T = {count}, ms" for count in counts),
        "gain, T = 2",
        f"work, T = {counts[-1]}",
    )
    for key, of in found.items():
        wall = [min(of[count]["seconds"]) for count in counts]
        work = min(of[counts[-1]]["processor_seconds"]) / min(of[1]["processor_seconds"])
        if max(wall) >= 1e-3:
            gain = wall[0] / min(of[2]["seconds"])
            yield *key, *map(milliseconds, wall), f"{gain:.2f}", f"{work:.2f}"


def _primitives(size: int, bits: int, threads: Sequence[int], rounds: int) -> Iterator[Row]:
    from mstflow.primitives.compiled.arrays import NumbaArrays
    from mstflow.runtime.memory import keeping_blocks

    arguments = primitives.arguments(size // primitives.EDGES_PER_VERTEX, bits)
    with keeping_blocks():
        for case, (arrays, options) in arguments.items():
            functions = (getattr(NumbaArrays(count), case.partition(",")[0]) for count in threads)
            timed = (partial(function, *arrays, **options) for function in functions)
            about = {"primitive": case, "bits": bits, "elements": size}
            yield from _in_turn(about, dict(zip(threads, timed, strict=True)), rounds)


def _in_turn(about: Row, calls: Mapping[int, Callable[[], object]], rounds: int) -> Iterator[Row]:
    """Yield a row for each number of threads, after a round that is not counted."""
    measured: dict[int, Row] = {
        count: {**about, "threads": count, "seconds": [], "processor_seconds": []}
        for count in calls
    }
    for turn in range(-1, rounds):
        for count, call in calls.items():
            start, used = time.perf_counter(), used_here()
            call()
            seconds, work = time.perf_counter() - start, used_here() - used
            if turn >= 0:
                measured[count]["seconds"].append(seconds)
                measured[count]["processor_seconds"].append(work)
    yield from measured.values()


def _solve(graph: graph_list.Graph, algorithm: str, threads: int) -> mstflow.Forest:
    return mstflow.minimum_spanning_forest(
        graph[:3],
        num_vertices=graph.n,
        algorithm=algorithm,
        backend="numba",
        threads=threads,
        progress=False,
    )


def _empty_calls(threads: int) -> Callable[[], object]:
    """Return a function that makes 1000 calls, which have a share for each thread."""
    from mstflow.runtime.team import Team

    shares = [(place,) for place in range(threads)]

    def call() -> None:
        for _ in range(1000):
            Team(threads).call(abs, shares)

    return call
