"""Times of a GPU, with the columns on the device and in the host's memory."""

from __future__ import annotations

import statistics
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import mstflow

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..graphs import Graph
    from .device import Gpu

#: Similar to the graphs of published measurements; each edge is listed once.
GRAPHS = (
    "grid:rows=1024,columns=1024",
    "grid:rows=4900,columns=4900,keep=0.6",  # the size of the roads of the USA
    "rmat:scale=22,edges_per_vertex=8",
    "rmat:scale=22",
    "random:n=8000000,m=64000000",
)
WARM_UPS = 2


def measure(gpu: Gpu, graph: Graph, rounds: int) -> dict[str, Any]:
    """Return times, rates and memory of one graph. Rates count two arcs for each edge."""
    edges, size = len(graph.u), sum(column.nbytes for column in graph[:3])
    before = gpu.free()
    on_device = _seconds(gpu, _solver(gpu.columns(graph), graph.n, "auto"), rounds)
    taken = gpu.held() - before
    gpu.free()
    from_host = _seconds(gpu, _solver(graph[:3], graph.n, "cupy"), rounds)
    return {
        "vertices": graph.n,
        "edges": edges,
        "seconds": on_device,
        "arcs_per_second": 2 * edges / statistics.median(on_device),
        "bytes_per_edge": taken / edges,
        "seconds_from_host": from_host,
        "bus_bytes_per_second": size / statistics.median(from_host),
    }


def measure_stream(gpu: Gpu, graph: Graph, pool: int) -> dict[str, Any]:
    """Solve a graph in the host's memory with a device pool of at most `pool` bytes."""
    gpu.free()
    gpu.limit(pool)
    try:
        solve = _solver(graph[:3], graph.n, "cupy", memory=pool)
        seconds = _seconds(gpu, solve, 1, warm_ups=0)
    finally:
        gpu.limit(0)
    return {"pool": pool, "edges": len(graph.u), "seconds": seconds, "held": gpu.held()}


def _solver(
    columns: Any, num_vertices: int, backend: str, **options: Any
) -> Callable[[], mstflow.Forest]:
    return partial(
        mstflow.minimum_spanning_forest,
        columns,
        num_vertices=num_vertices,
        backend=backend,
        **options,
    )


def _seconds(
    gpu: Gpu, function: Callable[[], object], rounds: int, warm_ups: int = WARM_UPS
) -> list[float]:
    times = []
    for turn in range(warm_ups + rounds):
        gpu.finish()
        start = time.perf_counter()
        function()
        gpu.finish()
        if turn >= warm_ups:
            times.append(time.perf_counter() - start)
    return times
