"""Whole calls of networkx, with and without the backend, conversions included."""

from __future__ import annotations

import gc
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .machine import with_bytecode

#: The types of nodes.
NODES = {"integers": int, "strings": str}
#: The weights of a graph; integers have many ties.
WEIGHTS = {"floats": random.random, "integers": lambda: random.randrange(1000)}
#: The number of edges in all calls that a time is the mean of. After a full garbage collection, the
#: caches of the processor are cold, and one call on a small graph would measure mostly that.
_CALLS_EDGES = 10_000
#: The numbers of edges and of nodes in all calls by name that precede others, so that all code is
#: loaded.
_LOADED_AFTER = 1_000_000, 100_000


def measure(
    edges: Sequence[int],
    functions: Sequence[str],
    graphs: Sequence[tuple[str, str, str, int]],
    rounds: int = 5,
    budget: float = 10,
) -> dict[str, Any]:
    """Measure random graphs, each function and graph in a process of its own.

    `functions` are names of functions of networkx whose argument is a graph. `graphs` have the
    class of networkx, a key of `NODES`, a key of `WEIGHTS`, and the mean degree. A function on a
    graph has no further rounds after `budget` seconds.

    Return `rows`: for each function, graph, number of edges and round, the seconds of networkx and
    of mstflow. `process` is the first call of a process by configuration; it includes all imports,
    also that of NumPy if it is loaded. `named` and `configured` are first calls on a graph by name
    and by configuration, and `second` finds the graph converted; all code is loaded before them.
    Seconds on a small graph are the mean of several calls, except for `process`.
    """
    _compile_kernels()
    rows = []
    for count in edges:
        for graph in graphs:
            names = dict(zip(("graph", "nodes", "weights", "degree"), graph, strict=True))
            options = {**names, "edges": count, "rounds": rounds, "budget": budget}
            command = [sys.executable, "-m", "benchmarks.networkx_calls", json.dumps(options)]
            done = subprocess.run(
                [*command, *functions],
                check=True,
                stdout=subprocess.PIPE,
                text=True,
                cwd=Path(__file__).parents[1],
                env=with_bytecode(),
            )
            for line in done.stdout.splitlines():
                function, turns = json.loads(line)
                row = {"function": function, **names, "edges": count}
                rows += [{**row, "round": i, "seconds": each} for i, each in enumerate(turns)]
    order = {name: i for i, name in enumerate(functions)}
    rows.sort(key=lambda row: (row["edges"], order[row["function"]]))
    return {"rows": rows}


def _compile_kernels() -> None:
    """Compile kernels that are not in the cache; the calls that are measured would not."""
    import numpy as np

    import mstflow

    u = np.arange(30_000)
    mstflow.minimum_spanning_forest((u, u + 1, np.ones(len(u))), backend="numba")


def _in_processes(functions: Sequence[str], rounds: int, budget: float, **graph: Any) -> None:
    """Print a line with the seconds of each function's rounds.

    Each function runs in a copy of the process that made the graph, which imports no backend.
    """
    made = _graph(**graph)
    gc.collect()
    for function in functions:
        child = os.fork()
        if not child:
            print(json.dumps([function, list(_rounds(function, made, rounds, budget))]), flush=True)
            os._exit(0)
        if os.waitpid(child, 0)[1]:
            raise RuntimeError(f"{function} failed")


def _graph(graph: str, nodes: str, weights: str, degree: int, edges: int) -> Any:
    import networkx

    random.seed(0)
    made, size = getattr(networkx, graph)(), 2 * edges // degree
    name: Callable[[int], Any] = NODES[nodes]
    weight: Callable[[], float] = WEIGHTS[weights]
    gc.disable()  # otherwise it visits all dictionaries repeatedly
    for _ in range(edges):
        made.add_edge(name(random.randrange(size)), name(random.randrange(size)), weight=weight())
    gc.enable()
    return made


def _rounds(function: str, graph: Any, rounds: int, budget: float) -> Iterator[dict[str, float]]:
    """Yield the seconds of each round by call; the first round has the first of the process.

    networkx is first in each round. So the child has its own copy of the pages of the graph, whose
    reference counts change, before other calls are measured.
    """
    import networkx

    networkx.config.warnings_to_ignore.add("cache")
    call, begun, process = getattr(networkx, function), time.perf_counter(), None
    calls = max(1, _CALLS_EDGES // graph.number_of_edges())
    for _ in range(rounds):
        seconds = {"networkx": _seconds(call, graph, ["networkx"], calls)[0]}
        with _configured(networkx.config.backend_priority):
            if process is None:
                (process,) = _seconds(call, graph, [None], 1)
                sizes = graph.number_of_edges(), len(graph)
                repeats = max(n // size for n, size in zip(_LOADED_AFTER, sizes, strict=True))
                _seconds(call, graph, ["mstflow"], repeats)
            seconds["process"] = process
            (seconds["configured"],) = _seconds(call, graph, [None], calls)
        seconds["named"], seconds["second"] = _seconds(call, graph, ["mstflow"] * 2, calls)
        yield seconds
        if time.perf_counter() - begun > budget:
            break


def _seconds(
    call: Callable[..., Any], graph: Any, backends: Sequence[str | None], repeats: int
) -> list[float]:
    """Return the mean seconds of calls in sequence, the first of which finds nothing converted."""
    seconds = [0.0] * len(backends)
    gc.collect()
    for _ in range(repeats):
        graph.__networkx_cache__.clear()
        for i, backend in enumerate(backends):
            start = time.perf_counter()
            result = call(graph, backend=backend) if backend else call(graph)
            if hasattr(result, "__next__"):
                result = list(result)
            seconds[i] += (time.perf_counter() - start) / repeats
            del result
    return seconds


@contextmanager
def _configured(priority: Any) -> Iterator[None]:
    """Let networkx call mstflow wherever that is faster."""
    priority.algos = priority.generators = ["mstflow"]
    yield
    priority.algos = priority.generators = []


if __name__ == "__main__":
    _in_processes(sys.argv[2:], **json.loads(sys.argv[1]))
