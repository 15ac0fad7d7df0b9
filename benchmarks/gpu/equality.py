"""Comparison of forests found on a GPU with those found by NumPy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import mstflow

from ..graphs import Graph

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .device import Gpu

GRAPHS = (
    "random:n=50000,m=200000",
    "random:n=1000,m=200000",
    "rmat:scale=14",
    "grid:rows=300,columns=300,keep=0.65,shuffle_vertices=True,shuffle_edges=True",
    "connected-caveman:cliques=100,size=40",
    "caveman:cliques=100,size=40",
    "circulant:n=20000,degree=5",
    "hypercube:dimension=13",
    "chain:n=100000",
    "star:n=100000",
    "complete:n=600",
)
WEIGHTS = ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8")
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


def tied_weights(size: int, dtype: str) -> np.ndarray[Any, Any]:
    """Return weights in random order with many ties, including zeros and negative weights."""
    drawn = np.random.default_rng(size).integers(-50, 50, size)
    return (abs(drawn) if dtype[0] in "?u" else drawn).astype(dtype)


def compare_all(gpu: Gpu, graphs: dict[str, Graph]) -> Iterator[dict[str, Any]]:
    """Yield a comparison for every graph, by dtypes of weights and ids, and by algorithm."""
    for name, graph in graphs.items():
        for dtype in WEIGHTS:
            for ids in (np.int32, np.int64):
                weight = tied_weights(len(graph.u), dtype)
                tied = graph._replace(u=graph.u.astype(ids), v=graph.v.astype(ids), w=weight)
                what = {"graph": name, "weights": dtype, "ids": np.dtype(ids).name}
                yield {**what, **compare(gpu, tied, "filter-boruvka")}
        for algorithm in ALGORITHMS:
            yield {"graph": name, "weights": str(graph.w.dtype), **compare(gpu, graph, algorithm)}


def compare_strategies(gpu: Gpu, graphs: dict[str, Graph]) -> Iterator[dict[str, Any]]:
    """Yield a comparison for every graph and strategy, with ends of two widths."""
    for name, graph in graphs.items():
        mixed = graph._replace(u=graph.u.astype(np.int64))
        for options in STRATEGIES:
            what = {"graph": name, "ids": "int64, int32", **options}
            yield {**what, **compare(gpu, mixed, "auto", **options)}


def compare_files(gpu: Gpu, paths: list[Path]) -> Iterator[dict[str, Any]]:
    """Yield a comparison for every file."""
    for path in paths:
        edges = mstflow.read(path)
        graph = Graph(edges.u, edges.v, edges.weight, edges.num_vertices)
        yield {"graph": path.name, **compare(gpu, graph, "filter-boruvka")}


def compare(gpu: Gpu, graph: Graph, algorithm: str, **options: Any) -> dict[str, Any]:
    """Solve a graph with NumPy, and on the device from columns of the host and of the device."""

    def solve(columns: Any, **given: Any) -> Any:
        forest = mstflow.minimum_spanning_forest(columns, num_vertices=graph.n, **given)
        return gpu.to_host(forest.edge_ids)

    expected = solve(graph[:3], backend="numpy", maximum=options.get("maximum", False))
    from_host = solve(graph[:3], backend="cupy", algorithm=algorithm, **options)
    on_device = solve(gpu.columns(graph), algorithm=algorithm, **options)
    is_equal = np.array_equal(expected, from_host) and np.array_equal(expected, on_device)
    return {"algorithm": algorithm, "edges": len(graph.u), "is_equal": is_equal}
