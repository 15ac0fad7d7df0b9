"""The executor: submit the steps of a dataflow as tasks to a scheduler, in order."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import PipelineError
from ..graphs.source import EdgeSource
from ..primitives import Backend, array_module
from ..progress import has_listener, report_progress
from ..runtime.device import host_array, is_on_device
from ..runtime.scratch import is_mapped
from ..runtime.team import copied
from ..stages.combine import concatenation
from .partitions import chunks_of, with_chunks
from .report.report import Report
from .steps import Compound, Loop, walk
from .tasks import Collected, Slot, Task

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from ..stages import Stage
    from .dataflow import Dataflow
    from .schedulers.scheduler import Scheduler


class _Item(NamedTuple):
    """One field of a task's result; the scheduler holds the result."""

    handle: Any
    item: int


def execute(
    flow: Dataflow,
    partitions: list[dict[str, Any]],
    shared: dict[str, Any],
    *,
    scheduler: Scheduler,
    backend: Backend,
    split_every: int = 4,
    checkpoint: Callable[[str], Any] | None = None,
) -> tuple[dict[str, Any], Report]:
    """Run a dataflow and return its result fields and a report.

    `partitions` are the initial fields of each partition, and `shared` those of the whole graph.
    The run removes a field from these dicts when no later step needs it. A task combines at most
    `split_every` results. A `checkpoint` returns the record of a task that saves its work, by name.
    """
    flow.check()
    values = {**shared, **flow.values_on(backend.name), "forest": Collected()}
    run = _Run(flow, scheduler, backend, split_every, checkpoint, partitions, values)
    run.counts = {name: shared[name] for name in ("num_vertices", "num_edges") if name in shared}
    run.report.counts[0] = dict(run.counts)
    for stage, needed in walk(flow.steps, frozenset(flow.result), run.decide):
        for fields in (*partitions, values):
            keep_only(needed, fields)
        run.apply(stage)
    found = {name: run.gather(name) for name in flow.result}
    run.report.final = run.counts
    report_progress("done", run.total, run.total)
    return found, run.report


@dataclass
class _Run:
    """The state of a run: the fields of each partition, the shared fields, and the report."""

    flow: Dataflow
    scheduler: Scheduler
    backend: Backend
    split_every: int
    checkpoint: Callable[[str], Any] | None
    partitions: list[dict[str, Any]]
    shared: dict[str, Any]
    report: Report = field(default_factory=Report)
    counts: dict[str, Any] = field(default_factory=dict)
    round: int = 0
    submitted: int = 0
    finished: int = 0
    #: Results kept alive for the report, even if no later step needs them.
    reported: list[Any] = field(default_factory=list)

    @property
    def total(self) -> int:
        """The total in progress reports: the number of vertices, of edges to read, or of tasks."""
        if self.flow.moves_edges:
            return int(self.report.counts[0]["num_vertices"])
        return (self.report.counts[0]["num_edges"] or 0) if self.scheduler.eager else self.submitted

    def decide(self, step: Compound) -> Any:
        """Return the verdict of a loop or condition; start a new round if a loop continues."""
        verdict = self.gather(next(iter(step.verdict.writes)))
        if isinstance(step, Loop) and not verdict:
            self.round += 1
            self.report.counts[self.round] = dict(self.counts)
        return verdict

    def apply(self, stage: Stage) -> None:
        """Submit a stage once or for each partition, and the tasks that combine its results."""
        if self.partitions[0].keys().isdisjoint(stage.reads):
            self.keep(stage, [self.shared], [self.submit(stage, self.shared)])
            return
        count, combines = len(self.partitions), stage.combine is not None
        results: list[Any] = []
        for place, partition in enumerate(self.partitions):
            results.append(self.submit(stage, {**self.shared, **partition}, place))
            for level, number, size in joins_after(place, count, self.split_every, combines):
                parts = [results.pop(-rest) for rest in range(size, 0, -1)]
                results.append(self.submit(stage, self.shared, number, parts, level))
        self.keep(stage, [self.shared] if combines else self.partitions, results)

    def submit(
        self, stage: Stage, fields: dict[str, Any], place: int = 0, parts: Any = (), level: int = 0
    ) -> Any:
        """Submit a call of a stage, or a combination of `parts`; return the handle of its result.

        `place` is the number of the partition, or of the combination within its level.
        """
        name, reads, keeps = stage.name, tuple(stage.reads), "record" in stage.injected
        if parts:
            name, reads, keeps = stage.combine_name, stage.combiner_reads, stage.combiner_keeps
        is_only = len(self.partitions) == 1 and stage.combine is not None
        is_shared = fields is self.shared or is_only
        handles = list(parts)
        step = f"{name}-{self.flow.name}-{self.round}-{level}-{place}"
        task = Task(
            stage,
            self.backend,
            {field: self.slots(fields[field], handles) for field in reads},
            round=self.round,
            partition=place,
            parts=len(parts),
            note=self.scheduler.note,
            is_shared=is_shared,
            leaves_on_host=self.scheduler.is_remote,
            number=self.submitted,
            record=self.checkpoint(step) if self.checkpoint and keeps else None,
        )
        self.submitted += 1
        if self.scheduler.eager:
            if has_listener():
                self.report_progress(name)
            return self.scheduler.submit(task, *handles, key=step)
        # A stage may occur more than once in a round: the number makes the key unique.
        handle = self.scheduler.submit(task, *handles, key=f"{step}-{self.submitted}")
        if is_shared and any(field.is_reported for field in stage.writes.values()):
            self.reported.append(handle)
        return handle

    def slots(self, value: Any, handles: list[Any]) -> Any:
        """Replace results by slots as `_slots` does, and also chunks that a cluster computes."""
        if self.scheduler.eager:  # results are values, not handles
            return value
        if not isinstance(value, EdgeSource) or not self.scheduler.is_remote:
            return _slots(value, handles)
        first = len(handles)
        handles += map(self.scheduler.compute, chunks_of(value))
        return with_chunks(value, [Slot(at, 0) for at in range(first, len(handles))])

    def keep(self, stage: Stage, places: list[dict[str, Any]], results: list[Any]) -> None:
        """Store in `places` the fields that a stage wrote; drop their older values everywhere."""
        for fields in (*self.partitions, self.shared):
            for name, declared in stage.writes.items():
                if declared.kind != "chosen":
                    fields.pop(name, None)
        for fields, result in zip(places, results, strict=True):
            if not self.scheduler.eager:
                result = [_Item(result, item) for item in range(len(stage.writes))]
            store(fields, stage, result)

    def gather(self, name: str) -> Any:
        """Fetch the value of a field; concatenate those of several partitions."""
        places = [self.shared] if name in self.shared else self.partitions
        handles: list[Any] = []
        slots = [_slots(fields[name], handles) for fields in places]
        results = self.scheduler.gather(handles, self.report_progress if has_listener() else None)
        self.reported.clear()
        for note in sorted(self.scheduler.take_notes(), key=lambda note: note.number):
            self.report.calls.append(note.call)
            self.counts |= note.scalars
        found = [_filled(slot, results) for slot in slots]
        if len(found) == 1:
            return found[0]
        ops = array_module("numpy" if self.scheduler.is_remote else self.backend)
        return concatenation(ops, [(value,) for value in found])[0]

    def report_progress(self, name: str) -> None:
        """Count a task; report the number of joined vertices if stages move edges, or of tasks.

        With an eager scheduler, the tasks report instead.
        """
        self.finished += 1
        if self.flow.moves_edges:
            left = self.report.counts[self.round]["num_vertices"]
            report_progress(f"round {self.round}: {name}", self.total - left, self.total)
        elif not self.scheduler.eager:
            report_progress(name, self.finished, self.total)


def forest_ids(pipeline: str, found: Any, first: int, stop: int | None) -> NDArray[np.int64]:
    """Return a sorted copy of the edge ids in the field ``forest`` of a run.

    Ids must be at least `first`, and less than `stop` if it is known. Ids in a file are not copied.
    """
    edge_ids = found if is_on_device(found) else np.asarray(found)
    is_set = edge_ids.ndim == 1 and edge_ids.dtype.kind == "i"
    if is_set and not is_mapped(edge_ids):  # an array module may reuse the memory
        edge_ids, ascend = copied(edge_ids, np.int64)
        if not ascend:
            edge_ids, is_set = copied(np.sort(edge_ids), np.int64)
    if is_set and len(edge_ids):
        ends = host_array(edge_ids[:: max(1, len(edge_ids) - 1)]).tolist()
        is_set = first <= ends[0] and (stop is None or ends[-1] < stop)
    if not is_set:
        message = f"pipeline {pipeline!r}: its forest is not a set of edge ids: {edge_ids}"
        raise PipelineError(message)
    return edge_ids


def joins_after(
    leaf: int, leaves: int, split_every: int, combines: bool = True
) -> Iterator[tuple[int, int, int]]:
    """Yield the joins of a merge tree that follow a leaf: level, number in the level, and size.

    Leaves arrive in order. Each join replaces the latest results by one result, so at most
    `split_every` - 1 results of each level exist at a time.
    """
    if not combines:
        return
    level, size = 1, split_every
    while (leaf + 1) % size == 0:
        yield level, leaf // size, split_every
        level, size = level + 1, size * split_every
    if leaf + 1 < leaves:
        return
    level, rest, waiting = 1, leaves, 0
    while rest:  # join the remaining results of each level with those of the levels below
        rest, left = divmod(rest, split_every)
        waiting += left
        if waiting > 1:
            yield level, rest, waiting
            waiting = 1
        level += 1


def keep_only(needed: frozenset[str], fields: dict[str, Any]) -> None:
    """Drop the fields that no later step needs."""
    for name in [name for name in fields if name not in needed]:
        del fields[name]


def store(fields: dict[str, Any], stage: Stage, written: Sequence[Any]) -> None:
    """Store the fields that a stage wrote; add `Chosen` edges to earlier ones."""
    for (name, declared), value in zip(stage.writes.items(), written, strict=True):
        is_chosen = declared.kind == "chosen"
        fields[name] = Collected((*fields.get(name, ()), value)) if is_chosen else value


def _slots(value: Any, handles: list[Any]) -> Any:
    """Replace each result in a value by a slot, and append its handle to `handles`."""
    if type(value) is Collected:
        return Collected(_slots(each, handles) for each in value)
    if type(value) is not _Item:
        return value
    argument = next((at for at, each in enumerate(handles) if each is value.handle), len(handles))
    if argument == len(handles):
        handles.append(value.handle)
    return Slot(argument, value.item)


def _filled(value: Any, results: list[Any]) -> Any:
    """Replace each slot in a value by its result."""
    if type(value) is Collected:
        return Collected(_filled(each, results) for each in value)
    return results[value.argument][value.item] if type(value) is Slot else value
