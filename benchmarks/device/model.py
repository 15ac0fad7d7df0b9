"""Calls of a GPU and the host's time of a solve, measured without a GPU.

CuPy runs on the fake driver of the tests. Its interpreter runs one solve and counts the calls. Then
the driver replays this solve: each call returns at once, so the time is that of Python and CuPy.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

from .. import graphs as graph_list
from ..graphs import Graph
from .gpu import build_interpreter, interpreter

WARM_UPS = 20
COUNTS = ("launches", "sorts", "sets", "copies_within", "copies_out", "bytes_out", "waits")


def measure(graphs: Sequence[str], replays: int) -> dict[str, Any]:
    """Interpret one solve of each graph, and replay it.

    Return for each graph its sizes, the calls of a solve, and the seconds of each replay.
    """
    interpreted_gpu = interpreter()
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= build_interpreter(folder)
        interpreted_gpu.install()
    measured = {}
    for name in graphs:
        path = graph_list.ensure(name)
        facts = _measure_one(interpreted_gpu, graph_list.load(path), replays)
        measured[graph_list.title(name)] = {**graph_list.describe(path), **facts}
    return {"graphs": measured}


def _measure_one(gpu: Any, graph: Graph, replays: int) -> dict[str, Any]:
    import cupy

    import mstflow

    columns = tuple(cupy.asarray(column) for column in graph[:3])
    solve = partial(mstflow.minimum_spanning_forest, columns, num_vertices=graph.n)
    gpu.start(0, checks="bounds")
    gpu.counts()
    with gpu.recording():
        solve()
    counts, seconds = gpu.counts(), []
    for _ in range(WARM_UPS + replays):
        with gpu.replaying():
            start = time.perf_counter()
            solve()
            seconds.append(time.perf_counter() - start)
    return {
        "calls": {name: getattr(counts, name) for name in COUNTS},
        "seconds": seconds[WARM_UPS:],
    }
