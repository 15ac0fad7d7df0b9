"""Whole calls of networkx, with and without the backend, conversions included."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

#: How the nodes of a graph are called.
NODES = {"integers": int, "strings": str}
#: The number of edges in all calls that a time is the mean of. After a full garbage collection, the
#: caches of the processor are cold, and one call on a small graph would measure mostly that.
_CALLS_EDGES = 10_000


def measure(
    edges: Sequence[int],
    functions: Sequence[str],
    graphs: Sequence[tuple[str, str, int]],
    rounds: int = 5,
    budget: float = 10,
) -> dict[str, Any]:
    """Measure random graphs, each function and graph in a process of its own.

    Parameters
    ----------
    edges : sequence of int
    functions : sequence of str
        Functions of networkx whose argument is a graph.
    graphs : sequence of tuple
        The class of networkx, a key of `NODES`, and the mean degree.
    rounds : int
    budget : float
        Seconds after which a function on a graph has no further rounds.

    Returns
    -------
    dict
        `rows`: for each function, graph, number of edges and round, the seconds of networkx, of the
        first call of the backend in its process, of its first call on a graph in each round, and of
        the second, which finds the graph converted. Seconds on a small graph are the mean of
        several calls, except for the first call of a process. The import of the backend is not
        measured.
    """
    _compile_kernels()
    rows = []
    for count in edges:
        for kind, nodes, degree in graphs:
            for function in functions:
                row = {"function": function, "graph": kind, "nodes": nodes, "degree": degree}
                row["edges"] = count
                options = {**row, "rounds": rounds, "budget": budget}
                command = [sys.executable, "-m", "benchmarks.networkx_calls", json.dumps(options)]
                root = Path(__file__).parents[1]
                done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=root)
                found = enumerate(json.loads(done.stdout))
                rows += [{**row, "round": turn, "seconds": seconds} for turn, seconds in found]
    return {"rows": rows}


def _compile_kernels() -> None:
    """Compile kernels that are not in the cache; the calls that are measured would not."""
    import networkx

    from mstflow.interop.networkx_rows import kernels
    from mstflow.primitives import array_module

    kernels.pay_after(10**9)  # counts as so many edges solved without kernels
    size = 30_000
    networkx.number_connected_components(networkx.path_graph(size), backend="mstflow")
    u = np.arange(size - 1)
    array_module("numba").join_by_weight(u, u + 1, np.ones(size - 1), size, descending=False)


def _in_process(
    function: str, graph: str, nodes: str, degree: int, edges: int, rounds: int, budget: float
) -> list[dict[str, float]]:
    """Return the seconds of each round; the first round has the first call of the process."""
    import networkx

    networkx.config.warnings_to_ignore.add("cache")
    made = _graph(graph, NODES[nodes], degree, edges)
    networkx.is_connected(networkx.path_graph(2), backend="mstflow")  # imports the backend
    call = getattr(networkx, function)
    gc.collect()
    begun = time.perf_counter()
    _call(call, made, "mstflow")
    process = time.perf_counter() - begun
    found = []
    for _ in range(rounds):
        found.append({"process": process, **_seconds(call, made)})
        if time.perf_counter() - begun > budget:
            break
    return found


def _graph(kind: str, name: Callable[[int], Any], degree: int, edges: int) -> Any:
    import networkx

    random = np.random.default_rng(0)
    u, v = random.integers(0, 2 * edges // degree, (2, edges)).tolist()
    graph = getattr(networkx, kind)()
    weights = random.random(edges).tolist()
    graph.add_weighted_edges_from(zip(map(name, u), map(name, v), weights, strict=True))
    return graph


def _call(call: Callable[..., Any], graph: Any, backend: str) -> Any:
    result = call(graph, backend=backend)
    return list(result) if hasattr(result, "__next__") else result


def _seconds(call: Callable[..., Any], graph: Any) -> dict[str, float]:
    """Return the seconds of a call by networkx, and of the first and second call of the backend."""
    seconds = {}
    calls = max(1, _CALLS_EDGES // graph.number_of_edges())
    for who, backend in (("networkx", "networkx"), ("first", "mstflow"), ("second", "mstflow")):
        gc.collect()
        seconds[who] = 0.0
        for _ in range(calls):
            if who == "first":
                graph.__networkx_cache__.clear()
            start = time.perf_counter()
            result = _call(call, graph, backend)
            seconds[who] += (time.perf_counter() - start) / calls
            del result
    return seconds


if __name__ == "__main__":
    print(json.dumps(_in_process(**json.loads(sys.argv[1]))))
