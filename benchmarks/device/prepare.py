"""Facts about the machine, and preparation of graphs and compiled kernels for later steps."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from multiprocessing import get_context

import numpy as np

from .. import graphs as graph_list
from .. import work
from ..measure import Row, timed
from ..primitives import solver

#: The number of kernels that a process compiles.
_KERNELS_OF_PROCESS = 12


def facts() -> Iterator[Row]:
    """Yield the device, and the first solves of a small graph on it.

    The first solve of a machine compiles kernels.
    """
    import mstflow
    from mstflow.primitives.cuda import device

    from .gpu import Gpu

    yield {"gpu": {"bus_bytes_per_second": Gpu().copy_rate()}, "cuda": device.describe_devices()}
    random = np.random.default_rng(0)
    u, v = random.integers(0, 1000, (2, 5000), dtype=np.int32)
    graph = u, v, random.random(5000, dtype=np.float32)
    expected = mstflow.minimum_spanning_forest(graph, backend="numpy").edge_ids
    found = []
    solve = timed(lambda: found.append(mstflow.minimum_spanning_forest(graph, backend="cupy")))
    for name in ("first", "second"):
        yield {"solve": name, **solve()}
    is_equal = all(np.array_equal(forest.edge_ids, expected) for forest in found)
    yield {"solve": "both", "is_equal": is_equal}


def prepare(graphs: Sequence[str], files: Sequence[str] = ()) -> Iterator[Row]:
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
    return float(timed(call)()["seconds"])


def _compile_cuda(file: str, kernels: Sequence[str], architecture: str) -> None:
    from mstflow.pointsets.primitives.cuda import searches
    from mstflow.primitives.cuda.compiler import NVRTC

    compiler = searches.NVRTC if file in searches.KERNELS else NVRTC
    for kernel in kernels:
        compiler.cached(file, kernel, architecture)


def _compile_numba() -> None:
    """Compile the CPU's kernels that later steps call."""
    graph = graph_list.load_named("random:n=30000,m=300000")
    for algorithm in ("filter-kruskal", *work.ROUNDS):
        solver(graph, algorithm=algorithm, backend="numba", threads=2)()
