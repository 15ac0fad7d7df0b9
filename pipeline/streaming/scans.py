"""The upper level: forests of parts of the edge list, merged up a tree; and again on what is left.

An edge that is not in the minimum forest of a part is the heaviest on a cycle there, and so on one
of the whole: only forests have to be merged. Parts are ranges of edge ids and merge with their
neighbours, so positions keep the order of ids and break ties alike at every level.

A part that cannot hold its forest takes its lightest edges only (see `scan`). Then what the whole
has found is the forest up to the least of the parts' cuts; its edges join the vertices to
fragments; and all parts are scanned once more for edges that join two of those, until nothing was
left out. Most graphs are done after two scans, the second of which finds few edges: these are the
two scans of `filter-boruvka`, for graphs that are only ever streamed.

Source: AlgoWiki, "Boruvka's algorithm", the upper level of parallelism; Osipov, Sanders and
Singler, "The Filter-Kruskal Minimum Spanning Tree Algorithm", ALENEX 2009, the filter.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...progress import is_heard, tell
from ...runtime.memory import keeping_blocks
from ..run import scratch
from ..run.combining import reduce_tree
from ..run.partitions import COLUMNS
from ..run.report import Report, StageCall
from ..run.workers import device_errors
from .scan import Scan, merge_forests, scan_part

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from ...graphs.source import EdgeSource
    from ..run.schedulers import Scheduler
    from .checkpoint import Checkpoint
    from .solver import Cut, Solver

#: Edges for each vertex that the first of several scans takes: they are held, so fewer than those
#: of `catalogue.filter_boruvka`.
LIGHT_PER_VERTEX = 1.5
#: The share of the capacity that it aims to fill: which edges are light is estimated from a sample,
#: and a buffer that overflows drops its heavier half.
FILLED = 7 / 8
#: With more edges for each vertex a second scan takes less time than to hold and join all of them.
DENSE = 6


def solve_by_scans(
    solver: Solver,
    parts: list[EdgeSource],
    num_vertices: int,
    *,
    capacity: int,
    several_scans: bool,
    scheduler: Scheduler,
    checkpoint: Checkpoint | None = None,
    split_every: int = 4,
) -> tuple[tuple[NDArray[Any], ...], Report]:
    """Return what the forest has of `COLUMNS`, ascending by edge id, and a report.

    The arrays have memory of their own. Ends and weights come only from a graph that is read once;
    of all others just the ids do.

    Parameters
    ----------
    parts : list of EdgeSource
        In order of edge ids, on `num_vertices` vertices.
    capacity : int
        How many edges a task holds at a time.
    several_scans : bool
        Whether parts may take their lightest edges only. If not, `capacity` must be at least
        twice the number of vertices.
    checkpoint : Checkpoint, optional
        Takes what is found, and has what an earlier run found.
    split_every : int
        How many forests one task merges.

    Notes
    -----
    What it tells of are the edges of a scan, or tasks.

    In the report a round is a level of a tree: scans, then merges. Every scan begins a new one.
    """
    scans = _Scans(solver, scheduler, capacity, several_scans, checkpoint, split_every)
    left: int | None = num_vertices
    with keeping_blocks():
        while left is not None:
            left = scans.take(parts, num_vertices, left)
        found = scheduler.fetch(scans.found)
        if parts[0].is_read_once:  # and so scanned once
            return tuple(column.copy() for column in found), scans.report
        edge_id = np.concatenate(found)
    edge_id.sort(kind="stable")  # what each scan found ascends
    return (edge_id,), scans.report


def hold_forests(
    solver: Solver,
    parts: list[EdgeSource],
    num_vertices: int,
    *,
    capacity: int,
    scheduler: Scheduler,
) -> list[Any]:
    """Return for each part a handle of its table of `COLUMNS`: its forest, or all it has if few."""
    scan = Scan(num_vertices, num_vertices, capacity)
    folder = scheduler.task_folder
    scans = (partial(scan_part, solver, scan, part, folder, None, None) for part in parts)
    return [
        scheduler.submit("local_forest", partial(task, record=None, is_last=False))
        for task in scans
    ]


@dataclass
class _Scans:
    """Scans under way: handles of each vertex's fragment, and of what was found of the forest."""

    solver: Solver
    scheduler: Scheduler
    capacity: int
    several_scans: bool
    checkpoint: Checkpoint | None
    split_every: int
    labels: Any = None
    found: list[Any] = field(default_factory=list)
    report: Report = field(default_factory=Report)

    def take(self, parts: list[EdgeSource], num_vertices: int, num_fragments: int) -> int | None:
        """Scan all parts, and join fragments along the forest of the edges that were taken.

        Returns how many fragments are left to another scan; None if it would find nothing. Scans
        are the leaves of a tree of merges.
        """
        where, folder = self.scheduler, self.scheduler.task_folder
        first_level = 1 + max((call.round for call in self.report.calls), default=-1)
        calls: list[tuple[int, str, int]] = []
        works: list[Any] = []

        def submit(level: int, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
            part = sum(call[0] == level for call in calls)
            is_last = self.split_every**level >= len(parts)
            function = partial(function, record=self._record(level, part), is_last=is_last)
            task = where.submit(name, function, *arguments)
            calls.append((level, name, part))
            works.append(where.outputs(task, len(COLUMNS) + 2)[-1])
            return task

        seen = self._edge_counter(parts)
        scan = partial(scan_part, self.solver, self._begin(parts, num_vertices, num_fragments))
        merge = partial(merge_forests, self.solver, num_fragments, folder)
        leaves = (
            submit(0, "local_forest", partial(scan, part, folder, seen), self.labels)
            for part in parts
        )
        whole = reduce_tree(
            leaves,
            self.split_every,
            lambda level, forests: submit(level, "merge_forests", merge, *forests),
        )
        *columns, cut = where.outputs(whole, len(COLUMNS) + 1)
        join = partial(join_fragments, self.solver, num_fragments, folder)
        joined = where.submit("join_fragments", join, self.labels, columns[0], columns[1], cut)
        self.labels, left = where.outputs(joined, 2)
        self.found += columns if parts[0].is_read_once else columns[-1:]
        *costs, count = where.fetch(self._settle([*works, left], self._task_counter(calls)))
        self.report.calls += [
            StageCall(first_level + level, name, part, work)
            for (level, name, part), work in zip(calls, costs, strict=True)
        ]
        return count  # type: ignore[no-any-return]

    def _begin(self, parts: list[EdgeSource], num_vertices: int, num_fragments: int) -> Scan:
        """Return what all parts of the next scan have in common."""
        scan = Scan(num_vertices, num_fragments, self.capacity, self.several_scans)
        is_dense = sum(part.num_edges or 0 for part in parts) > DENSE * num_vertices
        if self.labels is not None or not self.several_scans or (scan.folds and not is_dense):
            return scan
        return scan._replace(limit=_light_limit(self.solver, parts, num_vertices, self.capacity))

    def _record(self, level: int, part: int) -> tuple[Checkpoint, str] | None:
        """Return where a task of this scan leaves its result."""
        name = f"scan{len(self.found)}-level{level}-{part}"
        return None if self.checkpoint is None else (self.checkpoint, name)

    def _settle(self, handles: list[Any], done: Callable[[int], object] | None = None) -> list[Any]:
        """Compute handles, and keep what later scans need."""
        settled = self.scheduler.settle([*handles, self.labels, *self.found], done)
        self.labels, *self.found = settled[len(handles) :]
        return settled[: len(handles)]

    def _edge_counter(self, parts: list[EdgeSource]) -> Callable[[int], None] | None:
        """Return what counts the edges of a scan, if its tasks can call it."""
        if not self.scheduler.eager:
            return None
        done, total = 0, sum(part.num_edges or 0 for part in parts)
        step = f"scan {len(self.found) + 1}"

        def count(edges: int) -> None:
            nonlocal done
            done += edges
            tell(step, done, max(done, total))

        return count

    def _task_counter(self, calls: list[tuple[int, str, int]]) -> Callable[[int], object] | None:
        """Return what counts the tasks of a tree as they end."""
        if self.scheduler.eager or not is_heard():
            return None
        done = itertools.count(1)

        def count(place: int) -> None:
            if place < len(calls):
                tell(calls[place][1], next(done), len(calls))

        return count


def _light_limit(
    solver: Solver, parts: list[EdgeSource], num_vertices: int, capacity: int
) -> int | None:
    """Return the key up to which edges are light; None if all are, or only a scan could tell."""
    pieces = itertools.chain.from_iterable(part.pieces for part in parts)
    whole = replace(parts[0], pieces=tuple(pieces))
    weights = solver.ops.asarray(whole.sample_weights())
    light = int(min(LIGHT_PER_VERTEX * num_vertices, FILLED * capacity * len(parts)))
    rank = len(weights) * light // max(1, whole.num_edges or 0)
    if rank >= len(weights):
        return None
    return int(solver.ops.partition(solver.keys(weights), rank)[rank])


@device_errors("join_fragments")
def join_fragments(
    solver: Solver,
    num_fragments: int,
    folder: str | None,
    labels: Any,
    u: Any,
    v: Any,
    cut: Cut | None,
) -> tuple[Any, int | None]:
    """Join fragments along the edges of a forest, if it is one up to a cut only.

    Returns
    -------
    labels : index array of length n
        The new fragment of each vertex.
    num_fragments : int
        Both are None if there is no cut: no scan will follow.
    """
    if cut is None:
        return None, None
    solver = solver.here()
    ops = solver.ops
    _, root = ops.join_in_order(*scratch.load((u, v), ops), num_fragments)
    number, left = ops.number_roots(root)
    joined = number if labels is None else ops.gather(number, scratch.load(labels, ops))
    return scratch.store(joined, folder, ops), left
