"""Times of the import and of the first solves in fresh processes, with NumPy and with kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .programs import run

BACKENDS = ("numpy", "numba")
PROGRAM = """
import json, sys, time
clock = [time.perf_counter()]
import mstflow
clock.append(time.perf_counter())
import numpy
backend, edges = sys.argv[1], int(sys.argv[2])
random = numpy.random.default_rng(0)
u, v = random.integers(0, edges // 2, (2, edges), dtype=numpy.int32)
graph = u, v, random.random(edges, dtype=numpy.float32)
seconds = {"import": clock[1] - clock[0]}
for name in ("first", "second"):
    start = time.perf_counter()
    mstflow.minimum_spanning_forest(graph, backend=backend)
    seconds[name] = time.perf_counter() - start
print(json.dumps(seconds))
"""


def measure(edges: Sequence[int], rounds: int) -> dict[str, Any]:
    """Measure random graphs with two edges for each vertex.

    The time to compile kernels is not included. Return `rows`: for each number of edges, backend
    and round, the seconds of the import, of the first solve and of the second.
    """
    rows = []
    for turn in range(-1, rounds):  # round -1 compiles missing kernels
        for count in edges:
            for backend in BACKENDS:
                row = {"edges": count, "backend": backend, "round": turn}
                rows += [{**row, "seconds": run(PROGRAM, backend, count)}] * (turn >= 0)
    return {"rows": rows}
