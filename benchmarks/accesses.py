"""Where the time of `filter-boruvka` goes: seconds, bytes and random accesses of every stage.

A random access is an element read or written at a place that data tell. How many there are, and in
tables of what size, follows from what the stages give to each primitive; with the speed of memory
(`floor.py`) it tells how long they take where no cache helps. What stages do by array operators,
such as to compare both ends of each edge, is not counted. Prints tables in Markdown.
Usage: python accesses.py --graphs E G --threads 1 2 [--output JSON]
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import itertools
import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import floor
import numpy as np
from machine import about, pinned, wait_for_pause

import graphs
from mstflow import algorithm, minimum_spanning_forest
from mstflow.errors import MstflowError
from mstflow.runtime.memory import keeping_blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from mstflow.pipeline.pipeline import Pipeline
    from mstflow.stages import Stage

    Rates = dict[str, Any]
    Row = dict[str, Any]
    Lines = Iterator[tuple[str, ...]]

#: What is looked up, as pairs of a table's elements and the accesses to it, by primitive and its
#: arguments. Where data decide how many there are (roots to find), the fewest possible.
ACCESSES: dict[str, Callable[..., list[tuple[int, int]]]] = {
    "gather": lambda values, index: [(len(values), len(index))],
    "relabel_pairs": lambda label, u, *_: [(len(label), 2 * len(u))],
    # The records of both ends; then, of the pair that each place chose, both members and the id.
    "scatter_min_pairs": lambda u, v, key, ids, size: [(size, 2 * len(u)), (len(u), 3 * size)],
    "cut_mirrors": lambda target, ids: [(len(target), len(target))],
    "pointer_jump": lambda parent: [(len(parent), 2 * len(parent))],
    "number_roots": lambda root: [(len(root), len(root))],
    "sorted_union": lambda arrays: [(len(array), len(array)) for array in arrays],
    "join_in_order": lambda u, v, size: [(size, 2 * len(u) + size)],
    "join_by_key": lambda u, v, key, size: [(size, 2 * len(u) + size)],
}
#: These go from one element to the next; a sort by digits does so at few places at a time.
STREAMS = {"any_signed", "argsort", "compact", "compact_pairs", "count", "maximum", "minimum"}
STREAMS |= {"order_key", "partition"}
TOUCH_NOTHING = {"index_dtype", "arange", "largest"}
SHOWN = 0.05  # of a run's time, to have a line in the table of stages


@dataclasses.dataclass
class Traffic:
    """Bytes of the arrays that primitives took and gave, and accesses by the table's elements."""

    bytes: int = 0
    accesses: Counter[int] = dataclasses.field(default_factory=Counter)

    def seconds(self, rates: Rates) -> float:
        """Return how long it takes at these rates of `floor.rates`."""
        looking_up = sum(
            count * floor.gather_seconds(rates, table) for table, count in self.accesses.items()
        )
        return self.bytes / (rates["read_gb_per_s"] * 1e9) + looking_up


class CountingModule:
    """`module`, adding to `traffic` what each call moves; a view of an argument is not moved."""

    def __init__(self, module: Any, traffic: Traffic) -> None:
        self._module, self._traffic = module, traffic

    def __getattr__(self, name: str) -> Any:
        function = getattr(self._module, name)
        if name in TOUCH_NOTHING:
            return function
        accesses = (lambda *_: []) if name in STREAMS else ACCESSES[name]

        def call(*arguments: Any, **options: Any) -> Any:
            result = function(*arguments, **options)
            if not (name == "order_key" and np.may_share_memory(result, arguments[0])):
                self._traffic.bytes += _bytes((*arguments, result))
            for table, count in accesses(*arguments):
                self._traffic.accesses[table] += count
            return result

        return call


def _bytes(values: Iterable[Any]) -> int:
    return sum(_bytes(v) if isinstance(v, tuple) else getattr(v, "nbytes", 0) for v in values)


def counting(pipeline: Pipeline, traffic: dict[str, Traffic]) -> Pipeline:
    """Return the pipeline with stages that count what they move, by the name of the stage."""

    def wrapped(stage: Stage) -> Stage:
        @functools.wraps(stage.function)
        def function(ops: Any, **fields: Any) -> Any:
            return stage.function(CountingModule(ops, traffic[stage.name]), **fields)

        return dataclasses.replace(stage, function=function)

    for stage in {stage.name: stage for stage in pipeline.stages()}.values():
        if "ops" in stage.injected:
            pipeline = pipeline.replace(stage.name, wrapped(stage))
    return pipeline


def study(
    graph: graphs.Graph, rates: Sequence[Rates], rounds: int, patience: float = 0
) -> list[Row]:
    """Measure each stage with the threads of each of `rates`, which take turns.

    Returns
    -------
    list of dict
        A row for each number of threads and stage: `seconds`, the least of the rounds; `bytes` and
        `accesses` of a round; `memory_seconds`, what these take at the rates.
    """
    rows: dict[tuple[int, str], Row] = {}
    for _ in range(rounds):
        for rate in rates:
            traffic: dict[str, Traffic] = defaultdict(Traffic)
            wait_for_pause(patience)
            with pinned(rate["threads"]):
                found = minimum_spanning_forest(
                    graph[:3],
                    num_vertices=graph.n,
                    algorithm=counting(algorithm("filter-boruvka"), traffic),
                    backend="numba",
                    threads=rate["threads"],
                )
            for stage, seconds in found.report.seconds.items():
                moved, where = traffic[stage], (rate["threads"], stage)
                rows[where] = {
                    "threads": rate["threads"],
                    "stage": stage,
                    "seconds": min(seconds, rows.get(where, {}).get("seconds", seconds)),
                    "bytes": moved.bytes,
                    "accesses": moved.accesses.total(),
                    "memory_seconds": moved.seconds(rate),
                }
    return list(rows.values())


def total(rows: Iterable[Row], column: str, **where: Any) -> float:
    """Add up a column, over the rows that have these values."""
    return sum(row[column] for row in rows if row.items() >= where.items())


def graph_lines(rows: Sequence[Row], edges: Mapping[str, int], threads: Sequence[int]) -> Lines:
    """Yield for each graph and number of threads what an edge costs, all stages together."""
    yield "graph", "T", "bytes", "random accesses", "ms", "at memory's rates, ms", "share"
    for graph, t in itertools.product(edges, threads):
        run = {"graph": graph, "threads": t}
        spent, memory = (total(rows, what, **run) * 1e3 for what in ("seconds", "memory_seconds"))
        moved, looked_up = (
            total(rows, what, **run) / edges[graph] for what in ("bytes", "accesses")
        )
        ms = f"{spent:.0f}", f"{memory:.0f}", f"{memory / spent:.0%}"
        yield graph, f"{t}", f"{moved:.0f}", f"{looked_up:.1f}", *ms


def stage_lines(rows: Sequence[Row], edges: Mapping[str, int], threads: Sequence[int]) -> Lines:
    """Yield for each stage its ms on each graph, by threads, and its random accesses an edge."""
    yield "stage", *edges
    for stage in dict.fromkeys(row["stage"] for row in rows):
        cells, most = [f"`{stage}`"], 0.0
        for graph in edges:
            runs = [{"graph": graph, "threads": t} for t in threads]
            spent = [total(rows, "seconds", stage=stage, **run) for run in runs]
            looked_up = total(rows, "accesses", stage=stage, **runs[0]) / edges[graph]
            ms = " / ".join(f"{each * 1e3:.0f}" for each in spent)
            cells.append(f"{ms} ({looked_up:.1f})" if any(spent) else "-")
            most = max(most, spent[0] / total(rows, "seconds", **runs[0]))
        if most >= SHOWN:
            yield tuple(cells)


def print_markdown(lines: Lines) -> None:
    """Print a table of which the first line is the head."""
    for number, cells in enumerate(lines):
        print("|", " | ".join(cells), "|")
        if number == 0:
            print("|" + "---|" * len(cells))
    print(flush=True)


def main() -> None:
    """Print a table of graphs and one of stages, and keep all rows as JSON if asked to."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--graphs", nargs="+", default=["E"])
    parser.add_argument("--threads", type=int, nargs="+", default=[1])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--patience", type=float, default=0, help="seconds, as for compare.py")
    parser.add_argument("--cache", type=Path, default=graphs.CACHE)
    parser.add_argument("--roads", type=Path, metavar="FILE", help="pace16-NE.gr.xz, for graph N")
    parser.add_argument("--output", type=Path, metavar="JSON")
    options = parser.parse_args()
    wait_for_pause(options.patience)
    rates = [{"threads": t, **floor.rates(t)} for t in options.threads]
    rows: list[Row] = []
    edges = {}
    with keeping_blocks():
        for name in options.graphs:
            try:
                graph = graphs.load(graphs.ensure(name, options.cache, options.roads))
            except MstflowError as error:
                parser.error(str(error))
            found = study(graph, rates, options.rounds, options.patience)
            rows += [{"graph": name, **row} for row in found]
            edges[name] = len(graph.u)
    for lines in graph_lines, stage_lines:
        print_markdown(lines(rows, edges, options.threads))
    if options.output:
        record = {"machine": about(), "floor": rates, "edges": edges, "rows": rows}
        options.output.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
