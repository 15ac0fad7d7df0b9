"""The upper level: a forest of each partition, then forests of unions of forests, up a merge tree.

An edge that is not in the minimum forest of a part is the heaviest on a cycle there, and so on one
of the whole: only forests have to be merged. Parts are ranges of edge ids and merge with their
neighbours, so positions keep the order of ids and break ties alike at every level.

Source: AlgoWiki, "Boruvka's algorithm", the upper level of parallelism.
"""

from __future__ import annotations

import itertools
from functools import partial
from typing import TYPE_CHECKING, Any

from ..primitives import array_module
from . import scratch
from .partition import COLUMNS
from .report import Report, StageCall, Work
from .run import run
from .schedulers import Inline

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..primitives import Backend
    from .pipeline import Pipeline
    from .schedulers import Scheduler


def merge_tree(
    pipeline: Pipeline,
    parts: list[Any],
    shared: dict[str, Any],
    *,
    scheduler: Scheduler,
    backend: Backend,
    split_every: int = 4,
    progress: Callable[[str, int, int], None] | None = None,
) -> tuple[Any, Report]:
    """Return the edge ids of the forest, ascending, and a report in levels of the tree.

    Parameters
    ----------
    pipeline : Pipeline
        Finds the whole minimum forest of the edges it is given.
    parts : list
        Handles of the tables of `COLUMNS` of each partition, in order of edge ids.
    shared : dict
        The fields the pipeline starts from beside the edges.
    split_every : int
        How many forests one task merges.
    progress : callable, optional
        Called as ``progress(task, done, total)`` after each task.
    """
    count = _counter(progress, len(parts), split_every)
    solve = partial(local_forest, pipeline, backend, scheduler.task_folder, shared)
    tasks: list[tuple[int, str, int, Any]] = []

    def submit(level: int, name: str, part: int, *tables: Any) -> Any:
        forest = scheduler.submit(name, solve, *tables)
        tasks.append((level, name, part, forest))
        if scheduler.eager:
            count(name)
        return forest

    forests = [submit(0, "local_forest", part, table) for part, table in enumerate(parts)]
    while len(forests) > 1:
        level = tasks[-1][0] + 1
        groups = [forests[i : i + split_every] for i in range(0, len(forests), split_every)]
        forests = [
            submit(level, "merge_forests", part, *group) if len(group) > 1 else group[0]
            for part, group in enumerate(groups)
        ]
    works = [scheduler.outputs(forest, len(COLUMNS) + 1)[-1] for _, _, _, forest in tasks]
    ids = scheduler.outputs(forests[0], len(COLUMNS))[-1]
    done = None if progress is None else lambda place: place and count(tasks[place - 1][1])
    edge_ids, *costs = scheduler.fetch([ids, *works], done)
    calls = [StageCall(*task[:3], work) for task, work in zip(tasks, costs, strict=True)]
    return edge_ids, Report(calls)


def local_forest(
    pipeline: Pipeline, backend: Backend, folder: str | None, shared: dict[str, Any], *tables: Any
) -> tuple[Any, ...]:
    """Return the `COLUMNS` of the forest of the union of `tables`, and the work it took.

    Each table holds `COLUMNS`, perhaps more after them; together they ascend by edge id.
    """
    ops = array_module(backend)
    columns = [
        scratch.load(pieces[0])
        if len(pieces) == 1
        else ops.concatenate([scratch.load(piece) for piece in pieces])
        for pieces in list(zip(*tables, strict=True))[: len(COLUMNS)]
    ]
    u, v, weight, edge_id = columns
    # Positions stand for edge ids: they compare alike and take fewer bits.
    position = ops.iota(len(edge_id), dtype=ops.index_dtype(len(edge_id)))
    found, report = run(
        pipeline,
        [{"u": u, "v": v, "weight": weight, "edge_id": position}],
        dict(shared),
        num_edges=len(edge_id),
        scheduler=Inline(),
        backend=backend,
    )
    chosen = ops.sort(found["forest"])
    forest = (scratch.store(ops.gather(column, chosen), folder) for column in columns)
    works = [call.work for call in report.calls]
    return (*forest, Work(sum(w.seconds for w in works), sum(w.bytes for w in works)))


def _counter(
    progress: Callable[[str, int, int], None] | None, parts: int, split_every: int
) -> Callable[[str], None]:
    """Return what counts the tree's tasks as they end, and tells `progress`."""
    total, width = parts, parts
    while width > 1:
        total += width // split_every + (width % split_every > 1)
        width = -(-width // split_every)
    done = itertools.count(1)

    def count(name: str) -> None:
        if progress is not None:
            progress(name, next(done), total)

    return count
