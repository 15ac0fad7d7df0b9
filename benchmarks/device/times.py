"""Times of whole solves on a GPU, with compiled kernels and with NumPy."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import mstflow

from .. import graphs as graph_list
from ..machine import pinned
from .gpu import Gpu

#: The most calls that are measured.
ROUNDS = 7
#: NumPy is not measured on more edges.
NUMPY_EDGES = 20_000_000
SIZES = tuple(2**power for power in range(14, 24))
SMALL = (2**20, 2**22, 2**24)


def solves(
    graphs: Sequence[str], threads: Sequence[int], seconds: float = 2
) -> Iterator[dict[str, Any]]:
    """Yield the times of each code on each graph; each code takes about `seconds` at most."""
    gpu = Gpu()
    for name in graphs:
        graph = graph_list.load_named(name)
        facts = {"graph": name, "vertices": graph.n, "edges": len(graph.u)}
        before = gpu.free()
        columns = gpu.columns(graph)
        on_device = repeated(solver(columns, graph.n), seconds, gpu.finish)
        peak = gpu.pool_bytes() - before
        yield {**facts, "code": "GPU, arrays on it", "seconds": on_device, "peak": peak}
        del columns
        gpu.free()
        from_host = repeated(solver(graph[:3], graph.n, backend="cupy"), seconds, gpu.finish)
        yield {**facts, "code": "GPU, arrays on the host", "seconds": from_host}
        gpu.free()
        for count in (threads[-1], threads[0]):
            with pinned(count):
                solve = solver(graph[:3], graph.n, backend="numba", threads=count)
                yield {**facts, "code": f"numba, T = {count}", "seconds": repeated(solve, seconds)}
        if len(graph.u) <= NUMPY_EDGES:
            solve = solver(graph[:3], graph.n, backend="numpy")
            yield {**facts, "code": "numpy", "seconds": repeated(solve, seconds)}


def limits(
    threads: Sequence[int],
    sizes: Sequence[int] = SIZES,
    graphs: Sequence[str] = ("E", "rmat:scale=20", "rmat:scale=22"),
    small: Sequence[int] = SMALL,
    seconds: float = 0.5,
) -> Iterator[dict[str, Any]]:
    """Yield times by number of edges, and by the parameter `small` of `filter-kruskal`."""
    gpu = Gpu()
    for size in sizes:
        graph = graph_list.load_named(f"random:n={size // 4},m={size}")
        columns = gpu.columns(graph)
        row: dict[str, Any] = {"edges": size}
        row["on_device"] = repeated(solver(columns, graph.n), seconds, gpu.finish)
        row["from_host"] = repeated(solver(graph[:3], graph.n, backend="cupy"), seconds, gpu.finish)
        for count in (threads[0], threads[-1]):
            solve = solver(graph[:3], graph.n, backend="numba", threads=count)
            row[f"numba, T = {count}"] = repeated(solve, seconds)
        yield row
    for name in graphs:
        graph = graph_list.load_named(name)
        columns = gpu.columns(graph)
        for limit in small:
            solve = solver(columns, graph.n, values={"small": limit})
            yield {"graph": name, "small": limit, "seconds": repeated(solve, seconds, gpu.finish)}


def solver(columns: Any, num_vertices: int | None, **options: Any) -> Callable[[], mstflow.Forest]:
    """Return a function that solves a graph; `values` are parameters of `filter-kruskal`."""
    if values := options.pop("values", None):
        options["algorithm"] = mstflow.algorithm("filter-kruskal").given(**values)
    return partial(
        mstflow.minimum_spanning_forest,
        columns,
        num_vertices=num_vertices,
        progress=False,
        **options,
    )


def repeated(
    function: Callable[[], object], seconds: float, finish: Callable[[], object] = lambda: None
) -> list[float]:
    """Call a function once, then return the times of at least one further call, for `seconds`."""
    times: list[float] = []
    function()
    finish()
    end = time.perf_counter() + seconds
    while not times or (len(times) < ROUNDS and time.perf_counter() < end):
        start = time.perf_counter()
        function()
        finish()
        times.append(time.perf_counter() - start)
    return times
