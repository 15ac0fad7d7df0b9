"""Clusters of scored pairs at ten thresholds, compared with scipy and DuckDB.

Every measurement is a fresh process. Pairs of names are measured from Parquet files to the table of
clusters, numbered pairs from arrays to labels. DuckDB computes the clusters of one threshold, 0.75,
by the recursive query of its documentation; all other programs compute those of ten.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .estimators import FIGURES
from .measure import Benchmark, Row, in_turn, is_installed, program
from .tables import Table

THRESHOLDS = [round(0.5 + 0.05 * step, 2) for step in range(10)]

_START = """
import json, sys, time
from pathlib import Path
from benchmarks.memory import memory, reset_peak
folder, threads = Path(sys.argv[1]), int(sys.argv[2])
at = json.loads(sys.argv[3])
def done(start):
    print(json.dumps({"seconds": time.perf_counter() - start, "peak": memory("VmHWM")}))
"""
_NUMBERED = """
import numpy as np
u, v, w = (np.load(folder / f"{name}.npy") for name in "uvw")
n = int(max(u.max(), v.max())) + 1
"""
#: The package and the program of each task and code; it prints its seconds and its peak memory.
PROGRAMS = {
    ("names, from files", "mstflow"): (
        "mstflow",
        """
start = time.perf_counter()
import mstflow
files = sorted(folder.glob("named-*.parquet"))
options = {"ends": ("record_l", "record_r"), "weight": "score", "memory": "4GB", "threads": threads}
forest = mstflow.minimum_spanning_forest(files, maximum=True, progress=False, **options)
forest.clusters(at).save(folder / "clusters.parquet")
done(start)
""",
    ),
    ("names, from files", "DuckDB, one threshold"): (
        "duckdb",
        """
start = time.perf_counter()
import duckdb
con = duckdb.connect(config={"memory_limit": "4GB", "threads": threads,
                             "temp_directory": str(folder / "spill")})
pairs = f"SELECT record_l a, record_r b FROM '{folder}/named-*.parquet' WHERE score >= {at[5]}"
con.execute(f"CREATE TABLE arcs AS WITH p AS ({pairs}) FROM p UNION ALL SELECT b, a FROM p")
con.execute(f"CREATE TABLE names AS SELECT DISTINCT unnest([record_l, record_r]) AS name "
            f"FROM '{folder}/named-*.parquet'")
con.execute('''CREATE TABLE clusters AS
    WITH RECURSIVE found(name, cluster) USING KEY (name) AS (
        SELECT name, name FROM names
        UNION
        SELECT here.name, min(there.cluster) FROM found AS there
        JOIN arcs ON there.name = arcs.a JOIN recurring.found AS here ON here.name = arcs.b
        WHERE there.cluster < here.cluster GROUP BY here.name
    ) FROM found''')
con.execute(f"COPY clusters TO '{folder}/clusters.parquet'")
done(start)
""",
    ),
    ("numbered, in memory", "mstflow"): (
        "mstflow",
        _NUMBERED
        + """
import mstflow
mstflow.minimum_spanning_forest((u[:10**6], v[:10**6], w[:10**6]), threads=threads)  # loads kernels
start = time.perf_counter()
forest = mstflow.minimum_spanning_forest((u, v, w), maximum=True, threads=threads)
table = forest.clusters(at)
for threshold in at:
    table.labels(threshold)
done(start)
""",
    ),
    ("numbered, in memory", "scipy"): (
        "scipy",
        _NUMBERED
        + """
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
start = time.perf_counter()
for threshold in at:
    kept = w >= threshold
    ends = (u[kept], v[kept])
    connected_components(coo_array((np.ones(len(ends[0]), bool), ends), (n, n)), directed=False)
done(start)
""",
    ),
}


def rows(pairs: int, names: int, threads: int, rounds: int, limit: float = 60) -> Iterator[Row]:
    """Generate pairs, and run all programs of installed packages in turn.

    A program is stopped after `limit` seconds.
    """
    with tempfile.TemporaryDirectory() as folder:
        _write_pairs(Path(folder), pairs, names)
        arguments = (folder, threads, json.dumps(THRESHOLDS))
        cases = []
        for (task, code), (package, text) in PROGRAMS.items():
            if is_installed(package):
                call = program(_START + text, *arguments, threads=threads, limit=limit)
                cases.append(({"task": task, "code": code}, call))
        yield from in_turn(cases, rounds)


def _write_pairs(folder: Path, count: int, names: int) -> None:
    """Write random pairs: most are of nearby records; pairs within groups of four score high."""
    import pyarrow as pa
    from pyarrow import compute, parquet

    random = np.random.default_rng(26)
    numbers = pa.array(random.permutation(names)).cast(pa.string())
    named = compute.binary_join_element_wise(pa.scalar("record-"), numbers, "")
    columns: dict[str, list[Any]] = {"u": [], "v": [], "w": []}
    for file in range(16):
        size = count // 16
        u = random.integers(0, names, size, np.int32)
        near = np.minimum(u // 20 * 20 + random.integers(0, 20, size, np.int32), names - 1)
        v = np.where(random.random(size) < 0.8, near, random.integers(0, names, size, np.int32))
        likely, unlikely = random.beta(8, 2, size), random.beta(2, 6, size)
        score = np.where(u // 4 == v // 4, likely, unlikely).round(4)
        left, right = (named.take(pa.array(end)) for end in (u, v))
        table = pa.table({"record_l": left, "record_r": right, "score": score})
        parquet.write_table(table, folder / f"named-{file:02}.parquet")
        for name, values in zip("uvw", (u, v, score), strict=True):
            columns[name].append(values)
    for name, parts in columns.items():
        np.save(folder / f"{name}.npy", np.concatenate(parts))


BENCHMARK = Benchmark(
    "clusters of 20 million pairs at ten thresholds",
    rows,
    {"pairs": 20_000_000, "names": 5_000_000, "threads": 2, "rounds": 1},
    {"pairs": 1600, "names": 400},
    {"clusters": Table(("task", "code"), (), FIGURES)},
    usual=False,  # takes minutes
)
