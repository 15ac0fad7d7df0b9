"""Calls of a GPU and the host's time of a solve, measured without a GPU.

CuPy runs on the fake driver of the tests. Its interpreter runs one solve and counts the calls. Then
the driver replays this solve: each call returns at once, so the time is that of Python and CuPy.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any

from .. import graphs as graph_list
from ..measure import Benchmark, Facts, Row, in_turn, timed
from ..primitives import solver
from ..tables import Table, milliseconds
from .gpu import build_interpreter, interpreter

WARM_UPS = 20
COUNTS = ("launches", "sorts", "sets", "copies_within", "copies_out", "bytes_out", "waits")


def rows(graphs: Sequence[str], replays: int) -> Iterator[Row]:
    """Interpret one solve of each graph, and replay it.

    Yield for each graph the calls of a solve, and the seconds of each replay.
    """
    import cupy

    gpu = interpreter()
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= build_interpreter(folder)
        gpu.install()
    for name in graphs:
        graph = graph_list.load_named(name)
        solve = solver(graph._replace(**{c: cupy.asarray(getattr(graph, c)) for c in "uvw"}))
        gpu.start(0, checks="bounds")
        gpu.counts()
        with gpu.recording():
            solve()
        counts = gpu.counts()

        def replay(gpu: Any = gpu, solve: Any = solve) -> Facts:
            with gpu.replaying():
                return timed(solve)()

        calls = {call: getattr(counts, call) for call in COUNTS}
        names = {"graph": graph_list.title(name), "edges": len(graph.u), **calls}
        yield from in_turn([(names, replay)], replays, warm_ups=WARM_UPS)


BENCHMARK = Benchmark(
    "calls of a GPU and the host's time of solves, with interpreted kernels",
    rows,
    {"graphs": ["N", "rmat:scale=16"], "replays": 300},
    {"graphs": ["tiny"], "replays": 1},
    {
        "interpreted-gpu": Table(
            ("graph", "edges", *COUNTS),
            (),
            {
                "host's time, least, ms": lambda row, _: min(row["seconds"]) * 1e3,
                "median, ms": milliseconds(),
            },
        )
    },
    usual=False,  # needs mstflow[gpu-test]
)
