"""Time and memory from a random volume to the edge ids of its forest, compared with Higra.

Every measurement is a fresh process. Memory is the peak in addition to the volume and the loaded
code. It includes the result.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import partial
from typing import Any

from .programs import MEMORY, in_turn, is_installed, run
from .runner.solve_one import TOUCHED_BYTES

#: Bytes for each voxel: more than the volume and its solution by mstflow take.
_TOUCHED_VOXEL = 24

_START = (
    MEMORY
    + """
import contextlib, json, sys, time
import numpy as np
side, dtype, threads = int(sys.argv[1]), np.dtype(sys.argv[2]), int(sys.argv[3])
random = np.random.default_rng(27)
shape = side, side, side
if dtype.kind == "f":
    volume = random.random(shape, dtype)
else:
    volume = random.integers(0, np.iinfo(dtype).max, shape, dtype, endpoint=True)
solve(np.ascontiguousarray(volume[:160, :160, :160]))  # loads the kernels of larger volumes
with contextlib.suppress(OSError):  # or the peak may be that of loading
    Path("/proc/self/clear_refs").write_text("5")
before, start = memory("VmRSS"), time.perf_counter()
solve(volume)
seconds = time.perf_counter() - start
print(json.dumps({"seconds": seconds, "bytes": (memory("VmHWM") - before) / volume.size}))
"""
)

#: The largest side that Higra solves, because it takes ten times as long.
HIGRA_SIDE = 128
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


def measure(
    sides: Sequence[int], dtypes: Sequence[str], threads: Sequence[int], rounds: int
) -> dict[str, Any]:
    """Solve volumes of six neighbors with mstflow and, if it is installed, Higra, in turn.

    Return `rows`: for each volume, code and number of threads, the edges, and the seconds and bytes
    for each voxel of all rounds.
    """
    runs = []
    for side, dtype, code in itertools.product(sides, dtypes, PROGRAMS):
        if code == "Higra" and (side > HIGRA_SIDE or not is_installed("higra")):
            continue
        for count in threads if code == "mstflow" else (1,):
            about = {"side": side, "dtype": dtype, "code": code, "threads": count}
            touched = max(TOUCHED_BYTES, _TOUCHED_VOXEL * side**3)
            program = partial(run, PROGRAMS[code] + _START, side, dtype, count)
            measured = partial(program, threads=count, touched=touched)
            runs.append(({**about, "edges": 3 * side**2 * (side - 1)}, measured))
    return {"rows": in_turn(runs, rounds)}
