"""Comparison of the forests that a GPU and NumPy find."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import mstflow

from .. import graphs as graph_list
from ..graphs import Graph
from .gpu import Gpu

GRAPHS = (
    "random:n=20000,m=80000",
    "random:n=500,m=80000",
    "rmat:scale=12",
    "grid:rows=150,columns=150,keep=0.65,shuffle_vertices=True,shuffle_edges=True",
    "connected-caveman:cliques=100,size=30",
    "caveman:cliques=100,size=30",
    "circulant:n=10000,degree=5",
    "hypercube:dimension=12",
    "chain:n=50000",
    "star:n=50000",
    "complete:n=400",
)
WEIGHTS = ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8")
FILES = ("examples/data/USA-road-d.NY.gr.gz",)
#: Graphs that are also solved with every strategy of streaming.
STREAMED = ("random:n=200000,m=3000000", "rmat:scale=18", "grid:rows=1000,columns=1000,keep=0.65")
STRATEGIES: tuple[dict[str, Any], ...] = (
    {"strategy": "fold"},
    {"strategy": "tree", "partitions": 5},
    {"strategy": "two-scan", "partitions": 1},
    {"strategy": "two-scan", "partitions": 5},
    {"strategy": "iterate", "partitions": 5},
    {"strategy": "whole", "maximum": True},
)
#: All algorithms except for the one that processes one edge after another.
ALGORITHMS = tuple(name for name in mstflow.algorithms() if name != "prim")


def rows(
    graphs: Sequence[str] = GRAPHS,
    weights: Sequence[str] = WEIGHTS,
    files: Sequence[str] = FILES,
    streamed: Sequence[str] = STREAMED,
) -> Iterator[dict[str, Any]]:
    """Yield a comparison for each graph and algorithm, dtype or strategy.

    If a solve fails, the row has the error.
    """
    gpu = Gpu()
    for name in graphs:
        graph = graph_list.load_named(name)
        for algorithm in ALGORITHMS:
            yield {"graph": name, **_compare(gpu, graph, algorithm)}
    for name in files:
        yield {"graph": name, **_compare(gpu, graph_list.load_named(name), "auto")}
    for name in streamed:
        graph = graph_list.load_named(name)
        mixed = graph._replace(u=graph.u.astype(np.int64))
        for options in STRATEGIES:
            yield {"graph": name, **options, **_compare(gpu, mixed, "auto", **options)}
    for name in graphs:
        graph = graph_list.load_named(name)
        for dtype in weights:
            for ids in (np.int32, np.int64):
                weight = _tied_weights(len(graph.u), dtype)
                tied = Graph(graph.u.astype(ids), graph.v.astype(ids), weight, graph.n)
                names = {"graph": name, "weights": dtype, "ids": np.dtype(ids).name}
                yield {**names, **_compare(gpu, tied, "filter-boruvka")}


def _tied_weights(size: int, dtype: str) -> np.ndarray[Any, Any]:
    """Return weights in random order with many ties, including zeros and negative weights."""
    drawn = np.random.default_rng(size).integers(-50, 50, size)
    return (abs(drawn) if dtype[0] in "?u" else drawn).astype(dtype)


def _compare(gpu: Gpu, graph: Graph, algorithm: str, **options: Any) -> dict[str, Any]:
    """Solve a graph with NumPy, and on the GPU from columns of the host and of the device."""

    def solve(columns: Any, **arguments: Any) -> Any:
        forest = mstflow.minimum_spanning_forest(columns, num_vertices=graph.n, **arguments)
        return gpu.to_host(forest.edge_ids)

    row = {"algorithm": algorithm, "edges": len(graph.u)}
    expected = solve(graph[:3], backend="numpy", maximum=options.get("maximum", False))
    try:
        from_host = solve(graph[:3], backend="cupy", algorithm=algorithm, **options)
        on_device = solve(gpu.columns(graph), algorithm=algorithm, **options)
        is_equal = all(np.array_equal(expected, edge_ids) for edge_ids in (from_host, on_device))
        return {**row, "is_equal": is_equal}
    except Exception as error:  # of any library
        message = traceback.format_exception_only(error)[-1].strip()
        return {**row, "is_equal": False, "error": message}
