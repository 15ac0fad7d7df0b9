"""The executor: submit the steps of a dataflow as tasks to a scheduler, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import PipelineError
from ..graphs.source import EdgeSource
from ..primitives import Backend, array_module
from ..progress import has_listener, report_progress
from ..runtime.columns import copied
from ..runtime.device import host_array, is_on_device
from ..runtime.scratch import is_mapped
from ..stages import Stage
from ..stages.combine import concatenation
from ..stages.fields import Collected
from .dataflow import Dataflow
from .partitions import chunks_of, with_chunks
from .report.records import Note
from .report.report import Outcome, Report
from .schedulers.scheduler import Scheduler
from .steps import Binding, Compound, Loop, walk
from .tasks import Slot, Task


def execute(
    flow: Dataflow,
    partitions: list[dict[str, Any]],
    shared: dict[str, Any],
    *,
    scheduler: Scheduler,
    backend: Backend,
    split_every: int = 4,
    checkpoint: Callable[[str], Any] | None = None,
) -> Outcome:
    """Run a dataflow and return its result fields and a report.

    `partitions` are the initial fields of each partition, and `shared` those of the whole graph.
    The run removes a field from the dicts in `partitions` when no later step needs it. A task
    combines at most `split_every` results. `checkpoint(name)` returns the record in which the
    task of this name saves its unfinished work.
    """
    flow.check_reads()
    scheduler.begin_run()
    values = initial_fields(flow, shared, len(partitions), backend)
    run = Execution(flow, scheduler, backend, split_every, checkpoint, partitions, values)
    return Outcome(run.results(), run.report)


def initial_fields(
    flow: Dataflow, shared: dict[str, Any], num_partitions: int, backend: Backend
) -> dict[str, Any]:
    """Return the shared fields before the first step: those given, values, and no chosen edges."""
    own = {"num_partitions": num_partitions, "forest": Collected()}
    return {**shared, **flow.values_on(backend.name), **own}


@dataclass
class Execution:
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
    #: Handles of results with numbers for the report; without a handle, Dask may not compute them.
    reported: list[Any] = field(default_factory=list)
    shows_progress: bool = field(default_factory=has_listener)

    @property
    def num_partitions(self) -> int:
        """The number of partitions of the run."""
        return len(self.partitions)

    def results(self) -> dict[str, Any]:
        """Run all steps; return the result fields."""
        initial = ("num_vertices", "num_edges")
        self.counts = {name: self.shared[name] for name in initial if name in self.shared}
        self.report.counts[0] = dict(self.counts)
        for stage, needed in walk(self.flow.steps, frozenset(self.flow.result), self.decide):
            for fields in (*self.partitions, self.shared):
                for name in fields.keys() - needed:
                    del fields[name]
            if isinstance(stage, Binding):
                self.bind(stage)
            else:
                self.apply(stage)
        results = {name: self.gather(name) for name in self.flow.result}
        self.report.final = self.counts
        report_progress("done", self.total, self.total)
        return results

    @property
    def total(self) -> int:
        """The total in progress reports: the number of vertices, of edges to read, or of tasks."""
        if self.flow.moves_edges:
            return int(self.report.counts[0]["num_vertices"])
        return (self.report.counts[0]["num_edges"] or 0) if self.scheduler.eager else self.submitted

    def decide(self, step: Compound, passes: int) -> bool:
        """Return the verdict of a loop or condition; start a new round if a loop continues."""
        verdict = self.gather(next(iter(step.verdict.writes)))
        if not isinstance(verdict, bool):
            raise PipelineError(f"{step.verdict.title}: gave verdict {verdict!r}, not a bool")
        if isinstance(step, Loop) and not verdict:
            if passes == step.rounds:
                raise PipelineError(self.endless(step))
            self.round += 1
            self.report.counts[self.round] = dict(self.counts)
        return bool(verdict)

    def endless(self, step: Compound) -> str:
        """Return the error of a loop that reaches its bound: the counts that its body left."""
        last = self.report.counts[self.round]
        same = [f"{name} {value}" for name, value in self.counts.items() if last.get(name) == value]
        left = f"; the last round did not change {', '.join(same)}" if same else ""
        return f"the loop until {step.verdict.name!r} did not end after {step.rounds} rounds{left}"

    def bind(self, step: Binding) -> None:
        """Give fields further names, without a task."""
        for fields in (*self.partitions, self.shared):
            found = {new: fields[old] for old, new in step.names.items() if old in fields}
            for new in step.names.values():
                if new != step.added:
                    fields.pop(new, None)
                elif new in found:
                    chosen = found[new]
                    chosen = chosen if type(chosen) is Collected else (chosen,)
                    found[new] = Collected((*fields.get(new, ()), *chosen))
            fields.update(found)
        self.shared |= dict.fromkeys(step.new, Collected())

    def apply(self, stage: Stage) -> None:
        """Submit a stage once or for each partition, and the tasks that combine its results."""
        if self.partitions[0].keys().isdisjoint(stage.reads):
            self.keep(stage, [self.shared], [self.submit(stage, self.shared, is_shared=True)])
            return
        combination, is_only = stage.combination, len(self.partitions) == 1
        results: list[Any] = []
        for place, partition in enumerate(self.partitions):
            fields, is_shared = {**self.shared, **partition}, is_only and combination is not None
            share = None if is_only else Fraction(place, len(self.partitions))
            results.append(self.submit(stage, fields, place, is_shared=is_shared, share=share))
            if combination is not None:
                self.combine(combination, results, place)
        self.keep(stage, self.partitions if combination is None else [self.shared], results)

    def combine(self, combination: Stage, results: list[Any], leaf: int) -> None:
        """Combine the latest results, after the result of partition `leaf`."""
        for level, number, size in merges_after(leaf, len(self.partitions), self.split_every):
            parts = [results.pop(-rest) for rest in range(size, 0, -1)]
            if not self.scheduler.eager:
                parts = [Slot(handle) for handle in parts]
            fields = {**self.shared, "parts": Collected(parts)}
            results.append(self.submit(combination, fields, number, level, is_shared=True))

    def submit(
        self,
        stage: Stage,
        fields: dict[str, Any],
        place: int = 0,
        level: int = 0,
        *,
        is_shared: bool,
        share: Fraction | None = None,
    ) -> Any:
        """Submit a call of a stage; return the handle of its result.

        `place` is the number of the partition, or of the combination within its level. For `share`
        see `Scheduler.submit`.
        """
        step = f"{stage.name}-{self.flow.name}-{self.round}-{level}-{place}"
        handles: list[Any] = []
        read = {name: fields[name] for name in stage.reads}
        if not self.scheduler.eager:
            read = {name: self.slots(value, handles) for name, value in read.items()}
        record = None
        if self.checkpoint is not None and "record" in stage.injected:
            record = self.checkpoint(step)
        task = Task(
            stage,
            self.backend,
            read,
            round=self.round,
            partition=place,
            num_partitions=self.num_partitions,
            note=self.scheduler.note,
            is_shared=is_shared,
            is_remote=self.scheduler.is_remote,
            number=self.submitted,
            record=record,
        )
        self.submitted += 1
        return self.start(task, handles, step, share)

    def start(self, task: Task, handles: list[Any], step: str, share: Fraction | None) -> Any:
        """Submit a task to the scheduler."""
        if self.scheduler.eager:
            if self.shows_progress:
                self.report_progress(task.stage.name)
            return self.scheduler.submit(task, key=step)
        # A stage may occur more than once in a round: the number makes the key unique.
        key = f"{step}-{self.submitted}"
        handle = self.scheduler.submit(task, *handles, key=key, share=share)
        if task.is_shared and task.stage.reported:
            self.reported.append(handle)
        return handle

    def slots(self, value: Any, handles: list[Any]) -> Any:
        """Replace handles by positions as `_slots` does, and chunks of a cluster by slots."""
        if not isinstance(value, EdgeSource) or not self.scheduler.is_remote:
            return _slots(value, handles)
        first = len(handles)
        handles += map(self.scheduler.compute, chunks_of(value))
        return with_chunks(value, map(Slot, range(first, len(handles))))

    def keep(self, stage: Stage, places: list[dict[str, Any]], results: list[Any]) -> None:
        """Store in `places` the fields that a stage wrote; "chosen" ones are appended."""
        for fields in (*self.partitions, self.shared):
            for name, declared in stage.writes.items():
                if not declared.is_chosen:
                    fields.pop(name, None)
        for place, (fields, result) in enumerate(zip(places, results, strict=True)):
            for item, (name, declared) in enumerate(stage.writes.items()):
                value = self.written(result, item)
                if stage.is_exchange:
                    value = Collected(self.written(each, item, place) for each in results)
                if declared.is_chosen:
                    value = Collected((*fields.get(name, ()), value))
                fields[name] = value

    def written(self, result: Any, item: int, place: int | None = None) -> Any:
        """Return one field of a task's result; with `place`, its value for this partition."""
        if not self.scheduler.eager:
            return Slot(result, item, place)
        return result[item] if place is None else result[item][place]

    def gather(self, name: str) -> Any:
        """Fetch the value of a field; concatenate those of several partitions."""
        places = [self.shared] if name in self.shared else self.partitions
        handles: list[Any] = []
        slots = [_slots(fields[name], handles) for fields in places]
        results = self.scheduler.gather(
            handles, self.report_progress if self.shows_progress else None
        )
        self.reported.clear()
        for note in sorted(self.scheduler.take_notes(), key=attrgetter("number")):
            self.add(note)
        values = [_filled(slot, results) for slot in slots]
        if len(values) == 1:
            return values[0]
        ops = array_module("numpy" if self.scheduler.is_remote else self.backend)
        return concatenation(ops, [(value,) for value in values])[0]

    def add(self, note: Note) -> None:
        """Add the call of a stage to the report."""
        self.report.calls.append(note.call)
        self.counts |= note.scalars

    def report_progress(self, name: str) -> None:
        """Count a finished task and report progress.

        If rounds run over the edges, report how many vertices were joined. Otherwise, report how
        many tasks finished. With an eager scheduler, each task reports its own progress instead.
        """
        self.finished += 1
        if self.flow.moves_edges:
            left = self.report.counts[self.round]["num_vertices"]
            report_progress(f"round {self.round}: {name}", self.total - left, self.total)
        elif not self.scheduler.eager:
            report_progress(name, self.finished, self.total)


def forest_ids(pipeline: str, forest: Any, first: int, stop: int | None) -> NDArray[np.int64]:
    """Check the edge ids in the field ``forest`` of a run, and return a sorted copy.

    Ids must be at least `first`, and less than `stop` if it is known. A memory-mapped array is
    already sorted, so it is returned without a copy.
    """
    edge_ids = forest if is_on_device(forest) else np.asarray(forest)
    is_set = edge_ids.ndim == 1 and edge_ids.dtype.kind == "i"
    if is_set and not is_mapped(edge_ids):  # an array module may reuse the memory
        edge_ids, ascend = copied(edge_ids, np.int64)
        if not ascend:
            edge_ids, is_set = copied(np.sort(edge_ids), np.int64)
    if is_set and len(edge_ids):
        ends = host_array(edge_ids[:: max(1, len(edge_ids) - 1)]).tolist()
        is_set = first <= ends[0] and (stop is None or ends[-1] < stop)
    if not is_set:
        message = f"pipeline {pipeline!r}: its forest must be an array of edge ids, not {edge_ids}"
        raise PipelineError(message)
    return edge_ids


def merges_after(leaf: int, leaves: int, split_every: int) -> Iterator[tuple[int, int, int]]:
    """Yield the merges that a leaf of a merge tree makes possible: level, place in it, and size.

    Leaves arrive in order. Each merge replaces the latest `size` results by one result, so at most
    `split_every` - 1 results of each level exist at a time.
    """
    level, size = 1, split_every
    while (leaf + 1) % size == 0:
        yield level, leaf // size, split_every
        level, size = level + 1, size * split_every
    if leaf + 1 < leaves:
        return
    level, rest, waiting = 1, leaves, 0
    while rest:  # merge the remaining results of each level with those of the levels below
        rest, left = divmod(rest, split_every)
        waiting += left
        if waiting > 1:
            yield level, rest, waiting
            waiting = 1
        level += 1


def _slots(value: Any, handles: list[Any]) -> Any:
    """Replace the handles of slots in a value by positions in `handles`, and add them to it."""
    if type(value) is Collected:
        return Collected(_slots(each, handles) for each in value)
    if type(value) is not Slot:
        return value
    argument = next((at for at, each in enumerate(handles) if each is value.result), len(handles))
    if argument == len(handles):
        handles.append(value.result)
    return value._replace(result=argument)


def _filled(value: Any, results: list[Any]) -> Any:
    """Replace each slot in a value by its result."""
    if type(value) is Collected:
        return Collected(_filled(each, results) for each in value)
    return value.of(results) if type(value) is Slot else value
