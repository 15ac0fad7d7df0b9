"""For authors of stages: a check that a stage keeps the promises it declares."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import PipelineError
from .graphs.edge_list import EdgeList
from .graphs.source import EdgeSource
from .pipeline.catalogue import algorithm, algorithms
from .pipeline.run.flow import run
from .pipeline.run.partitions import COLUMNS, load_partitions, split
from .pipeline.run.schedulers import Inline
from .pipeline.run.scratch import ON_HOST
from .pipeline.run.tasks import call_stage, combine_results
from .primitives import Backend, backends
from .stages import Stage
from .stages.fields import PART_AXES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .pipeline.pipeline import Pipeline

_NUMPY = Backend("numpy")

#: Values under which small graphs too are taken through every stage of the catalogue.
EVERY_STAGE = {"few": 0, "small": 0, "dense": 2.0}


def check_stage(stage: Stage, pipeline: Pipeline | None = None, **values: Any) -> None:
    """Run a pipeline on small graphs of every kind and check each call of one of its stages.

    Checked are: what the stage writes is what it declares (number, dtypes, lengths); it never
    writes to what it reads; the same input gives the same output, also after a journey to another
    process and on every usable backend; over edges, what it writes in parts combines to what it
    writes at once; and the pipeline's result does not depend on how the edges are split.

    Parameters
    ----------
    stage : Stage
        The stage to check.
    pipeline : Pipeline, optional
        A pipeline that has it. By default one of the catalogue, the stage put where it first fits.
    **values
        What the pipeline is given beside the graph.

    Raises
    ------
    PipelineError
        Naming the stage and the promise it breaks.
    """
    if not isinstance(stage, Stage):
        message = f"{stage!r} is no stage: declare it by @stage"
        raise PipelineError(message)
    pipeline = _home(stage, values) if pipeline is None else pipeline
    small = {name: value for name, value in EVERY_STAGE.items() if name in pipeline.values}
    pipeline = pipeline.given(**small, **values)
    try:
        calls = sum(_check_on(stage, pipeline, graph) for graph in _graphs())
    except PipelineError as error:
        if isinstance(error.__cause__, ValueError) and "read-only" in str(error):
            _fail(stage, f"writes to what it reads: {error}")
        raise
    if not calls:
        _fail(stage, f"is never called by pipeline {pipeline.name!r}")


def _check_on(stage: Stage, pipeline: Pipeline, graph: EdgeList) -> int:
    """Check each call of a stage on one graph, and return how many there were."""
    runs = [_record(stage, pipeline, graph, partitions) for partitions in (1, 2, 5)]
    calls = [arguments for _, inputs in runs for arguments in inputs]
    for arguments in calls:
        _check_call(stage, arguments)
    if not all(_equal(result, runs[0][0]) for result, _ in runs):
        _fail(stage, f"changes the result of {pipeline.name!r} when the edges are split")
    return len(calls)


def _home(stage: Stage, values: dict[str, Any]) -> Pipeline:
    """Return a pipeline of the catalogue with `stage` in it."""
    pipelines = [algorithm(name).given(**values) for name in algorithms()]
    for pipeline in pipelines:
        if stage in pipeline.stages():
            return pipeline
    problems = []
    for pipeline in pipelines:
        for neighbour in dict.fromkeys(step.name for step in pipeline.stages()):
            try:
                candidate = pipeline.insert_after(neighbour, stage)
                candidate.check()
            except PipelineError as error:
                problems.append(str(error))
            else:
                return candidate
    message = f"stage {stage.name!r} fits nowhere in the catalogue; give a pipeline: {problems[0]}"
    raise PipelineError(message)


class _Recorder(Inline):
    """An inline scheduler that keeps the arguments of each call of one stage."""

    def __init__(self, stage: Stage) -> None:
        self.stage, self.calls = stage, list[tuple[Any, ...]]()

    def submit(self, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
        if (
            isinstance(function, partial)
            and function.func is call_stage
            and function.args[0] is self.stage
        ):
            self.calls.append(arguments)
        return super().submit(name, function, *arguments)


def _record(
    stage: Stage, pipeline: Pipeline, graph: EdgeList, partitions: int
) -> tuple[dict[str, Any], list[tuple[Any, ...]]]:
    recorder = _Recorder(stage)
    parts = split(EdgeSource.of(graph).with_sizes(), partitions, recorder)
    tables = load_partitions(parts, graph.num_edges, recorder, _NUMPY)
    result, _ = run(
        pipeline,
        [dict(zip(COLUMNS, table, strict=True)) for table in tables],
        {"num_vertices": graph.num_vertices, "maximum": False},
        num_edges=graph.num_edges,
        scheduler=recorder,
        backend=_NUMPY,
    )
    return result, recorder.calls


def _check_call(stage: Stage, values: tuple[Any, ...]) -> None:
    call = partial(call_stage, stage, _NUMPY, None)
    written = call(*map(_read_only, values))[:-1]
    if not _equal(written, call(*values)[:-1]):
        _fail(stage, "gives two results for one input")
    import cloudpickle  # as Dask sends stages; loaded only here

    copy = cloudpickle.loads(cloudpickle.dumps(stage))
    if not _equal(written, call_stage(copy, _NUMPY, None, *values)[:-1]):
        _fail(stage, "gives another result after pickling")
    for backend in backends():
        if not _equal(written, call_stage(stage, Backend(backend), ON_HOST, *values)[:-1]):
            _fail(stage, f"gives another result on backend {backend!r}")
    axes = {field.axis for field in stage.reads.values()} & set(PART_AXES)
    if stage.combine is not None and axes <= {"edges"}:
        parts = [call(*half) for half in _halves(stage, values)]
        if not _equal(written, combine_results(stage, _NUMPY, None, *parts)):
            _fail(stage, "writes in two parts what does not combine to what it writes at once")


def _halves(stage: Stage, values: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    along = [field.axis == "edges" for field in stage.reads.values()]
    lengths = [len(value) for value, is_edge in zip(values, along, strict=True) if is_edge]
    middle = lengths[0] // 2 if lengths else 0
    for half in (slice(None, middle), slice(middle, None)):
        yield tuple(
            value[half] if is_edge else value for value, is_edge in zip(values, along, strict=True)
        )


def _graphs() -> Iterator[EdgeList]:
    """Yield graphs with ties, loops, parallel edges, isolated vertices, and without edges."""
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
    if isinstance(value, tuple):
        return tuple(map(_read_only, value))
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


def _fail(stage: Stage, promise: str) -> None:
    message = f"stage {stage.name!r}: {promise}"
    raise PipelineError(message)
