"""Time and memory of mstflow and scipy on one random graph, side by side in one run.

Every measurement is a fresh process on one processor; the solvers take turns, so that a change of
the machine's speed meets all of them. scipy gets its CSR matrix made from the same arrays within
the time, as a user would have to. Usage: python against_scipy.py [--help]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

SOLVERS = (
    "mstflow filter-boruvka",
    "mstflow boruvka-edgelist",
    "mstflow boruvka-csr",
    "scipy",
)


def resident_bytes(field: str) -> int:
    """Return `VmRSS` (now) or `VmHWM` (peak) of this process."""
    status = Path("/proc/self/status").read_text()
    return int(status.split(field + ":")[1].split()[0]) * 1024


def measure(solver: str, folder: str) -> dict[str, float]:
    """Solve once in this process: seconds, peak bytes beyond the input, total weight."""
    u, v, w = (np.load(f"{folder}/{name}.npy") for name in "uvw")
    n = int(max(u.max(), v.max())) + 1
    if solver == "scipy":
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import minimum_spanning_tree
    else:
        import mstflow
    before = resident_bytes("VmRSS")
    start = time.perf_counter()
    if solver == "scipy":
        total = minimum_spanning_tree(coo_array((w, (u, v)), (n, n)).tocsr()).data
    else:
        name = solver.split()[1]
        total = w[mstflow.minimum_spanning_forest((u, v, w), algorithm=name).edge_ids]
    seconds = time.perf_counter() - start
    peak = resident_bytes("VmHWM") - before
    return {"seconds": seconds, "peak": peak, "weight": float(total.sum(dtype=np.float64))}


def main() -> None:
    """Make the graph, let the solvers take turns, print a table and keep the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vertices", type=int, default=1_000_000)
    parser.add_argument("--edges", type=int, default=5_000_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--output", type=Path, help="JSON file for the figures")
    parser.add_argument("--measure", nargs=2, metavar=("SOLVER", "FOLDER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(*options.measure)))
        return
    runs: dict[str, list[dict[str, float]]] = {solver: [] for solver in SOLVERS}
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory() as folder:
        random = np.random.default_rng(0)
        for name in "uv":
            ends = random.integers(0, options.vertices, options.edges, dtype=np.int32)
            np.save(f"{folder}/{name}.npy", ends)
        np.save(f"{folder}/w.npy", random.random(options.edges, dtype=np.float32))
        for _ in range(options.rounds):
            for solver in SOLVERS:
                command = [sys.executable, __file__, "--measure", solver, folder]
                out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
                runs[solver].append(json.loads(out))
    figures = {}
    print(f"{options.vertices} vertices, {options.edges} edges, float32, one thread")
    print(f"{'solver':<26}{'min s':>8}{'median s':>10}{'bytes/edge':>12}{'scipy / it':>12}")
    for solver in SOLVERS:
        seconds = [run["seconds"] for run in runs[solver]]
        pairs = zip(runs["scipy"], runs[solver], strict=True)
        ratio = statistics.median(rival["seconds"] / ours["seconds"] for rival, ours in pairs)
        bytes_per_edge = max(run["peak"] for run in runs[solver]) / options.edges
        figures[solver] = {
            "min_s": round(min(seconds), 4),
            "median_s": round(statistics.median(seconds), 4),
            "peak_bytes_per_edge": round(bytes_per_edge, 1),
            "scipy_ratio": round(ratio, 2),
        }
        print(
            f"{solver:<26}{min(seconds):>8.3f}{statistics.median(seconds):>10.3f}"
            f"{bytes_per_edge:>12.1f}{ratio:>12.2f}"
        )
    weights = {solver: {run["weight"] for run in runs[solver]} for solver in SOLVERS}
    print("total weights:", weights)
    if options.output:
        about = {"vertices": options.vertices, "edges": options.edges, "rounds": options.rounds}
        versions = {"python": platform.python_version(), "numpy": np.__version__}
        record = {**about, **versions, "figures": figures}
        options.output.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
