"""Times of whole solves on a GPU, with compiled kernels and with NumPy."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import mstflow
from mstflow.runtime.sizes import tuned

from .. import graphs as graph_list
from ..machine import pinned
from .gpu import Gpu

#: The most calls that are measured.
ROUNDS = 7
#: NumPy is not measured on more edges.
NUMPY_EDGES = 20_000_000
SIZES = tuple(2**power for power in range(14, 24))
SMALL = (2**20, 2**22, 2**24)
#: Variants of `join_in_order`: sizes, and expressions in `trees.cu` that are replaced.
_ONE_PART = {"joined_in_parts": 2**62}
_FIND = "a = find(parent, a), b = find(parent, b)"
_FIRST_FIND = (
    (f"a != b; {_FIND}) {{", f"a != b;) {{\n        {_FIND};\n        if (a == b) return;"),
)
_VOLATILE = tuple(
    (f"climb(parent, {end}[i], are_roots)", f"find(const_cast<Index*>(parent), {end}[i])")
    for end in "uv"
)
VARIANTS: dict[str, tuple[dict[str, int], tuple[tuple[str, str], ...]]] = {
    "as it is": ({}, ()),
    "one part": (_ONE_PART, ()),
    "volatile loads, paths halved": ({}, _VOLATILE),
    "find before the compare-and-swap": ({}, _FIRST_FIND),
    "only parts": ({}, (*_VOLATILE, *_FIRST_FIND)),
    "only cached loads": (_ONE_PART, _FIRST_FIND),
    "none": (_ONE_PART, (*_VOLATILE, *_FIRST_FIND)),
}


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


def joins(
    graphs: Sequence[str], variants: Sequence[str] = tuple(VARIANTS), seconds: float = 0.5
) -> Iterator[dict[str, Any]]:
    """Yield times of `join_in_order` on the lightest edges, for variants of the kernels.

    The names of variants say what they change or lack: parts, cached loads, or the compare-and-swap
    before a find. All must find the same forest.
    """
    gpu = Gpu()
    for name in graphs:
        graph = graph_list.load_named(name)
        order = np.argsort(graph.w, kind="stable")
        if len(order) > SMALL[1]:  # as `filter-kruskal` selects them
            order = order[: int(1.75 * graph.n)]
        u, v, _ = gpu.columns(graph._replace(u=graph.u[order], v=graph.v[order]))
        expected = None
        for variant in variants:
            changed, replaced = VARIANTS[variant]
            with tempfile.TemporaryDirectory() as folder, tuned(**changed):
                arrays = _arrays_of_variant(Path(folder), replaced)
                joining = gpu.to_host(arrays.join_in_order(u, v, graph.n)[0])
                expected = joining if expected is None else expected
                join = partial(arrays.join_in_order, u, v, graph.n)
                yield {
                    "graph": name,
                    "pairs": len(order),
                    "variant": variant,
                    "is_equal": bool(np.array_equal(joining, expected)),
                    "seconds": repeated(join, seconds, gpu.finish),
                }


def _arrays_of_variant(folder: Path, replaced: Sequence[tuple[str, str]]) -> Any:
    """Return the array module of the GPU, with other expressions in the kernels of joins."""
    from mstflow.primitives.cuda.arrays import CudaArrays
    from mstflow.primitives.cuda.compiler import SOURCES, Compiler
    from mstflow.primitives.cuda.device import CupyDevice

    sources = Path(shutil.copytree(SOURCES, folder / "sources"))
    text = (sources / "trees.cu").read_text()
    for old, new in replaced:
        if old not in text:
            message = f"trees.cu has no {old!r}"
            raise ValueError(message)
        text = text.replace(old, new)
    (sources / "trees.cu").write_text(text)
    return CudaArrays(CupyDevice(Compiler(sources)))


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
