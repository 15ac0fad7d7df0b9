"""Times to read files with mstflow, and with pandas (text), scipy (Matrix Market) or pyarrow.

All files are in the system's cache.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .measure import Benchmark, Row, in_turn, timed
from .tables import Table, rate

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
    """Write m random edges in every format."""
    import pyarrow as pa
    from pyarrow import parquet

    n = max(m // 5, 1)
    rng = np.random.default_rng(0)
    edges = np.column_stack([rng.integers(1, n, (m, 2), endpoint=True), rng.integers(1, 10**6, m)])
    for name, row in ROWS.items():
        header = HEADERS.get(name, "").format(n=n, m=m)
        (folder / name).write_text(header + (row + "\n") * m % tuple(edges.ravel().tolist()))
    table = pa.table(dict(zip(("u", "v", "weight"), edges.T.astype(np.int32), strict=True)))
    parquet.write_table(table, folder / "plain.parquet", use_dictionary=False)
    parquet.write_table(table, folder / "dictionary.parquet")


def readers_of(path: Path) -> dict[str, Callable[[], Any]]:
    """Return the readers of a file, by library."""
    from pyarrow import parquet

    from mstflow.doors.read import read

    readers: dict[str, Callable[[], Any]] = {"mstflow": lambda: read(path)}
    if path.suffix == ".parquet":
        readers["pyarrow"] = lambda: parquet.read_table(path)
    elif path.suffix == ".mtx":
        readers["scipy"] = lambda: read_mtx(path)
    else:
        import pandas

        separator = next(each for each in (",", "\t", " ") if each in ROWS[path.name])
        skipped = int(path.name in HEADERS)
        options = {"sep": separator, "skiprows": skipped, "header": None}
        readers["pandas"] = lambda: pandas.read_csv(path, **options)
    return readers


def read_mtx(path: Path) -> Any:
    """Read a Matrix Market file as a sparse matrix of scipy."""
    from scipy.io import mmread

    with warnings.catch_warnings():  # scipy 1.18 wants `spmatrix`, which older releases lack
        warnings.simplefilter("ignore", DeprecationWarning)
        return mmread(path)


def rows(edges: int, threads: Sequence[int], rounds: int) -> Iterator[Row]:
    """Write a file of each format, and read it with all readers in turn."""
    import pyarrow as pa

    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder), edges)
        for path in sorted(Path(folder).iterdir()):
            for count in threads:
                pa.set_cpu_count(count)
                facts = {"file": path.name, "edges": edges, "threads": count}
                readers = readers_of(path).items()
                cases = [({**facts, "code": code}, timed(read, count)) for code, read in readers]
                yield from in_turn(cases, rounds, warm_ups=1)


BENCHMARK = Benchmark(
    "reading files, compared with pandas, scipy and pyarrow",
    rows,
    {"edges": 2_000_000, "threads": [1, 2], "rounds": 5},
    {"edges": 50, "rounds": 1},
    {"files": Table(("file",), ("code", "threads"), {"": rate()})},
)
