"""The executor of ranks: each rank runs all steps of a dataflow on its partition.

Ranks need no scheduler between two steps. A rank calls the stages that read its partition, and also
those that read only shared fields, which are the same in all ranks. So all ranks take the same
decisions, and exchange values at the same steps.

A result of a stage that is combined goes to all ranks, and each combines the results. Numbers wait
until a later step reads them, or until the next exchange, with which they travel. Chosen edges are
not sent: each rank keeps its own until the end.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, cast

import dask
import numpy as np

from ...errors import LostWorkerError
from ...primitives import Backend, array_module
from ...progress import Listener, has_listener, report_progress, set_listener
from ...runtime.memory import keeping_blocks
from ...stages import Stage
from ...stages.fields import AMOUNT, CHOSEN, COUNT, LIMIT, NUMBER, VERDICT, Collected
from ..dataflow import Dataflow
from ..execute import Execution, initial_fields
from ..partitions import chunks_of, with_chunks
from ..report.records import Note, StageCall
from ..report.report import Outcome, Report
from ..schedulers.dask_schedulers import Cluster
from ..schedulers.scheduler import Inline, Scheduler, add_place, worker_backend
from ..steps import Binding, Compound
from ..streaming.checkpoint import Record
from ..tasks import on_host
from .actors import run_actors
from .save_points import Exchange, SavePoint, SavePoints

#: The kinds of fields whose values can wait for an exchange.
_WAITING = {AMOUNT, CHOSEN, COUNT, NUMBER, LIMIT, VERDICT}


class RankOutcome(NamedTuple):
    """The results of a rank: fields, a report, and the numbers and calls of its tasks."""

    fields: tuple[Any, ...]
    report: Report
    calls: list[tuple[int, StageCall]]


@dataclass
class RankExecution(Execution):
    """The state of one of several ranks. Its only partition is that of the rank."""

    rank: int = 0
    ranks: int = 1
    send: Exchange = list
    #: The stages whose results wait to be combined, with the results of this rank.
    waiting: list[tuple[Stage, tuple[Any, ...]]] = field(default_factory=list)
    calls: list[tuple[int, StageCall]] = field(default_factory=list)
    saves: SavePoints | None = None
    #: The save point up to which this run repeats verdicts, and calls no stages after the first.
    resumed: SavePoint | None = None
    verdicts: list[bool] = field(default_factory=list)
    #: The fields that stages have written since the first verdict.
    changed: set[str] = field(default_factory=set)
    #: Whether all ranks have said, at the last exchange, that there is enough work to save.
    is_due: bool = False

    @property
    def num_partitions(self) -> int:
        """The number of ranks."""
        return self.ranks

    def decide(self, step: Compound, passes: int) -> bool:
        """Return a verdict; save or restore the state of the run after it."""
        if self.resumed is not None:
            self.verdicts.append(self.resumed.verdicts[len(self.verdicts)])
            if len(self.verdicts) == len(self.resumed.verdicts):
                self.restore(self.resumed)
            return self.verdicts[-1]
        self.verdicts.append(super().decide(step, passes))
        if self.saves is not None and self.is_due:
            self.save(self.saves)
        return self.verdicts[-1]

    def save(self, saves: SavePoints) -> None:
        """Save the fields that have changed since the first verdict."""
        self.settle()
        ops = array_module(self.backend)
        shared, partition = (
            {name: on_host(ops, place[name]) for name in self.changed & place.keys()}
            for place in (self.shared, self.partitions[0])
        )
        before = tuple(self.report.counts.values())
        position = tuple(self.verdicts), shared, partition, self.round, self.counts, before
        saves.save(SavePoint(*position))
        self.is_due = False

    def restore(self, point: SavePoint) -> None:
        """Replace the fields by those of a save point."""
        self.settle()
        self.changed = point.shared.keys() | point.partition.keys()
        for place, saved in ((self.shared, point.shared), (self.partitions[0], point.partition)):
            for name in self.changed & place.keys():
                del place[name]
            place.update(saved)
        self.round, self.counts = point.round, point.counts
        self.report.counts = dict(enumerate(point.counts_before))
        self.resumed = None

    @property
    def is_skipping(self) -> bool:
        """Whether a save point replaces the results of the next stage."""
        return self.resumed is not None and bool(self.verdicts)

    def bind(self, step: Binding) -> None:
        """Give fields further names."""
        if self.is_skipping:
            return
        self.settle()
        self.changed.update(step.names.values(), step.new)
        super().bind(step)

    def apply(self, stage: Stage) -> None:
        """Call a stage; combine or exchange its results."""
        if self.is_skipping:
            return
        if self.verdicts:
            self.changed.update(stage.writes)
        self.settle({*stage.reads, *stage.writes, *stage.combiner_reads})
        partition = self.partitions[0]
        is_shared = partition.keys().isdisjoint(stage.reads)
        fields = self.shared if is_shared else {**self.shared, **partition}
        written = self.submit(stage, fields, 0 if is_shared else self.rank, is_shared=is_shared)
        if is_shared:
            self.keep(stage, [self.shared], [self.own(stage, written, is_own=self.rank == 0)])
        elif stage.is_exchange:
            self.keep_received(stage, self.exchange([*zip(*written, strict=True)]))
        elif stage.combination is None:
            self.keep(stage, self.partitions, [written])
        elif {written.kind for written in stage.writes.values()} <= _WAITING:
            self.waiting.append((stage, written))
        else:
            self.combine_all(stage, self.exchange([written] * self.ranks))

    def own(self, stage: Stage, written: tuple[Any, ...], *, is_own: bool) -> tuple[Any, ...]:
        """Return what a stage wrote; without the chosen edges if they belong to another rank."""
        if is_own:
            return written
        return tuple(
            value[:0] if declared.is_chosen else value
            for declared, value in zip(stage.writes.values(), written, strict=True)
        )

    def keep_received(self, stage: Stage, received: list[Any]) -> None:
        """Store the values that all ranks sent to this one."""
        for name, values in zip(stage.writes, zip(*received, strict=True), strict=True):
            self.shared.pop(name, None)
            self.partitions[0][name] = Collected(values)

    def combine_all(self, stage: Stage, parts: list[Any]) -> None:
        """Combine the results of all ranks."""
        combination = stage.combination
        if combination is None:
            return
        fields = {**self.shared, "parts": Collected(parts)}
        combined = self.submit(combination, fields, level=1, is_shared=True)
        self.keep(stage, [self.shared], [combined])

    def settle(self, names: set[str] | None = None) -> None:
        """Combine the waiting results if one of them is a field of these names, or any field."""
        late = {name for stage, _ in self.waiting for name in stage.writes}
        if late if names is None else late & names:
            self.exchange([None] * self.ranks)

    def exchange(self, values: list[Any]) -> list[Any]:
        """Exchange values, and with them the results that wait to be combined."""
        waiting, self.waiting = self.waiting, []
        is_due = self.saves is not None and self.saves.is_due
        ops = array_module(self.backend)
        messages: list[Any] = []
        for rank, value in enumerate(values):
            numbers = tuple(self.own(*each, is_own=rank == self.rank) for each in waiting)
            message = (value, numbers, is_due)
            messages.append(message if rank == self.rank else on_host(ops, message))
        received = self.send(messages)
        for place, (stage, _) in enumerate(waiting):
            self.combine_all(stage, [numbers[place] for _, numbers, _ in received])
        self.is_due = all(is_due for *_, is_due in received)
        return [value for value, *_ in received]

    def gather(self, name: str) -> Any:
        """Return the value of a field in this rank."""
        self.settle({name})
        return super().gather(name)

    def add(self, note: Note) -> None:
        """Add the call of a stage to the report; the first rank reports shared stages."""
        if note.call.part == self.rank or self.rank == 0:
            super().add(note)
            self.calls.append((note.number, note.call))


def run_rank(
    send: Exchange,
    *chunks: Any,
    flow: Dataflow,
    backend: Backend,
    shared: dict[str, Any],
    partition: dict[str, Any],
    rank: int,
    ranks: int,
    listener: Listener | None,
    idle_memory: int | None,
    records: Sequence[Record],
) -> RankOutcome:
    """Run a dataflow as one of several ranks, on a worker; `chunks` are those of its source.

    With `records`, save the state from time to time, and resume from what other runs have saved.
    """
    try:
        saves = SavePoints([*records]) if records else None
        backend = worker_backend(backend)
        partition = {**partition, "source": with_chunks(partition["source"], chunks)}
        with set_listener(listener or False), keeping_blocks(most=idle_memory):
            run = RankExecution(
                flow,
                Inline(backend.threads),
                backend,
                2,
                None,
                [partition],
                initial_fields(flow, shared, ranks, backend),
                rank=rank,
                ranks=ranks,
                send=send,
                saves=saves,
                resumed=None if saves is None else saves.last(send, ranks),
            )
            fields = on_host(array_module(backend), tuple(run.results().values()))
        return RankOutcome(fields, run.report, run.calls)
    except Exception as error:
        add_place(error, flow.name, on_cluster=True)
        raise


def execute_on_ranks(
    flow: Dataflow,
    partitions: Callable[[], list[dict[str, Any]]],
    shared: dict[str, Any],
    *,
    scheduler: Scheduler,
    backend: Backend,
    checkpoint: Callable[[str], Record] | None = None,
) -> Outcome:
    """Run a dataflow with a rank for each partition; return its result fields and a report.

    A result is an array, and each rank returns its share. `partitions` returns the initial fields
    of each partition. With a `checkpoint`, the run starts again if a worker dies, as often as Dask
    would start a task again, and resumes from the last save point.
    """
    flow.check_reads()
    cluster = cast(Cluster, scheduler)
    for restarts in itertools.count():
        cluster.begin_run()
        try:
            if restarts:
                cluster.count_workers()
            calls, inputs = _ranks(flow, partitions(), shared, cluster, backend, checkpoint)
            outcomes: list[RankOutcome] = run_actors(cluster, flow.name, calls, inputs)
            break
        except LostWorkerError:
            if checkpoint is None or restarts == _most_restarts():
                raise
            report_progress("a worker died: resume from the checkpoint", 0, 0)
    fields = (
        np.concatenate(parts) for parts in zip(*(each.fields for each in outcomes), strict=True)
    )
    report = outcomes[0].report
    numbered = itertools.chain.from_iterable(outcome.calls for outcome in outcomes)
    report.calls = [call for _, call in sorted(numbered, key=lambda each: (each[0], each[1].part))]
    return Outcome(dict(zip(flow.result, fields, strict=True)), report)


def _most_restarts() -> int:
    """Return the number of restarts of a task if its worker dies, after which Dask gives up."""
    return int(dask.config.get("distributed.scheduler.allowed-failures", 3))


def _ranks(
    flow: Dataflow,
    partitions: list[dict[str, Any]],
    shared: dict[str, Any],
    cluster: Cluster,
    backend: Backend,
    checkpoint: Callable[[str], Record] | None,
) -> tuple[list[Callable[..., RankOutcome]], list[list[Any]]]:
    """Return the function of each rank, and the handles of its inputs."""
    calls: list[Callable[..., RankOutcome]] = []
    inputs = []
    for rank, partition in enumerate(partitions):
        source, key = partition["source"], f"{flow.name}-rank-{rank}"
        inputs.append([*map(cluster.compute, chunks_of(source))])
        bare = with_chunks(source, ["to come"] * len(inputs[-1]))
        call = partial(
            run_rank,
            flow=flow,
            backend=backend,
            shared=shared,
            partition={**partition, "source": bare},
            rank=rank,
            ranks=len(partitions),
            listener=cluster.log_progress if has_listener() and rank == 0 else None,
            idle_memory=cluster.idle_memory,
            records=[checkpoint(f"{key}-{each}") for each in range(2)] if checkpoint else [],
        )
        calls.append(call)
    return calls, inputs
