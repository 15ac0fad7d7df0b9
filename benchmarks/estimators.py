"""HDBSCAN of points, compared with other packages: the second fit in a process.

Every measurement is a fresh process. quitefastmst computes only the tree.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from .measure import Benchmark, Row, in_turn, is_installed, program
from .tables import Table, median, peak

_START = """
import json, sys, time
from benchmarks.memory import memory, reset_peak
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


def rows(
    sizes: Sequence[tuple[int, int]],
    threads: int,
    limit: float,
    rounds: int = 1,
    codes: Sequence[str] = tuple(PROGRAMS),
) -> Iterator[Row]:
    """Run all programs of installed packages in turn on points in 50 clusters.

    `sizes` are numbers of points and of dimensions. A program is stopped after `limit` seconds.
    """
    cases = []
    for (n, dims), code in itertools.product(sizes, codes):
        package, text = PROGRAMS[code]
        if is_installed(package):
            names = {"points": n, "dimensions": dims, "code": code}
            call = program(_START + text, n, dims, threads, threads=threads, limit=limit)
            cases.append((names, call))
    return in_turn(cases, rounds)


#: Figures of programs that may be stopped.
FIGURES = {"s": median(), "peak, MB": peak()}

BENCHMARK = Benchmark(
    "HDBSCAN of points, compared with other packages",
    rows,
    {"sizes": [[20_000, 2], [200_000, 2]], "threads": 2, "limit": 40},
    {"sizes": [[2000, 2]], "codes": ["mstflow", "scikit-learn"]},
    {"estimators": Table(("points", "dimensions", "code"), (), FIGURES)},
    usual=False,  # takes minutes
)
