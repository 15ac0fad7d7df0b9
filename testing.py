"""A check for authors of stages: run pipelines to see whether a stage matches its declaration."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from .errors import PipelineError
from .graphs.edge_list import EdgeList
from .pipeline.catalogue.names import algorithm, algorithms
from .pipeline.pipeline import Pipeline
from .pipeline.schedulers.scheduler import Inline
from .pipeline.tasks import Task
from .primitives import array_module, backends
from .stages import Stage
from .stages.fields import Arcs, Columns, Edges

#: Values for which even small graphs reach every stage of the catalogue's pipelines.
EVERY_STAGE = {"small": 0, "dense": 1.0, "light_per_vertex": 1.0, "sample_size": 8}


def check_stage(stage: Stage, pipeline: Pipeline | None = None, **values: Any) -> None:
    """Run a pipeline on many small graphs and check each call of one of its stages.

    The stage must:

    - write the fields that it declares, with the declared dtypes and lengths;
    - not modify its inputs;
    - return equal outputs for equal inputs, also after pickling and on every usable backend;
    - if it declares `combine`: its results for two partitions must combine to its result for all
      edges.

    The result of the pipeline must not depend on the number of partitions.

    Parameters
    ----------
    stage : Stage
        The stage to check.
    pipeline : Pipeline, optional
        A pipeline that contains the stage. By default, a pipeline of the catalogue. If no pipeline
        contains the stage, it is inserted at the first suitable place.
    **values
        Values for the pipeline, as for `Pipeline.given`.

    Raises
    ------
    PipelineError
        If a check fails. Names the stage and the check.
    """
    if not isinstance(stage, Stage):
        message = f"{stage!r} is not a stage; decorate it with @mstflow.stage"
        raise PipelineError(message)
    pipeline = _pipeline_with(stage, values) if pipeline is None else pipeline.given(**values)
    small = {name: value for name, value in EVERY_STAGE.items() if name in pipeline.values}
    pipeline = pipeline.given(**small)
    try:
        calls = sum(_check_on(stage, pipeline, graph) for graph in _graphs())
    except PipelineError as error:
        if isinstance(error.__cause__, ValueError) and "read-only" in str(error):
            _fail(stage, f"modifies its inputs: {error}")
        raise
    if not calls:
        _fail(stage, f"is never called by pipeline {pipeline.name!r}")


def _check_on(stage: Stage, pipeline: Pipeline, graph: EdgeList) -> int:
    """Check each call of a stage on one graph, and return the number of calls."""
    runs = [_record(stage, pipeline, graph, partitions) for partitions in (1, 2, 5)]
    calls = [task for _, tasks in runs for task in tasks]
    for task in calls:
        _check_call(stage, task)
    if not all(_equal(result, runs[0][0]) for result, _ in runs):
        _fail(stage, f"changes the result of {pipeline.name!r} when the edges are split")
    return len(calls)


def _pipeline_with(stage: Stage, values: dict[str, Any]) -> Pipeline:
    """Return a pipeline of the catalogue that contains `stage`; insert the stage if necessary."""
    pipelines = [algorithm(name) for name in algorithms()]
    for pipeline in pipelines:
        if stage in pipeline.stages():
            return pipeline.given(**values)
    problems = []
    for pipeline in pipelines:
        for previous in dict.fromkeys(step.name for step in pipeline.stages()):
            try:
                candidate = pipeline.insert_after(previous, stage).given(**values)
                candidate.check()
            except PipelineError as error:
                problems.append(str(error))
            else:
                return candidate
    message = (
        f"stage {stage.name!r} fits into no pipeline of the catalogue; pass pipeline=: "
        f"{problems[-1]}"
    )
    raise PipelineError(message)


class _Recorder(Inline):
    """A scheduler that runs tasks in this thread and records those of one stage."""

    def __init__(self, stage: Stage) -> None:
        super().__init__(threads=1)
        self.stage, self.tasks = stage, list[Task]()

    def submit(self, function: Callable[..., Any], *handles: Any, **options: Any) -> Any:
        if isinstance(function, Task) and function.stage is self.stage:
            self.tasks.append(function)
        return super().submit(function, *handles, **options)


def _record(
    stage: Stage, pipeline: Pipeline, graph: EdgeList, partitions: int
) -> tuple[dict[str, Any], list[Task]]:
    """Run a pipeline, and return its result and the tasks of one stage."""
    recorder = _Recorder(stage)
    fields, _ = pipeline.run(
        graph,
        backend="numpy",
        scheduler=recorder,
        partitions=partitions,
        strategy="whole" if partitions == 1 else "iterate",
        progress=False,
    )
    return fields, recorder.tasks


def _check_call(stage: Stage, task: Task) -> None:
    import cloudpickle  # Dask serializes stages with it

    read_only = {name: _read_only(value) for name, value in task.fields.items()}
    written = replace(task, fields=read_only)()
    if not _equal(written, task()):
        _fail(stage, "returns different results for the same input")
    copy = cloudpickle.loads(cloudpickle.dumps(stage))
    if not _equal(written, replace(task, stage=copy)()):
        _fail(stage, "returns a different result after pickling")
    for backend in backends():
        elsewhere = task.backend._replace(name=backend, threads=1)
        if not _equal(written, replace(task, backend=elsewhere, is_remote=True)()):
            _fail(stage, f"returns a different result on backend {backend!r}")
    combination = stage.combination
    if combination is not None and not stage.combiner_reads and _can_be_halved(stage, task):
        parts = [replace(task, fields=half)() for half in _halves(task)]
        if not _equal(written, combination.run(array_module("numpy"), None, {"parts": parts})):
            _fail(stage, "the results for two partitions do not combine to the result for both")


def _can_be_halved(stage: Stage, task: Task) -> bool:
    """Return whether the edges are the only field of the task that must be split."""
    other_fields = (
        value
        for name, value in task.fields.items()
        if stage.reads[name].kind != "edges" and stage.reads[name].axis != "vertices"
    )
    return not any(
        hasattr(value, "dtype") or isinstance(value, Arcs | Columns) for value in other_fields
    )


def _halves(task: Task) -> Iterator[dict[str, Any]]:
    """Yield the fields of a task with the first half of the edges, then with the second half."""
    lengths = [len(value.u) for value in task.fields.values() if isinstance(value, Edges)]
    middle = lengths[0] // 2 if lengths else 0
    for half in (slice(None, middle), slice(middle, None)):
        yield {
            name: Edges(*(column[half] for column in value)) if isinstance(value, Edges) else value
            for name, value in task.fields.items()
        }


def _graphs() -> Iterator[EdgeList]:
    """Yield graphs without edges, and with ties, loops, parallel edges and isolated vertices."""
    empty = np.empty(0, np.int64)
    yield EdgeList(empty, empty)
    yield EdgeList(empty, empty, num_vertices=3)
    random = np.random.default_rng(20)
    for vertices, edges, dtype in ((2, 3, bool), (9, 12, np.int8), (40, 200, np.float32)):
        u, v = random.integers(0, vertices, (2, edges))
        weight = random.integers(-2, 3, edges).astype(dtype)
        yield EdgeList(u, v, weight, num_vertices=vertices + 2)
    path = np.arange(50)
    yield EdgeList(path, path + 1, random.random(50))


def _read_only(value: Any) -> Any:
    """Return a field with read-only views of its arrays."""
    if isinstance(value, tuple):
        return getattr(type(value), "_make", type(value))(map(_read_only, value))
    if not isinstance(value, np.ndarray):
        return value
    view = value.view()
    view.flags.writeable = False
    return view


def _equal(left: Any, right: Any) -> bool:
    if isinstance(left, dict):
        left, right = tuple(left.values()), tuple(right.values())
    if isinstance(left, tuple):
        return len(left) == len(right) and all(map(_equal, left, right))
    a, b = np.asarray(left), np.asarray(right)
    return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")


def _fail(stage: Stage, problem: str) -> None:
    message = f"stage {stage.name!r}: {problem}"
    raise PipelineError(message)
