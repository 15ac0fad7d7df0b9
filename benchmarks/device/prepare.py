"""Prepare later steps, in parallel: generate their graphs and compile kernels."""

from __future__ import annotations

import os
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

from .. import graphs as graph_list

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

#: The kernels that one process compiles together.
_TOGETHER = 12


def rows(graphs: Sequence[str], files: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
    """Yield the seconds of each graph, of each file of CUDA kernels, and of the CPU's kernels."""
    from mstflow.primitives.cuda import device
    from mstflow.primitives.cuda.kernels import KERNELS

    found = device.describe_devices()["devices"][0]["compute_capability"]
    architecture = f"sm_{found.replace('.', '')}"
    calls: dict[str, Callable[[], object]]
    calls = {name: partial(graph_list.ensure, name) for name in reversed(graphs)}
    calls["kernels of the CPU"] = _compile_numba
    for file in files or KERNELS:
        for first in range(0, len(KERNELS[file]), _TOGETHER):
            chosen = KERNELS[file][first : first + _TOGETHER]
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
    from mstflow.primitives.cuda.device import cached_kernel

    for kernel in kernels:
        cached_kernel(file, kernel, architecture)


def _compile_numba() -> None:
    """Compile the kernels of the CPU that later steps call."""
    from ..runner import codes
    from .threads import ALGORITHMS

    folder = graph_list.ensure("random:n=30000,m=300000")
    for algorithm in ALGORITHMS:
        codes.prepare(f"mstflow:algorithm={algorithm},backend=numba", folder, 2).solve()
