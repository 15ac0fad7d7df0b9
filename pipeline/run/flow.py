"""The run: takes a pipeline's stages in order and gives them to a scheduler, part by part."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import PipelineError
from ...progress import is_heard, tell
from ...runtime.device import is_on_device
from ...stages import Stage
from .combining import reduce_tree
from .report import Report, StageCall
from .tasks import call_stage, combine_results

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...primitives import Backend
    from ..pipeline import Pipeline
    from ..steps import Loop
    from .schedulers import Scheduler


def run(
    pipeline: Pipeline,
    parts: list[dict[str, Any]],
    shared: dict[str, Any],
    *,
    num_edges: int,
    scheduler: Scheduler,
    backend: Backend,
    split_every: int = 4,
) -> tuple[dict[str, Any], Report]:
    """Run `pipeline` and return its result fields and a report.

    It tells how many of the vertices are joined to others; at the end, all that can be.

    Parameters
    ----------
    parts : list of dict
        The fields along the edges, for each part of the edge list, as the scheduler's handles.
        The dicts are taken over: what is no longer needed is removed from them.
    shared : dict
        The other fields it starts from.
    num_edges : int
        Number of edges in all parts.
    split_every : int
        How many parts' results one task combines.

    Raises
    ------
    PipelineError
        If the steps do not fit together, before any of them runs, or a stage fails. Names it.
    """
    pipeline.check()
    values = pipeline.values_on(backend.name)
    flow = _Flow(scheduler, backend, split_every, parts, {**shared, **values})
    flow.report.counts[0] = {"num_vertices": shared["num_vertices"], "num_edges": num_edges}
    flow.follow(pipeline.steps, frozenset(pipeline.result))
    scalars = flow.settle()
    flow.report.final = {
        name: count for name, count in scalars.items() if not isinstance(count, bool)
    }
    tell("done", shared["num_vertices"], shared["num_vertices"])
    results = scheduler.fetch([flow.shared[name] for name in pipeline.result])
    return dict(zip(pipeline.result, results, strict=True)), flow.report


@dataclass
class _Flow:
    """A run under way: the handles of all fields, of each part's and of the whole's."""

    scheduler: Scheduler
    backend: Backend
    split_every: int
    parts: list[dict[str, Any]]
    shared: dict[str, Any]
    report: Report = field(default_factory=Report)
    round: int = 0
    scalars: set[str] = field(default_factory=lambda: {"num_vertices"})
    unsettled: list[tuple[str, int, Any]] = field(default_factory=list)

    def follow(self, steps: tuple[Stage | Loop, ...], after: frozenset[str]) -> None:
        """Take the steps in order; fields that no later step nor `after` needs are let go."""
        for position, step in enumerate(steps):
            needed = needed_before(steps[position + 1 :], after)
            if isinstance(step, Stage):
                self.apply(step)
            else:
                self.repeat(step, needed)
            for fields in (*self.parts, self.shared):
                for name in fields.keys() - needed - self.scalars:
                    del fields[name]

    def repeat(self, loop: Loop, after: frozenset[str]) -> None:
        """Pass through a loop until its verdict is true."""
        (verdict,) = loop.until.writes
        self.scalars.add(verdict)
        again = needed_before((loop,), after)
        while True:
            self.apply(loop.until)
            scalars = self.settle()
            if scalars[verdict]:
                return
            self.round += 1
            self.report.counts[self.round] = scalars
            self.follow(loop.steps, again)

    def apply(self, stage: Stage) -> None:
        """Submit a stage: once, or for every part and then the combination of their results."""
        if stage.over == "vertices":
            self.keep(stage, [self.shared], [self.submit(stage, self.shared, 0)])
            return
        results = (
            self.submit(stage, self.shared | fields, part) for part, fields in enumerate(self.parts)
        )
        if stage.combine is None:
            self.keep(stage, self.parts, list(results))
            return
        where = self.scheduler
        combine = partial(combine_results, stage, self.backend, where.task_folder)
        submit = partial(where.submit, f"combine_{stage.name}", combine)
        joined = reduce_tree(results, self.split_every, lambda _, some: submit(*some))
        self.keep(stage, [self.shared], [joined])

    def submit(self, stage: Stage, fields: dict[str, Any], part: int) -> Any:
        """Submit one call of a stage; its result is the fields it writes and what it cost."""
        if self.scheduler.eager:
            self.tell(stage.name)
        call = partial(call_stage, stage, self.backend, self.scheduler.task_folder)
        result = self.scheduler.submit(stage.name, call, *(fields[name] for name in stage.reads))
        work = self.scheduler.outputs(result, len(stage.writes) + 1)[-1]
        self.unsettled.append((stage.name, part, work))
        return result

    def keep(self, stage: Stage, places: list[dict[str, Any]], results: list[Any]) -> None:
        """Note the fields a stage wrote, of the parts or of the whole; older ones are gone."""
        for fields in (*self.parts, self.shared):
            for name in stage.writes:
                fields.pop(name, None)
        for fields, result in zip(places, results, strict=True):
            outputs = self.scheduler.outputs(result, len(stage.writes))
            fields.update(zip(stage.writes, outputs, strict=True))
        if not stage.stays_in_parts:
            kinds = {name: field.kind for name, field in stage.writes.items()}
            self.scalars |= {name for name, kind in kinds.items() if kind in ("count", "verdict")}

    def settle(self) -> dict[str, Any]:
        """Compute what was submitted; only scalars and what the stages cost come back."""
        places = [(fields, name) for fields in (*self.parts, self.shared) for name in fields]
        works = [work for _, _, work in self.unsettled]

        def done(place: int) -> None:
            if place >= len(places):
                self.tell(self.unsettled[place - len(places)][0])

        handles = self.scheduler.settle(
            [*(fields[name] for fields, name in places), *works], done if is_heard() else None
        )
        for (fields, name), handle in zip(places, handles, strict=False):
            fields[name] = handle
        names = sorted(self.scalars & self.shared.keys())
        values = self.scheduler.fetch(
            [*(self.shared[name] for name in names), *handles[len(places) :]]
        )
        for (stage, part, _), work in zip(self.unsettled, values[len(names) :], strict=True):
            self.report.calls.append(StageCall(self.round, stage, part, work))
        self.unsettled.clear()
        return dict(zip(names, values, strict=False))

    def tell(self, stage: str) -> None:
        """Tell how far it is: each joining leaves one fragment fewer."""
        total, left = (self.report.counts[n]["num_vertices"] for n in (0, self.round))
        tell(f"round {self.round}: {stage}", total - left, total)


@lru_cache(maxsize=512)
def needed_before(steps: tuple[Stage | Loop, ...], after: frozenset[str]) -> frozenset[str]:
    """Return the fields that must exist before `steps`, if `after` must exist after them."""
    needed = after
    for step in reversed(steps):
        if isinstance(step, Stage):
            needed = needed.difference(step.writes).union(step.reads)
            continue
        end, again = needed, frozenset[str]()
        for _ in range(2):  # what a pass needs of the one before it shows in the second
            needed = needed_before((step.until,), end | needed_before(step.steps, again))
            again = needed
    return needed


def forest_ids(pipeline: Pipeline, found: Any, first: int, stop: int) -> NDArray[np.int64]:
    """Return the field ``forest`` of a run as ascending edge ids from `first` up to `stop`.

    Raises
    ------
    PipelineError
        If it is anything else. Names the pipeline.
    """
    edge_ids = found if is_on_device(found) else np.asarray(found)
    is_set = edge_ids.ndim == 1 and edge_ids.dtype.kind == "i"
    if is_set and not (edge_ids[1:] > edge_ids[:-1]).all():
        edge_ids = np.sort(edge_ids)
        is_set = bool((edge_ids[1:] > edge_ids[:-1]).all())
    if is_set and len(edge_ids):
        is_set = first <= int(edge_ids[0]) <= int(edge_ids[-1]) < stop
    if not is_set:
        message = f"pipeline {pipeline.name!r}: its forest is no set of edge ids: {edge_ids}"
        raise PipelineError(message)
    return edge_ids.astype(np.int64)  # a copy: a module may hand the memory of its own on
