"""Measures how fast text graphs are read, in million edges a second, beside pandas if installed."""

from __future__ import annotations

import argparse
import importlib.util
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mstflow.graphs.read import read

if TYPE_CHECKING:
    from collections.abc import Callable

HEADERS = {"arcs.gr": "p sp {n} {m}\n", "tabs.txt": "# tab-separated\n"}
ROWS = {
    "arcs.gr": "a %d %d %d",
    "integers.txt": "%d %d %d",
    "decimals.txt": "%d %d %.5f",
    "tabs.txt": "%d\t%d\t%.5f",
}


def best_of_three(run: Callable[[], object]) -> float:
    """Shortest wall time in seconds."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    """Write each kind of file once, read it three times, and print a line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("edges", type=int, nargs="?", default=4_000_000)
    m = parser.parse_args().edges
    n = max(m // 5, 1)
    rng = np.random.default_rng(0)
    edges = np.column_stack([rng.integers(1, n, (m, 2), endpoint=True), rng.integers(1, 10**6, m)])
    pandas = importlib.import_module("pandas") if importlib.util.find_spec("pandas") else None
    with tempfile.TemporaryDirectory() as folder:
        for name, row in ROWS.items():
            path = Path(folder, name)
            header = HEADERS.get(name, "").format(n=n, m=m)
            path.write_text(header + (row + "\n") * m % tuple(edges.ravel().tolist()))
            rates = {"mstflow": m / best_of_three(lambda p=path: read(p))}
            if pandas:
                options = {"sep": "\t" if "\t" in row else " ", "skiprows": int(name in HEADERS)}
                rates["pandas"] = m / best_of_three(
                    lambda p=path, o=options: pandas.read_csv(p, header=None, **o)
                )
            print(name, *(f"{who} {rate / 1e6:.1f} M edges/s" for who, rate in rates.items()))


if __name__ == "__main__":
    main()
