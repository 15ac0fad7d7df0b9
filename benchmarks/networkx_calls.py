"""Times of whole calls of networkx, with and without the backend, including conversions."""

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

#: The type of nodes, by name.
NODES = {"integers": int, "strings": str}
#: A function that draws a weight, by name; integers have many ties.
WEIGHTS = {"floats": random.random, "integers": lambda: random.randrange(1000)}
#: A call on a smaller graph is repeated until all calls have this number of edges, because the
#: first call after a garbage collection mostly measures cold caches.
_EDGES_OF_CALLS = 10_000
#: All code is loaded after calls by name with these numbers of edges and of nodes.
_EDGES_UNTIL_LOADED, _NODES_UNTIL_LOADED = 1_000_000, 100_000


def measure(
    edges: Sequence[int],
    functions: Sequence[str],
    graphs: Sequence[tuple[str, str, str, int]],
    rounds: int,
    budget: float,
) -> dict[str, Any]:
    """Measure each function on each random graph in a separate process.

    `functions` are names of functions of networkx whose argument is a graph. `graphs` have the
    class of networkx, a key of `NODES`, a key of `WEIGHTS`, and the mean degree. A function on a
    graph has no further rounds after `budget` seconds.

    Return `rows`: for each function, graph, number of edges and round, the seconds of networkx and
    of mstflow. `process` is the first call of a process by configuration, including all imports.
    `named` and `configured` are first calls on a graph by name and by configuration, and `second`
    is a second call on the same graph, which is converted already; all code is loaded before these.
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
                function, measured = json.loads(line)
                row = {"function": function, **names, "edges": count}
                rows += [{**row, "round": i, "seconds": each} for i, each in enumerate(measured)]
    order = {name: i for i, name in enumerate(functions)}
    rows.sort(key=lambda row: (row["edges"], order[row["function"]]))
    return {"rows": rows}


def _compile_kernels() -> None:
    """Compile kernels that are not in the cache, because the measured calls only load them."""
    import numpy as np

    import mstflow

    u = np.arange(30_000)
    mstflow.minimum_spanning_forest((u, u + 1, np.ones(len(u))), backend="numba")


def _in_processes(functions: Sequence[str], rounds: int, budget: float, **graph: Any) -> None:
    """Print a line with the seconds of all rounds of each function.

    Each function runs in a fork of this process, which has imported no backend.
    """
    generated = _generate(**graph)
    gc.collect()
    for function in functions:
        child = os.fork()
        if not child:
            seconds = list(_rounds(function, generated, rounds, budget))
            print(json.dumps([function, seconds]), flush=True)
            os._exit(0)
        if os.waitpid(child, 0)[1]:
            raise RuntimeError(f"{function} failed")


def _generate(graph: str, nodes: str, weights: str, degree: int, edges: int) -> Any:
    import networkx

    random.seed(0)
    generated, num_nodes = getattr(networkx, graph)(), 2 * edges // degree
    node: Callable[[int], Any] = NODES[nodes]
    draw_weight: Callable[[], float] = WEIGHTS[weights]
    gc.disable()  # otherwise it visits all dictionaries repeatedly
    for _ in range(edges):
        u, v = node(random.randrange(num_nodes)), node(random.randrange(num_nodes))
        generated.add_edge(u, v, weight=draw_weight())
    gc.enable()
    return generated


def _rounds(function: str, graph: Any, rounds: int, budget: float) -> Iterator[dict[str, float]]:
    """Yield the seconds of each round by call.

    networkx is first in each round. It changes the reference counts of the graph, so the system
    copies the memory that this process shares with its parent before the other calls are measured.
    """
    import networkx

    networkx.config.warnings_to_ignore.add("cache")
    call, start, process = getattr(networkx, function), time.perf_counter(), None
    num_edges = graph.number_of_edges()
    calls = max(1, _EDGES_OF_CALLS // num_edges)
    for _ in range(rounds):
        seconds = {"networkx": _seconds(call, graph, ["networkx"], calls)[0]}
        with _configured(networkx.config.backend_priority):
            if process is None:
                (process,) = _seconds(call, graph, [None], 1)
                repeats = max(_EDGES_UNTIL_LOADED // num_edges, _NODES_UNTIL_LOADED // len(graph))
                _seconds(call, graph, ["mstflow"], repeats)
            seconds["process"] = process
            (seconds["configured"],) = _seconds(call, graph, [None], calls)
        seconds["named"], seconds["second"] = _seconds(call, graph, ["mstflow"] * 2, calls)
        yield seconds
        if time.perf_counter() - start > budget:
            break


def _seconds(
    call: Callable[..., Any], graph: Any, backends: Sequence[str | None], repeats: int
) -> list[float]:
    """Return the mean seconds of a call by each backend in turn; the first converts the graph."""
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
    """Configure networkx to call mstflow wherever that is faster."""
    priority.algos = priority.generators = ["mstflow"]
    yield
    priority.algos = priority.generators = []


if __name__ == "__main__":
    _in_processes(sys.argv[2:], **json.loads(sys.argv[1]))
