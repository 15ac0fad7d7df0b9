"""Whole calls of networkx, with and without the backend, conversions included."""

from __future__ import annotations

import gc
import time
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
    edges: Sequence[int], functions: Sequence[str], rounds: int = 5, budget: float = 10
) -> dict[str, Any]:
    """Measure random graphs with four edges for each vertex.

    Parameters
    ----------
    edges : sequence of int
    functions : sequence of str
        Functions of networkx whose argument is a graph.
    rounds : int
    budget : float
        Seconds after which a function on a graph has no further rounds.

    Returns
    -------
    dict
        `rows`: for each function, kind of nodes, number of edges and round, the seconds of
        networkx, of the first call of the backend and of the second, which finds the graph
        converted. Seconds on a small graph are the mean of several calls.
    """
    import networkx

    networkx.config.warnings_to_ignore.add("cache")
    rows = []
    for count in edges:
        for nodes, name in NODES.items():
            graph = _graph(count, name)
            for function in functions:
                call = getattr(networkx, function)
                start = time.perf_counter()
                for turn in range(rounds):
                    seconds = _seconds(call, graph)
                    row = {"function": function, "nodes": nodes, "edges": count, "round": turn}
                    rows.append({**row, "seconds": seconds})
                    if time.perf_counter() - start > budget:
                        break
    return {"rows": rows}


def _graph(edges: int, name: Callable[[int], Any]) -> Any:
    import networkx

    random = np.random.default_rng(0)
    u, v = random.integers(0, edges // 4, (2, edges)).tolist()
    graph = networkx.Graph()
    weights = random.random(edges).tolist()
    graph.add_weighted_edges_from(zip(map(name, u), map(name, v), weights, strict=True))
    return graph


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
            result = call(graph, backend=backend)
            if not hasattr(result, "nodes"):
                result = list(result)
            seconds[who] += (time.perf_counter() - start) / calls
            del result
    return seconds
