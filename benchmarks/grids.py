"""Random volumes from an array to the edge ids of the forest, beside Higra.

Every measurement is a fresh process. Memory is the peak beyond the volume and the loaded code. It
includes the result.
"""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from .machine import pinned
from .runner.solve_one import TOUCHED_BYTES, touch_memory

if TYPE_CHECKING:
    from collections.abc import Sequence

#: More bytes than the volume, and the memory of its solution by mstflow, take for each voxel.
_TOUCHED_VOXEL = 24

_START = """
import contextlib, json, sys, time
from pathlib import Path
import numpy as np
side, dtype, threads = int(sys.argv[1]), np.dtype(sys.argv[2]), int(sys.argv[3])
random = np.random.default_rng(27)
shape = side, side, side
if dtype.kind == "f":
    volume = random.random(shape, dtype)
else:
    volume = random.integers(0, np.iinfo(dtype).max, shape, dtype, endpoint=True)
def memory(name):  # the peak of `getrusage` may be the parent's
    return 1024 * int(Path("/proc/self/status").read_text().split(name)[1].split()[0])
solve(np.ascontiguousarray(volume[:160, :160, :160]))  # loads the kernels of larger volumes
with contextlib.suppress(OSError):  # or the peak may be that of loading
    Path("/proc/self/clear_refs").write_text("5")
before, start = memory("VmRSS:"), time.perf_counter()
solve(volume)
seconds = time.perf_counter() - start
print(json.dumps({"seconds": seconds, "bytes": (memory("VmHWM:") - before) / volume.size}))
"""

#: The function that each code measures. The package of a code has its name in lower case.
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
    sides: Sequence[int] = (128, 256, 512),
    dtypes: Sequence[str] = ("uint8", "float32"),
    threads: Sequence[int] = (1, 2),
    most: int = 128,
    rounds: int = 3,
) -> dict[str, Any]:
    """Solve volumes of six neighbors with all codes that are installed, in turn.

    Parameters
    ----------
    sides : sequence of int
        Voxels along each axis.
    most : int
        The largest side for codes other than mstflow, which take ten times as long.

    Returns
    -------
    dict
        `rows`: for each volume, code and number of threads, the edges, and the seconds and bytes
        for each voxel of all rounds.
    """
    rows: dict[tuple[Any, ...], list[Any]] = {}
    for _ in range(rounds):
        for side in sides:
            for dtype in dtypes:
                for code in PROGRAMS:
                    if code != "mstflow" and (side > most or find_spec(code.lower()) is None):
                        continue
                    for count in threads if code == "mstflow" else (1,):
                        with pinned(count):
                            found = _run(code, side, dtype, count)
                        rows.setdefault((side, dtype, code, count), []).append(found)
    names = "side", "dtype", "code", "threads"
    return {
        "rows": [
            {
                **dict(zip(names, key, strict=True)),
                "edges": 3 * key[0] ** 2 * (key[0] - 1),
                "rounds": found,
            }
            for key, found in rows.items()
        ]
    }


def _run(code: str, side: int, dtype: str, threads: int) -> dict[str, float]:
    """Return the seconds and the bytes for each voxel of one run."""
    program = PROGRAMS[code] + _START
    command = [sys.executable, "-W", "ignore", "-c", program, str(side), dtype, str(threads)]
    touch_memory(max(TOUCHED_BYTES, _TOUCHED_VOXEL * side**3))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found
