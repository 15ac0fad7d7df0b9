"""Times on a GPU: solves, and kernels by Nsight Compute.

`python -m benchmarks.device.times FOLDER` is the program that the profiler measures.
"""

from __future__ import annotations

import csv
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import mstflow

from .. import graphs as graph_list
from ..measure import Row, in_turn, timed
from ..primitives import solver
from .gpu import Gpu, on_device

#: The most calls of each code that are measured, after one that is not.
ROUNDS = 7
#: NumPy is not measured on more edges.
NUMPY_EDGES = 20_000_000
SIZES = tuple(2**power for power in range(14, 24))
SMALL = (2**20, 2**22, 2**24)
#: Columns of the profiler's table, in base units, and their names in records.
METRICS = {
    "gpu__time_duration.sum": "nanoseconds",
    "dram__bytes_read.sum": "bytes_read",
    "dram__bytes_write.sum": "bytes_written",
}


def solves(graphs: Sequence[str], threads: Sequence[int], seconds: float = 2) -> Iterator[Row]:
    """Yield the times of each code on each graph; each code takes about `seconds` at most."""
    gpu = Gpu()
    for name in graphs:
        graph = graph_list.load_named(name)
        facts = {"graph": name, "edges": len(graph.u)}
        for code, solve, count in _codes(graph, threads):
            before = gpu.pool_bytes(free=True)
            case = {**facts, "code": code}, timed(solve, count, gpu.finish)
            for row in in_turn([case], ROUNDS, seconds, warm_ups=1):
                peak = {"peak": [gpu.pool_bytes() - before]}
                yield row | (peak if code == "GPU, arrays on it" else {})


def limits(
    threads: Sequence[int],
    sizes: Sequence[int] = SIZES,
    graphs: Sequence[str] = ("E", "rmat:scale=20", "rmat:scale=22"),
    small: Sequence[int] = SMALL,
    seconds: float = 0.5,
) -> Iterator[Row]:
    """Yield times by number of edges, and by the parameter `small` of `filter-kruskal`."""
    gpu = Gpu()
    for size in sizes:
        graph = graph_list.load_named(f"random:n={size // 4},m={size}")
        cases = [
            ({"edges": size, "code": code}, timed(solve, count, gpu.finish))
            for code, solve, count in _codes(graph, threads)
        ]
        yield from in_turn(cases, ROUNDS, seconds, warm_ups=1)
    for name in graphs:
        graph = on_device(graph_list.load_named(name))
        cases = []
        for limit in small:
            algorithm = mstflow.algorithm("filter-kruskal").given(small=limit)
            call = timed(solver(graph, algorithm=algorithm), finish=gpu.finish)
            cases.append(({"graph": name, "small": limit}, call))
        yield from in_turn(cases, ROUNDS, seconds, warm_ups=1)


def _codes(graph: Any, threads: Sequence[int]) -> Iterator[tuple[str, Any, int | None]]:
    """Yield the codes of a comparison: a name, a function, and its number of processors."""
    yield "GPU, arrays on it", solver(on_device(graph)), None
    yield "GPU, arrays on the host", solver(graph, backend="cupy"), None
    for count in dict.fromkeys((threads[-1], threads[0])):
        yield f"numba, T = {count}", solver(graph, backend="numba", threads=count), count
    if len(graph.u) <= NUMPY_EDGES:
        yield "numpy", solver(graph, backend="numpy"), None


def kernels(graphs: Sequence[str]) -> Iterator[Row]:
    """Yield launches, time and traffic of each kernel of a second solve of arrays on the device."""
    for name in graphs:
        totals: dict[str, dict[str, float]] = {}
        for launch in _profiled(graph_list.ensure(name)):
            total = totals.setdefault(launch.pop("kernel"), {"launches": 0})
            for figure, value in {**launch, "launches": 1}.items():
                total[figure] = total.get(figure, 0) + value
        for kernel, total in totals.items():
            yield {"graph": name, "kernel": kernel, **total}


def _profiled(folder: Path) -> list[dict[str, Any]]:
    """Return the kernel and the figures of each launch."""
    with tempfile.TemporaryDirectory() as scratch:
        table = Path(scratch) / "launches.csv"
        options = ["--profile-from-start", "off", "--clock-control", "none"]
        options += ["--cache-control", "none", "--csv", "--page", "raw", "--print-units", "base"]
        options += ["--metrics", ",".join(METRICS), "--log-file", str(table)]
        program = [sys.executable, "-m", "benchmarks.device.times", str(folder)]
        done = subprocess.run(["ncu", *options, *program], capture_output=True, text=True)
        lines = table.read_text().splitlines() if table.exists() else []
    rows = [line for line in lines if line.startswith('"')]
    if done.returncode or not rows:
        message = " ".join([*done.stderr.split()[-60:], *lines[-5:]])
        raise RuntimeError(message)
    _, *launches = csv.DictReader(rows)  # the first row has units
    return [
        {"kernel": re.split("[<(]", row["Kernel Name"].removeprefix("void "))[0]}
        | {name: float(row[column].replace(",", "")) for column, name in METRICS.items()}
        for row in launches
    ]


def solve_profiled(folder: str) -> None:
    """Solve a graph twice on the device; only the second solve is profiled."""
    import cupyx.profiler

    gpu = Gpu()
    solve = solver(on_device(graph_list.load(Path(folder))))
    solve()
    gpu.finish()
    with cupyx.profiler.profile():
        solve()
        gpu.finish()


if __name__ == "__main__":
    solve_profiled(*sys.argv[1:])
