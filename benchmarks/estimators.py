"""HDBSCAN of points beside other packages: the second fit in a process, without compiling.

Every measurement is a fresh process. "quitefastmst" is the tree alone: it has no clusters.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from .clusters import run_program
from .machine import pinned

if TYPE_CHECKING:
    from collections.abc import Sequence

_START = """
import json, sys, time, warnings
from pathlib import Path
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
    seconds = time.perf_counter() - start
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    print(json.dumps({"seconds": seconds, "peak": 1024 * int(status["VmHWM"].split()[0])}))
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


def measure(
    sizes: Sequence[tuple[int, int]] = ((20_000, 2), (200_000, 2), (20_000, 64)),
    threads: int = 2,
    rounds: int = 1,
    limit: float = 100,
    codes: Sequence[str] = tuple(PROGRAMS),
) -> dict[str, Any]:
    """Run all programs in turn on points in 50 clusters.

    Parameters
    ----------
    sizes : sequence of (int, int)
        Numbers of points and of dimensions.
    limit : float
        Seconds after which a process is stopped.
    codes : sequence of str
        Those that are not installed are left out.

    Returns
    -------
    dict
        `rows`: for each size and code, the seconds and the peak bytes of all rounds; null if it was
        stopped.
    """
    rows = []
    with pinned(threads):
        for n, dims in sizes:
            for code in codes:
                package, program = PROGRAMS[code]
                if find_spec(package) is None:
                    continue
                text = _START + program
                arguments = [text, str(n), str(dims), str(threads)]
                found = [run_program(arguments, limit) for _ in range(rounds)]
                rows.append({"points": n, "dimensions": dims, "code": code, "rounds": found})
    return {"limit": limit, "rows": rows}
