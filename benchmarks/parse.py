"""Measures how fast files are read, in million edges a second, beside others that read them.

Text beside pandas, Matrix Market beside scipy, Parquet beside pyarrow itself, each file from the
system's cache, codes in turn, the best of all rounds. Usage: python parse.py [EDGES]
[--threads T ...] [--rounds R] [--patience SECONDS] [--output FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from machine import about, pinned, wait_for_pause
from pyarrow import parquet

from mstflow.graphs.read import read

if TYPE_CHECKING:
    from collections.abc import Callable

HEADERS = {
    "arcs.gr": "p sp {n} {m}\n",
    "tabs.txt": "# tab-separated\n",
    "table.csv": "u,v,weight\n",
    "named.csv": "name,source,weight,target\n",
    "matrix.mtx": "%%MatrixMarket matrix coordinate integer general\n{n} {n} {m}\n",
    "floats.mtx": "%%MatrixMarket matrix coordinate real general\n{n} {n} {m}\n",
}
ROWS = {
    "arcs.gr": "a %d %d %d",
    "integers.txt": "%d %d %d",
    "decimals.txt": "%d %d %.5f",
    "tabs.txt": "%d\t%d\t%.5f",
    "table.csv": "%d,%d,%d",
    "named.csv": '"some, name",%d,%d,%d',
    "matrix.mtx": "%d %d %d",
    "floats.txt": "%d %d 0.%d7310495823",  # as many digits as float64 has
    "floats.mtx": "%d %d -%d.7310495823e-07",
}


def write_files(folder: Path, m: int) -> None:
    """Write m random edges in every form."""
    n = max(m // 5, 1)
    rng = np.random.default_rng(0)
    edges = np.column_stack([rng.integers(1, n, (m, 2), endpoint=True), rng.integers(1, 10**6, m)])
    for name, row in ROWS.items():
        header = HEADERS.get(name, "").format(n=n, m=m)
        (folder / name).write_text(header + (row + "\n") * m % tuple(edges.ravel().tolist()))
    table = pa.table(dict(zip(("u", "v", "weight"), edges.T.astype(np.int32), strict=True)))
    parquet.write_table(table, folder / "plain.parquet", use_dictionary=False)
    parquet.write_table(table, folder / "dictionary.parquet")


def rivals(path: Path) -> dict[str, Callable[[], Any]]:
    """Return the readers of a file, by who wrote them."""
    found: dict[str, Callable[[], Any]] = {"mstflow": lambda: read(path)}
    if path.suffix == ".parquet":
        found["pyarrow"] = lambda: parquet.read_table(path)
    elif path.suffix == ".mtx":
        from scipy.io import mmread

        found["scipy"] = lambda: mmread(path)
    else:
        import pandas

        row, skipped = ROWS[path.name], int(path.name in HEADERS)
        mark = next(mark for mark in (",", "\t", " ") if mark in row)
        options = {"sep": mark, "skiprows": skipped, "header": None}
        found["pandas"] = lambda: pandas.read_csv(path, **options)
    return found


def measure(path: Path, m: int, rounds: int, patience: float = 0) -> dict[str, float]:
    """Return the best rate of each reader, in million edges a second."""
    readers = rivals(path)
    seconds: dict[str, list[float]] = {name: [] for name in readers}
    for _ in range(rounds):
        for name, reader in readers.items():
            wait_for_pause(patience)
            start = time.perf_counter()
            reader()
            seconds[name].append(time.perf_counter() - start)
    return {name: round(m / min(times) / 1e6, 2) for name, times in seconds.items()}


def main() -> None:
    """Write each kind of file once, read it in every way, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("edges", type=int, nargs="?", default=4_000_000)
    parser.add_argument("--threads", type=int, nargs="+", default=[os.cpu_count()])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--patience", type=float, default=0, help="seconds, as for compare.py")
    parser.add_argument("--output", help="keep the figures in this file")
    options = parser.parse_args()
    record: dict[str, Any] = {"machine": about(), "edges": options.edges, "rates": []}
    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder), options.edges)
        for threads in options.threads:
            pa.set_cpu_count(threads)
            with pinned(threads):
                for path in sorted(Path(folder).iterdir()):
                    rates = measure(path, options.edges, options.rounds, options.patience)
                    record["rates"].append({"file": path.name, "threads": threads, **rates})
                    shown = ", ".join(f"{who} {rate:.1f}" for who, rate in rates.items())
                    print(f"{path.name}, {threads} threads: {shown} M edges/s", flush=True)
    if options.output:
        Path(options.output).write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
