"""The host's time of a launch, and the time and traffic of each kernel by Nsight Compute.

Run as a program, it solves a graph on the device: `python -m benchmarks.device.kernels FOLDER`.
"""

from __future__ import annotations

import csv
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import graphs as graph_list
from .gpu import Gpu
from .times import solver

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

#: Columns of the profiler's table, in base units, and our names.
METRICS = {
    "gpu__time_duration.sum": "nanoseconds",
    "dram__bytes_read.sum": "bytes_read",
    "dram__bytes_write.sum": "bytes_written",
}
#: The kernel that is launched many times, its threads, and how often this is repeated.
KERNEL = "gather<u32, u32>"
_BLOCK = 256
ROUNDS = 5


def profile(graphs: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield launches, time and traffic for each kernel of a second solve, arrays on the device.

    Raises
    ------
    OSError
        If `ncu` is not found.
    RuntimeError
        If it fails. Has its output.
    """
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
    with tempfile.TemporaryDirectory() as place:
        table = Path(place) / "launches.csv"
        options = ["--profile-from-start", "off", "--clock-control", "none"]
        options += ["--cache-control", "none", "--csv", "--page", "raw", "--print-units", "base"]
        options += ["--metrics", ",".join(METRICS), "--log-file", str(table)]
        program = [sys.executable, "-m", "benchmarks.device.kernels", str(folder)]
        done = subprocess.run(["ncu", *options, *program], capture_output=True, text=True)
        lines = table.read_text().splitlines() if table.exists() else []
    listed = [line for line in lines if line.startswith('"')]
    if done.returncode or not listed:
        message = " ".join([*done.stderr.split()[-60:], *lines[-5:]])
        raise RuntimeError(message)
    _, *launches = csv.DictReader(listed)  # the first row has units
    return [
        {"kernel": re.split("[<(]", row["Kernel Name"].removeprefix("void "))[0]}
        | {own: float(row[name].replace(",", "")) for name, own in METRICS.items()}
        for row in launches
    ]


def launches(count: int = 2000) -> Iterator[dict[str, Any]]:
    """Yield the microseconds of a launch in each way, and of the product's own call."""
    import cupy

    from mstflow.primitives.cuda.compiler import NVRTC
    from mstflow.primitives.cuda.device import CupyDevice

    architecture = f"sm_{cupy.cuda.Device().compute_capability}"
    name, cubin = NVRTC.cached("arrays", KERNEL, architecture)
    values, index, out = (cupy.zeros(_BLOCK, "u4") for _ in range(3))
    device = CupyDevice()
    module = cupy.cuda.function.Module()
    module.load(cubin)
    function = module.get_function(name)
    words = [_BLOCK, values, index, out]
    ways: dict[str, Callable[[], object]] = {
        "CupyDevice.launch": lambda: device.launch("arrays", KERNEL, _BLOCK, values, index, out),
        "CuPy": lambda: function((1,), (_BLOCK,), words),
    }
    for way, launch in ways.items():
        yield _measured(way, launch, count)
    yield _measured("cuda.core", _by_cuda_core(name, cubin, values, index, out), count)


def _by_cuda_core(name: str, cubin: bytes, *arrays: Any) -> Callable[[], object]:
    """Return a launch by cuda.core on CuPy's stream."""
    import cupy
    from cuda.core import LaunchConfig, ObjectCode, Stream, launch

    kernel = ObjectCode.from_cubin(cubin).get_kernel(name)
    config = LaunchConfig(grid=1, block=_BLOCK)
    stream = Stream.from_handle(cupy.cuda.get_current_stream().ptr)

    def call() -> None:
        pointers = [array.data.ptr for array in arrays]
        launch(stream, config, kernel, _BLOCK, *pointers)

    return call


def _measured(way: str, launch: Callable[[], object], count: int) -> dict[str, Any]:
    import cupy

    host, whole = [], []
    for _ in range(ROUNDS):
        cupy.cuda.runtime.deviceSynchronize()
        start = time.perf_counter()
        for _ in range(count):
            launch()
        host.append((time.perf_counter() - start) / count * 1e6)
        cupy.cuda.runtime.deviceSynchronize()
        whole.append((time.perf_counter() - start) / count * 1e6)
    return {"way": way, "host_microseconds": host, "microseconds": whole}


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
