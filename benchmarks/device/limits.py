"""The limits of the GPU: from when it and a filter pay, and how large blocks of a stream are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from unittest import mock

from mstflow.pipeline.streaming import scan

from .. import graphs as graph_list
from .gpu import Gpu
from .times import repeated, solver

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SIZES = tuple(2**power for power in range(14, 24))
SMALL = (2**20, 2**22, 2**24)
BLOCKS = (2**17, 2**19, 2**21)
#: Bytes that a streamed solve may take.
MEMORY = 2 * 10**9


def rows(
    threads: Sequence[int],
    sizes: Sequence[int] = SIZES,
    graphs: Sequence[str] = ("E", "rmat:scale=20", "rmat:scale=22"),
    small: Sequence[int] = SMALL,
    stream: str = "rmat:scale=22",
    seconds: float = 0.5,
) -> Iterator[dict[str, Any]]:
    """Yield times by number of edges, by the value of `small`, and by edges of a block."""
    gpu = Gpu()
    for size in sizes:
        graph = graph_list.load(graph_list.ensure(f"random:n={size // 4},m={size}"))
        columns = gpu.columns(graph)
        row: dict[str, Any] = {"edges": size}
        row["on_device"] = repeated(solver(columns, graph.n), seconds, gpu.finish)
        row["from_host"] = repeated(solver(graph[:3], graph.n, backend="cupy"), seconds, gpu.finish)
        for count in (threads[0], threads[-1]):
            solve = solver(graph[:3], graph.n, backend="numba", threads=count)
            row[f"numba, T = {count}"] = repeated(solve, seconds)
        yield row
    for name in graphs:
        graph = graph_list.load(graph_list.ensure(name))
        columns = gpu.columns(graph)
        for limit in small:
            solve = solver(columns, graph.n, values={"small": limit})
            yield {"graph": name, "small": limit, "seconds": repeated(solve, seconds, gpu.finish)}
    gpu.free()
    graph = graph_list.load(graph_list.ensure(stream))
    for block in BLOCKS:
        for count in (1, threads[-1]):
            with mock.patch.object(scan, "BLOCK_EDGES", block):
                options = {"backend": "cupy", "strategy": "two-scan", "memory": MEMORY}
                solve = solver(graph[:3], graph.n, threads=count, **options)
                found = repeated(solve, seconds, gpu.finish)
            row = {"graph": stream, "block": block, "threads": count, "seconds": found}
            yield {**row, "held": gpu.held()}
