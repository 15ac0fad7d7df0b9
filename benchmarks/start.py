"""Times of the import and of the first solves in fresh processes, with NumPy and with kernels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .measure import Benchmark, Row, in_turn, program
from .tables import Table, milliseconds

CALLS = ("import", "first solve", "second solve")
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
    seconds[f"{name} solve"] = time.perf_counter() - start
print(json.dumps(seconds))
"""


def rows(edges: Sequence[int], rounds: int) -> Iterator[Row]:
    """Yield times for random graphs with two edges for each vertex.

    The time to compile kernels is not included: the first round is not recorded.
    """
    names = [{"edges": count, "backend": of} for count in edges for of in ("numpy", "numba")]
    cases = [(each, program(PROGRAM, each["backend"], each["edges"], touched=0)) for each in names]
    return in_turn(cases, rounds, warm_ups=1)


BENCHMARK = Benchmark(
    "import and first solves in fresh processes",
    rows,
    {"edges": [10**3, 10**4, 10**5, 5 * 10**5, 10**6], "rounds": 5},
    {"edges": [10**3], "rounds": 1},
    {
        "start": Table(
            ("edges",), ("backend",), {f"{call}, ms": milliseconds(call) for call in CALLS}
        )
    },
)
