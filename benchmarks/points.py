"""Time from an array of points to their tree, compared with quitefastmst and fast_hdbscan.

Every measurement is a fresh process: the first call, on a few points, loads or compiles kernels,
and the second one is measured. Processor time is measured too, because other programs may use the
machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .measure import Benchmark, Row, in_turn, is_installed, program

#: The data sets: an expression of a random generator `r` and the number of points `n`.
DATA = {
    "2-D normal": "r.normal(size=(n, 2))",
    "3-D normal": "r.normal(size=(n, 3))",
    "8-D, ten clusters": "4 * r.normal(size=(10, 8))[r.integers(0, 10, n)] + r.normal(size=(n, 8))",
    "10-D normal": "r.normal(size=(n, 10))",
    "three points": "r.normal(size=(3, 2))[r.integers(0, 3, n)]",
    "lattice": "np.stack(np.divmod(np.arange(n, dtype=float), int(n**0.5)), axis=1)",
    "line": "np.outer(r.random(n), [1.0, 2.0])",
}
#: Data sets, numbers of points and numbers of samples.
CASES = (
    ("2-D normal", 1_000_000, 1),
    ("2-D normal", 1_000_000, 10),
    ("3-D normal", 200_000, 1),
    ("3-D normal", 200_000, 10),
    ("8-D, ten clusters", 100_000, 1),
    ("8-D, ten clusters", 100_000, 10),
    ("10-D normal", 50_000, 1),
    ("10-D normal", 50_000, 10),
    ("three points", 1_000_000, 1),
    ("lattice", 1_000_000, 1),
    ("line", 1_000_000, 1),
)
#: Seconds after which a process is stopped.
_LIMIT = 600
#: The function that each code measures, and its package.
CODES = {
    "mstflow": (
        "mstflow",
        """
import mstflow
def solve(x, samples):
    graph = mstflow.points(x, min_samples=samples)
    options = {"threads": threads, "backend": "numba", "progress": False}
    return mstflow.minimum_spanning_forest(graph, **options)
""",
    ),
    "quitefastmst": (
        "quitefastmst",
        """
import os
os.environ["OMP_NUM_THREADS"] = str(threads)
import quitefastmst
def solve(x, samples):
    return quitefastmst.mst_euclid(x, samples - 1)
""",
    ),
    "fast_hdbscan": (
        "fast_hdbscan",
        """
import os
os.environ["NUMBA_NUM_THREADS"] = str(threads)
from fast_hdbscan.hdbscan import compute_minimum_spanning_tree
def solve(x, samples):
    return compute_minimum_spanning_tree(x, min_samples=max(1, samples - 1))
""",
    ),
}
_START = """
import json, sys, time
import numpy as np
n, samples, threads = map(int, sys.argv[1:4])
r = np.random.default_rng(0)
"""
_MEASURE = """
x = np.ascontiguousarray({data})
solve(x[:5000], samples)
wall, cpu = time.perf_counter(), time.process_time()
solve(x, samples)
cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
print(json.dumps({{"seconds": wall, "processor_seconds": cpu}}))
"""


def rows(
    threads: Sequence[int],
    rounds: int,
    cases: Sequence[Sequence[Any]] = CASES,
    codes: Sequence[str] = tuple(CODES),
) -> Iterator[Row]:
    """Solve all data sets with all packages that are installed, in turn.

    `cases` are data sets, numbers of points and numbers of samples. Only mstflow uses `threads`.
    """
    calls = []
    for data, num_points, samples in cases:
        for code in codes:
            package, text = CODES[code]
            if not is_installed(package):
                continue
            text = _START + text + _MEASURE.format(data=DATA[data])
            names = {"data": data, "points": num_points, "samples": samples, "code": code}
            for count in threads if code == "mstflow" else (1,):
                size = (num_points, samples, count)
                call = program(text, *size, threads=count, limit=_LIMIT, touched=0)
                calls.append(({**names, "threads": count}, call))
    return in_turn(calls, rounds)


BENCHMARK = Benchmark(
    "trees of points, compared with quitefastmst and fast_hdbscan",
    rows,
    {"threads": [1, 2], "rounds": 3},
    {"cases": [["2-D normal", 300, 1], ["line", 300, 2]], "codes": ["mstflow"], "rounds": 1},
    usual=False,  # takes minutes
)
