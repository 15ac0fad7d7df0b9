"""Facts about the machine, and preparation of graphs and compiled kernels for later steps."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from multiprocessing import get_context
from typing import Any

import numpy as np

from .. import graphs as graph_list

#: The number of kernels that a process compiles.
_KERNELS_OF_PROCESS = 12
IMPORT = """
import time
start = time.perf_counter()
import mstflow
print(time.perf_counter() - start)
"""


def facts() -> Iterator[dict[str, Any]]:
    """Yield the time of the import, the device, and the first solves of a small graph on it.

    The first solve of a machine compiles kernels.
    """
    done = subprocess.run([sys.executable, "-c", IMPORT], capture_output=True, text=True)
    yield {"import_seconds": json.loads(done.stdout), "processors": os.cpu_count()}

    import mstflow
    from mstflow.primitives.cuda import device

    from .gpu import Gpu

    yield {"gpu": {"bus_bytes_per_second": Gpu().copy_rate()}, "cuda": device.describe_devices()}
    random = np.random.default_rng(0)
    u, v = random.integers(0, 1000, (2, 5000), dtype=np.int32)
    graph = u, v, random.random(5000, dtype=np.float32)
    expected = mstflow.minimum_spanning_forest(graph, backend="numpy").edge_ids
    for name in ("first", "second"):
        start = time.perf_counter()
        edge_ids = mstflow.minimum_spanning_forest(graph, backend="cupy").edge_ids
        seconds = time.perf_counter() - start
        yield {
            "solve": name,
            "seconds": seconds,
            "is_equal": bool(np.array_equal(edge_ids, expected)),
        }


def prepare(graphs: Sequence[str], files: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
    """Generate graphs and compile kernels in several processes; yield the seconds of each task."""
    from mstflow.pointsets.primitives.cuda import searches
    from mstflow.primitives.cuda import device
    from mstflow.primitives.cuda.kernels import KERNELS

    capability = device.describe_devices()["devices"][0]["compute_capability"]
    architecture = f"sm_{capability.replace('.', '')}"
    calls: dict[str, Callable[[], object]]
    calls = {name: partial(graph_list.ensure, name) for name in reversed(graphs)}
    calls["kernels of the CPU"] = _compile_numba
    kernels = {**KERNELS, **searches.KERNELS}
    for file in files or kernels:
        for first in range(0, len(kernels[file]), _KERNELS_OF_PROCESS):
            chosen = kernels[file][first : first + _KERNELS_OF_PROCESS]
            compiled = partial(_compile_cuda, file, chosen, architecture)
            calls[f"{file}.cu, from {chosen[0]}"] = compiled
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        futures = {pool.submit(_timed, call): name for name, call in calls.items()}
        for future in as_completed(futures):
            error = future.exception()
            outcome = {"error": str(error)} if error else {"seconds": future.result()}
            yield {"prepared": futures[future], **outcome}


def _timed(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def _compile_cuda(file: str, kernels: Sequence[str], architecture: str) -> None:
    from mstflow.pointsets.primitives.cuda import searches
    from mstflow.primitives.cuda.compiler import NVRTC

    compiler = searches.NVRTC if file in searches.KERNELS else NVRTC
    for kernel in kernels:
        compiler.cached(file, kernel, architecture)


def _compile_numba() -> None:
    """Compile the CPU's kernels that later steps call."""
    from .. import work
    from ..runner import codes

    folder = graph_list.ensure("random:n=30000,m=300000")
    for algorithm in ("filter-kruskal", *work.ROUNDS):
        codes.prepare(f"mstflow:algorithm={algorithm},backend=numba", folder, 2).solve()
