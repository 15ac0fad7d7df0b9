"""Time and memory from a random volume to the edge ids of its forest.

Every measurement is a fresh process. Memory is the peak in addition to the volume and the loaded
code. It includes the result.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from .measure import TOUCHED_BYTES, Benchmark, Row, in_turn, program
from .tables import Table, median, peak, rate

#: Bytes for each voxel: more than the volume and its solution take.
_TOUCHED_VOXEL = 24
_PROGRAM = """
import json, sys, time
from benchmarks.memory import memory, reset_peak
import mstflow
import numpy as np
side, dtype, threads = int(sys.argv[1]), np.dtype(sys.argv[2]), int(sys.argv[3])
def solve(volume):
    return mstflow.minimum_spanning_forest(mstflow.grid(volume), threads=threads, progress=False)
random = np.random.default_rng(27)
shape = side, side, side
if dtype.kind == "f":
    volume = random.random(shape, dtype)
else:
    volume = random.integers(0, np.iinfo(dtype).max, shape, dtype, endpoint=True)
solve(np.ascontiguousarray(volume[:160, :160, :160]))  # loads the kernels of larger volumes
reset_peak()
before, start = memory("VmRSS"), time.perf_counter()
solve(volume)
seconds = time.perf_counter() - start
print(json.dumps({"seconds": seconds, "peak": memory("VmHWM") - before}))
"""


def rows(
    sides: Sequence[int], dtypes: Sequence[str], threads: Sequence[int], rounds: int
) -> Iterator[Row]:
    """Solve volumes of six neighbors in turn."""
    cases = []
    for side, dtype, count in itertools.product(sides, dtypes, threads):
        sizes = {"voxels": side**3, "edges": 3 * side**2 * (side - 1)}
        names = {"side": side, "values": dtype, "code": "mstflow", "threads": count, **sizes}
        touched = max(TOUCHED_BYTES, _TOUCHED_VOXEL * side**3)
        call = program(_PROGRAM, side, dtype, count, threads=count, touched=touched)
        cases.append((names, call))
    return in_turn(cases, rounds)


BENCHMARK = Benchmark(
    "random volumes of up to 512 voxels along each axis",
    rows,
    {"sides": [128, 256, 512], "dtypes": ["uint8", "float32"], "threads": [1, 2], "rounds": 3},
    {"sides": [9], "dtypes": ["uint8", "float32"], "rounds": 1},
    {
        "grids": Table(
            ("side", "values", "code", "threads"),
            (),
            {"s": median(), "million edges/s": rate(), "bytes for each voxel": peak("voxels")},
        )
    },
    usual=False,  # takes minutes
)
