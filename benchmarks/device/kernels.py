"""Time and memory traffic of each kernel, measured by Nsight Compute.

`python -m benchmarks.device.kernels FOLDER` is the program that is profiled.
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

from .. import graphs as graph_list
from .gpu import Gpu
from .times import solver

#: Columns of the profiler's table, in base units, and their names in records.
METRICS = {
    "gpu__time_duration.sum": "nanoseconds",
    "dram__bytes_read.sum": "bytes_read",
    "dram__bytes_write.sum": "bytes_written",
}


def profile(graphs: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield launches, time and traffic of each kernel of a second solve of arrays on the device."""
    for name in graphs:
        folder = graph_list.ensure(name)
        edges = graph_list.describe(folder)["edges"]
        totals: dict[str, dict[str, float]] = {}
        for launch in _profiled(folder):
            total = totals.setdefault(launch.pop("kernel"), {"launches": 0, "longest": 0})
            total["longest"] = max(total["longest"], launch["nanoseconds"])
            for figure, value in {**launch, "launches": 1}.items():
                total[figure] = total.get(figure, 0) + value
        for kernel, total in totals.items():
            yield {"graph": name, "edges": edges, "kernel": kernel, **total}


def _profiled(folder: Path) -> list[dict[str, Any]]:
    """Return the kernel and the figures of each launch."""
    with tempfile.TemporaryDirectory() as scratch:
        table = Path(scratch) / "launches.csv"
        options = ["--profile-from-start", "off", "--clock-control", "none"]
        options += ["--cache-control", "none", "--csv", "--page", "raw", "--print-units", "base"]
        options += ["--metrics", ",".join(METRICS), "--log-file", str(table)]
        program = [sys.executable, "-m", "benchmarks.device.kernels", str(folder)]
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


def main(folder: str) -> None:
    """Solve a graph twice on the device; only the second solve is profiled."""
    import cupyx.profiler

    gpu, graph = Gpu(), graph_list.load(Path(folder))
    solve = solver(gpu.columns(graph), graph.n)
    solve()
    gpu.finish()
    with cupyx.profiler.profile():
        solve()
        gpu.finish()


if __name__ == "__main__":
    main(*sys.argv[1:])
