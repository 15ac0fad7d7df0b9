"""All benchmarks, and the tables of their records by name."""

from __future__ import annotations

from collections.abc import Mapping

from mstflow.errors import OptionError

from . import (
    choices,
    clusters,
    codes,
    estimators,
    files,
    grids,
    papers,
    primitives,
    queries,
    small,
    start,
    work,
    workers,
)
from .device.steps import TABLES as DEVICE_TABLES
from .measure import Benchmark
from .tables import Table

#: The most important come first, because `record` can be stopped and continued later.
SUITE: dict[str, Benchmark] = {
    **codes.BENCHMARKS,
    **primitives.BENCHMARKS,
    "work": work.BENCHMARK,
    "start": start.BENCHMARK,
    "small": small.BENCHMARK,
    "queries": queries.BENCHMARK,
    "files": files.BENCHMARK,
    "clusters": clusters.BENCHMARK,
    "estimators": estimators.BENCHMARK,
    "grids": grids.BENCHMARK,
    "choices": choices.BENCHMARK,
    "workers": workers.BENCHMARK,
}
#: The benchmark of each table that a page can quote, and the table.
TABLES: dict[str, tuple[str, Table]] = {
    **{name: (of, t) for of, each in SUITE.items() for name, t in each.tables.items()},
    **{name: (name, table) for name, table in papers.TABLES.items()},
    **{name: ("device", table) for name, table in DEVICE_TABLES.items()},
}


def named(names: list[str], benchmarks: Mapping[str, Benchmark] = SUITE) -> dict[str, Benchmark]:
    """Return benchmarks by name; without names, the usual ones."""
    if not names:
        return {name: benchmark for name, benchmark in benchmarks.items() if benchmark.usual}
    if unknown := set(names) - set(benchmarks):
        message = f"benchmark {min(unknown)!r} is not known; choose from: {', '.join(benchmarks)}"
        raise OptionError(message)
    return {name: benchmarks[name] for name in names}
