"""Time and memory from a random volume to the edge ids of its forest, compared with Higra.

Every measurement is a fresh process. Memory is the peak in addition to the volume and the loaded
code. It includes the result.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from .measure import TOUCHED_BYTES, Benchmark, Row, in_turn, is_installed, program
from .tables import Table, median, peak, rate

#: Bytes for each voxel: more than the volume and its solution by mstflow take.
_TOUCHED_VOXEL = 24
#: The largest side that Higra solves, because it takes ten times as long.
HIGRA_SIDE = 128

_START = """
import json, sys, time
from benchmarks.memory import memory, reset_peak
import numpy as np
side, dtype, threads = int(sys.argv[1]), np.dtype(sys.argv[2]), int(sys.argv[3])
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
#: The function that each code measures.
PROGRAMS = {
    "mstflow": """
import mstflow
def solve(volume):
    return mstflow.minimum_spanning_forest(mstflow.grid(volume), threads=threads, progress=False)
""",
    "Higra": """
import higra
def solve(volume):
    graph = higra.get_6_adjacency_graph(volume.shape)
    weight = higra.weight_graph(graph, volume.ravel().astype("f4"), higra.WeightFunction.L1)
    return higra.bpt_canonical(graph, weight, compute_mst=True)
""",
}


def rows(
    sides: Sequence[int], dtypes: Sequence[str], threads: Sequence[int], rounds: int
) -> Iterator[Row]:
    """Solve volumes of six neighbors with mstflow and, if it is installed, Higra, in turn."""
    cases = []
    for side, dtype, code in itertools.product(sides, dtypes, PROGRAMS):
        if code == "Higra" and (side > HIGRA_SIDE or not is_installed("higra")):
            continue
        sizes = {"voxels": side**3, "edges": 3 * side**2 * (side - 1)}
        for count in threads if code == "mstflow" else (1,):
            touched = max(TOUCHED_BYTES, _TOUCHED_VOXEL * side**3)
            names = {"side": side, "values": dtype, "code": code, "threads": count, **sizes}
            text, size = PROGRAMS[code] + _START, (side, dtype, count)
            cases.append((names, program(text, *size, threads=count, touched=touched)))
    return in_turn(cases, rounds)


BENCHMARK = Benchmark(
    "random volumes of up to 512 voxels along each axis, compared with Higra",
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
