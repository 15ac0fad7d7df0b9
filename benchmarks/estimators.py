"""HDBSCAN of points, compared with other packages: the second fit in a process.

Every measurement is a fresh process. quitefastmst computes only the tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from .programs import MEMORY, in_turn, is_installed, run
from .runner.solve_one import TOUCHED_BYTES

_START = (
    MEMORY
    + """
import json, sys, time
import numpy as np
n, dims, threads = map(int, sys.argv[1:4])
random = np.random.default_rng(7)
centers = random.uniform(-10, 10, (50, dims))
X = random.normal(size=(n, dims)) + centers[random.integers(0, 50, n)]
def measure(fit):
    fit(X[:2000])
    fit(X[:2000])
    start = time.perf_counter()
    fit(X)
    print(json.dumps({"seconds": time.perf_counter() - start, "peak": memory("VmHWM")}))
"""
)

#: The package and the program of each code.
PROGRAMS = {
    "mstflow": (
        "mstflow",
        "from mstflow.cluster import HDBSCAN\n"
        "HDBSCAN().fit(random.normal(size=(40_000, dims)))\n"  # loads kernels
        "measure(lambda X: HDBSCAN(min_cluster_size=15, min_samples=10).fit(X))\n",
    ),
    "quitefastmst, the tree alone": (
        "quitefastmst",
        "import os\nos.environ['OMP_NUM_THREADS'] = str(threads)\n"
        "import quitefastmst\n"
        "measure(lambda X: quitefastmst.mst_euclid(X, 9))\n",
    ),
    "fast_hdbscan": (
        "fast_hdbscan",
        "from fast_hdbscan import HDBSCAN\n"
        "measure(lambda X: HDBSCAN(min_cluster_size=15, min_samples=10).fit(X))\n",
    ),
    "hdbscan": (
        "hdbscan",
        "from hdbscan import HDBSCAN\n"
        "options = dict(min_cluster_size=15, min_samples=10, approx_min_span_tree=False)\n"
        "measure(lambda X: HDBSCAN(**options, core_dist_n_jobs=threads).fit(X))\n",
    ),
    "scikit-learn": (
        "sklearn",
        "from sklearn.cluster import HDBSCAN\n"
        "options = dict(min_cluster_size=15, min_samples=10, n_jobs=threads, copy=True)\n"
        "measure(lambda X: HDBSCAN(**options).fit(X))\n",
    ),
}


def measure(
    sizes: Sequence[tuple[int, int]],
    threads: int,
    limit: float,
    rounds: int = 1,
    codes: Sequence[str] = tuple(PROGRAMS),
) -> dict[str, Any]:
    """Run all programs in turn on points in 50 clusters.

    `sizes` are numbers of points and of dimensions. Packages that are not installed are skipped.
    Return `rows`: for each size and code, the seconds and the peak bytes of all rounds; null if it
    was stopped after `limit` seconds.
    """
    options: dict[str, Any] = {"threads": threads, "limit": limit, "touched": TOUCHED_BYTES}
    runs = [
        (
            {"points": n, "dimensions": dims, "code": code},
            partial(run, _START + PROGRAMS[code][1], n, dims, threads, **options),
        )
        for n, dims in sizes
        for code in codes
        if is_installed(PROGRAMS[code][0])
    ]
    return {"limit": limit, "rows": in_turn(runs, rounds)}
