"""The executor: takes the steps of a dataflow in order and submits their tasks to a scheduler."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import PipelineError
from ...primitives import array_module
from ...progress import has_listener, report_progress
from ...stages import Stage
from ...stages.combine import concatenation
from ..report.report import Note, Report
from ..steps import Loop
from .partitions import Chunked
from .tasks import Several, Slot, Task, is_reported
from .tree import reduce_tree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...primitives import Backend
    from ..dataflow import Dataflow
    from ..steps import Block, Step
    from .schedulers import Scheduler


class _Item(NamedTuple):
    """A field that lies in the result of a task, known by the scheduler's handle."""

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
    checkpoint: Any = None,
) -> tuple[dict[str, Any], Report]:
    """Run a dataflow and return its result fields and a report.

    Parameters
    ----------
    flow : Dataflow
    partitions : list of dict
        For each partition, the values of the fields that lie in partitions. The dicts are taken
        over: fields are removed from them when no later step needs them.
    shared : dict
        The other fields it starts from.
    split_every : int
        How many partitions' results one task combines.
    checkpoint : Checkpoint, optional
        Gives each task that asks for it a record of its unfinished work.

    Raises
    ------
    PipelineError
        If the steps do not fit together, before any of them runs, or a stage fails. Names it.
    """
    flow.check()
    values = {**shared, **flow.values_on(backend.name), "forest": Several()}
    run = _Run(flow, scheduler, backend, split_every, checkpoint, partitions, values)
    run.counts = {name: shared[name] for name in ("num_vertices", "num_edges") if name in shared}
    run.report.counts[0] = dict(run.counts)
    run.follow(flow.steps, frozenset(flow.result))
    found = [run.gather(run.fields(name)) for name in flow.result]
    run.report.final = run.counts
    report_progress("done", run.total, run.total)
    return dict(zip(flow.result, found, strict=True)), run.report


@dataclass
class _Run:
    """A run in progress: where the fields of each partition and the shared ones are."""

    flow: Dataflow
    scheduler: Scheduler
    backend: Backend
    split_every: int
    checkpoint: Any
    partitions: list[dict[str, Any]]
    shared: dict[str, Any]
    report: Report = field(default_factory=Report)
    counts: dict[str, Any] = field(default_factory=dict)
    round: int = 0
    submitted: int = 0
    finished: int = 0
    #: Results whose scalars the report shows, though no later step may need them.
    reported: list[Any] = field(default_factory=list)

    @cached_property
    def joins_fragments(self) -> bool:
        """Whether rounds over the edges themselves are run, not scans."""
        return any("edges" in stage.writes for stage in self.flow.stages())

    @property
    def total(self) -> int:
        """How many there are of what progress counts: vertices, edges that are read, or tasks."""
        if self.joins_fragments:
            return int(self.report.counts[0]["num_vertices"])
        return (self.report.counts[0]["num_edges"] or 0) if self.scheduler.eager else self.submitted

    def follow(self, steps: tuple[Step, ...], after: frozenset[str]) -> None:
        """Take the steps in order; drop fields that no later step nor `after` needs."""
        for position, step in enumerate(steps):
            needed = needed_before(steps[position + 1 :], after)
            if isinstance(step, Stage):
                self.apply(step)
            elif isinstance(step, Loop):
                again = needed_before((step,), needed)
                while not self.decide(step):
                    self.round += 1
                    self.report.counts[self.round] = dict(self.counts)
                    self.follow(step.steps, again)
            elif self.decide(step):
                self.follow(step.steps, needed)
            for fields in (*self.partitions, self.shared):
                for name in fields.keys() - needed:
                    del fields[name]

    def decide(self, block: Block) -> bool:
        """Return the verdict of a loop or a condition.

        Raises
        ------
        PipelineError
            If it is no bool: a loop may never end.
        """
        self.apply(block.verdict)
        (name,) = block.verdict.writes
        verdict = self.gather([self.shared[name]])
        if not isinstance(verdict, bool):
            message = f"stage {block.verdict.name!r}: gave {verdict!r} as a verdict, not a bool"
            raise PipelineError(message)
        return verdict

    def apply(self, stage: Stage) -> None:
        """Submit a stage: once, or for every partition and then the combination of the results."""
        if self.partitions[0].keys().isdisjoint(stage.reads):
            self.keep(stage, [self.shared], [self.submit(stage, self.shared, is_shared=True)])
            return
        if len(self.partitions) == 1:
            is_shared = stage.combine is not None
            fields = {**self.shared, **self.partitions[0]}
            found = [self.submit(stage, fields, is_shared=is_shared)]
            self.keep(stage, [self.shared] if is_shared else self.partitions, found)
            return
        results = (
            self.submit(stage, {**self.shared, **fields}, partition)
            for partition, fields in enumerate(self.partitions)
        )
        if stage.combine is None:
            self.keep(stage, self.partitions, list(results))
            return

        def combine(level: int, place: int, parts: list[Any]) -> Any:
            return self.submit(stage, self.shared, place, parts, level, is_shared=True)

        self.keep(stage, [self.shared], [reduce_tree(results, self.split_every, combine)])

    def submit(
        self,
        stage: Stage,
        fields: dict[str, Any],
        place: int = 0,
        parts: Sequence[Any] = (),
        level: int = 0,
        *,
        is_shared: bool = False,
    ) -> Any:
        """Submit a call of a stage, or a combination of `parts`; return the handle of its result.

        Parameters
        ----------
        place : int
            Which partition it is for, or which combination of its level.
        """
        name, reads, keeps = stage.name, tuple(stage.reads), "record" in stage.injected
        if parts:
            name, reads, keeps = stage.combine_name, stage.combiner_reads, stage.combiner_keeps
        handles = list(parts)
        step = f"{name}-{self.flow.name}-{self.round}-{level}-{place}"
        task = Task(
            stage,
            self.backend,
            {field: self.slots(fields[field], handles) for field in reads},
            self.round,
            place,
            len(parts),
            self.scheduler.note,
            is_shared,
            self.scheduler.leaves_on_host,
            self.submitted,
            self.checkpoint.record(step) if self.checkpoint and keeps else None,
        )
        self.submitted += 1
        if self.scheduler.eager:
            self.report_progress(name)
        # A stage may stand in a round more than once: the number tells its tasks apart.
        handle = self.scheduler.submit(task, *handles, key=f"{step}-{self.submitted}")
        if is_shared and not self.scheduler.eager and any(map(is_reported, stage.writes.values())):
            self.reported.append(handle)
        return handle

    def slots(self, value: Any, handles: list[Any]) -> Any:
        """Return a value with slots for results, chunks among them; adds to `handles`."""
        if type(value) is not Chunked:
            return _slots(value, handles)
        slots = []
        for chunk in value.chunks:
            handles.append(self.scheduler.compute(chunk.collection))
            slots.append(Slot(len(handles) - 1, 0))
        return value._replace(chunks=tuple(slots))

    def keep(self, stage: Stage, places: list[dict[str, Any]], results: list[Any]) -> None:
        """Note the fields a stage wrote, of each partition or shared; older ones are gone."""
        chosen = {name for name, declared in stage.writes.items() if declared.kind == "chosen"}
        for fields in (*self.partitions, self.shared):
            for name in stage.writes.keys() - chosen:
                fields.pop(name, None)
        for fields, result in zip(places, results, strict=True):
            for item, name in enumerate(stage.writes):
                value = result[item] if self.scheduler.eager else _Item(result, item)
                if name in chosen:
                    value = Several((*fields.get(name, ()), value))
                fields[name] = value

    def fields(self, name: str) -> list[Any]:
        """Return a field: of each partition if it lies there, or else the shared one."""
        if name in self.shared:
            return [self.shared[name]]
        return [fields[name] for fields in self.partitions]

    def gather(self, values: list[Any]) -> Any:
        """Bring a field to the caller; one that lies in partitions is put together."""
        handles: list[Any] = []
        slots = [_slots(value, handles) for value in values]
        results = self.scheduler.gather(handles, self.done if has_listener() else None)
        self.reported.clear()
        for note in sorted(self.scheduler.take_notes(), key=lambda note: note.number):
            self.take(note)
        found = [_filled(slot, results) for slot in slots]
        if len(found) == 1:
            return found[0]
        ops = array_module("numpy" if self.scheduler.leaves_on_host else self.backend)
        return concatenation(ops, [(value,) for value in found])[0]

    def take(self, note: Note) -> None:
        """Add what a task noted to the report."""
        self.report.calls.append(note.call)
        self.counts |= note.scalars

    def done(self, name: str) -> None:
        """Tell that a task has finished."""
        self.finished += 1
        self.report_progress(name)

    def report_progress(self, name: str) -> None:
        """Tell how far the run is: by fragments joined, or by tasks where rounds do not join."""
        if self.joins_fragments:
            left = self.report.counts[self.round]["num_vertices"]
            report_progress(f"round {self.round}: {name}", self.total - left, self.total)
        elif not self.scheduler.eager:
            report_progress(name, self.finished, self.total)


def _slots(value: Any, handles: list[Any]) -> Any:
    """Return a value with slots for the items of results; their handles are added to `handles`."""
    if type(value) is Several:
        return Several(_slots(each, handles) for each in value)
    if type(value) is not _Item:
        return value
    for argument, handle in enumerate(handles):
        if handle is value.handle:
            return Slot(argument, value.item)
    handles.append(value.handle)
    return Slot(len(handles) - 1, value.item)


def _filled(value: Any, results: list[Any]) -> Any:
    """Return a value with the items of results in place of slots."""
    if type(value) is Several:
        return Several(_filled(each, results) for each in value)
    return results[value.argument][value.item] if type(value) is Slot else value


@lru_cache(maxsize=512)
def needed_before(steps: tuple[Step, ...], after: frozenset[str]) -> frozenset[str]:
    """Return the fields that must exist before `steps`, if `after` must exist after them."""
    needed = after
    for step in reversed(steps):
        if isinstance(step, Stage):
            replaced = {name for name, field in step.writes.items() if field.kind != "chosen"}
            needed = needed.difference(replaced).union(step.reads, step.combiner_reads)
        elif isinstance(step, Loop):
            end, again = needed, frozenset[str]()
            for _ in range(2):  # what a pass needs of the one before it shows in the second
                needed = needed_before((step.verdict,), end | needed_before(step.steps, again))
                again = needed
        else:
            needed = needed_before((step.verdict,), needed | needed_before(step.steps, needed))
    return needed
