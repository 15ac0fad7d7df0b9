"""Checks for authors: whether a stage matches its declaration, and a pipeline finds the forest."""

from __future__ import annotations

import contextlib
import reprlib
from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from ..errors import PipelineError
from ..graphs.edge_list import EdgeList
from ..pipeline.catalogue.names import algorithm, algorithms
from ..pipeline.pipeline import Pipeline
from ..pipeline.schedulers.scheduler import Inline
from ..pipeline.tasks import Task
from ..primitives import array_module, backends
from ..stages import Stage
from ..stages.fields import Arcs, Collected, Columns, Edges, rebuilt
from .strict import STRICT, Array

#: Values for which even small graphs reach every stage of the catalogue's pipelines.
EVERY_STAGE = {"small": 0, "dense": 1.0, "light_per_vertex": 1.0, "sample_size": 8}


def check_stage(stage: Stage, pipeline: Pipeline | None = None, **values: Any) -> None:
    """Run a pipeline on many small graphs and check each call of one of its stages.

    The stage must:

    - write the fields that it declares, with the declared dtypes and lengths;
    - not modify its inputs, or anything else;
    - return equal outputs for equal inputs, also after pickling, on every usable backend, and on
      `StrictArrays`, which have only what the contract of arrays allows;
    - if it replaces a record of edges: keep the dtype of the keys, and the order of the ids;
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
        Values for the pipeline, as for `Pipeline.given`. By default, `EVERY_STAGE` gives those that
        it names.

    Raises
    ------
    PipelineError
        If a check fails. Names the stage and the check; shows the graph, and the fields that the
        stage read and wrote.
    """
    if not isinstance(stage, Stage):
        message = f"{stage!r} is not a stage; decorate it with @mstflow.stage"
        raise PipelineError(message)
    if pipeline is None:
        pipeline = _pipeline_with(stage, values)
    else:
        pipeline = pipeline.given(**values)
        pipeline.check()
    check_stages([stage], through_every_stage(pipeline, values))


def check_stages(stages: Iterable[Stage], pipeline: Pipeline) -> None:
    """Check some stages of a pipeline as `check_stage` does, by the same runs."""
    missing = {stage.original: stage for stage in stages}
    checked = {*missing}
    for graph in _graphs():
        with _naming(graph):
            for called in _check_on(checked, pipeline, graph):
                missing.pop(called, None)
    for stage in missing.values():
        _fail(stage, f"is never called by pipeline {pipeline.name!r}")


def through_every_stage(pipeline: Pipeline, chosen: Iterable[str] = ()) -> Pipeline:
    """Return a pipeline with the values `EVERY_STAGE`, except for those that the caller chose."""
    names = EVERY_STAGE.keys() & pipeline.values.keys() - {*chosen}
    return pipeline.given(**{name: EVERY_STAGE[name] for name in names})


def check_algorithm(pipeline: Pipeline, **values: Any) -> None:
    """Compare the forests of a pipeline with the definition, on small graphs of every kind.

    The graphs have ties, loops, parallel edges, isolated vertices, no edges, and weights of every
    dtype. Each is solved in one partition and in several, for the minimum and the maximum forest,
    and on `StrictArrays`. Stages that replace a record of edges must keep the keys of its edges and
    the order of their ids.

    Parameters
    ----------
    pipeline : Pipeline
        A pipeline that finds the minimum forest.
    **values
        Values for the pipeline, as for `Pipeline.given`. By default, `EVERY_STAGE` gives those that
        it names.

    Raises
    ------
    PipelineError
        If a forest is wrong. Shows the smallest such graph that was found, the forest and the
        expected one, and the stage that dropped or chose a wrong edge if it is known.
    """
    pipeline = through_every_stage(pipeline.given(**values), values)
    pipeline.check()
    for graph in _graphs():
        for options in _WAYS:
            with _naming(graph):
                if not _is_right(pipeline, graph, options):
                    _fail_on(pipeline, _smallest(pipeline, graph, options), options)


#: The options of the runs of `check_algorithm`.
_WAYS: tuple[dict[str, Any], ...] = (
    {},
    {"partitions": 2, "strategy": "iterate"},
    {"partitions": 5, "strategy": "iterate"},
    {"maximum": True},
    {"backend": STRICT, "partitions": 2, "strategy": "iterate"},
)


def _solved(pipeline: Pipeline, graph: EdgeList, options: dict[str, Any]) -> list[int]:
    fields, recorder = _recorded(pipeline, graph, **options)
    if "partitions" not in options:
        for task, written in zip(recorder.tasks, recorder.results, strict=True):
            _check_edges(task, written)
    return fields["forest"].tolist()  # type: ignore[no-any-return]


def _is_right(pipeline: Pipeline, graph: EdgeList, options: dict[str, Any]) -> bool:
    expected = forest_of(graph, maximum=options.get("maximum", False))
    return _solved(pipeline, graph, options) == expected


def forest_of(graph: EdgeList, *, maximum: bool = False) -> list[int]:
    """Return the edge ids of the minimum forest by its definition: Kruskal in plain Python."""
    weights = np.ones(len(graph.u)) if graph.weight is None else graph.weight
    u, v, weight = graph.u.tolist(), graph.v.tolist(), weights.tolist()
    # The sort is stable, also in reverse, so ties stay in the order of the ids.
    order = sorted(range(len(u)), key=weight.__getitem__, reverse=maximum)
    root, chosen = list(range(graph.num_vertices)), []
    for edge in order:
        a, b = root[u[edge]], root[v[edge]]
        if a != b:
            root = [a if each == b else each for each in root]
            chosen.append(edge)
    return sorted(chosen)


def _smallest(pipeline: Pipeline, graph: EdgeList, options: dict[str, Any]) -> EdgeList:
    """Return a graph with a wrong forest such that all forests of `_smaller` graphs are right."""
    while True:
        for smaller in _smaller(graph):
            with contextlib.suppress(PipelineError):  # another fault
                if not _is_right(pipeline, smaller, options):
                    graph = smaller
                    break
        else:
            return graph


def _smaller(graph: EdgeList) -> Iterator[EdgeList]:
    """Yield graphs with fewer edges, merged vertices, no isolated vertices, or smaller weights."""
    u, v, weight, size = graph.u, graph.v, graph.weight, len(graph.u)
    while size := size // 2:
        for first in range(0, len(u), size):
            kept = np.delete(np.arange(len(u)), slice(first, first + size))
            some = None if weight is None else weight[kept]
            yield EdgeList(u[kept], v[kept], some, num_vertices=graph.num_vertices)
    for low, high in {*zip(u.tolist(), v.tolist(), strict=True)}:
        if low != high:
            source, target = (np.where(ends == high, low, ends) for ends in (u, v))
            yield EdgeList(source, target, weight, num_vertices=graph.num_vertices)
    used, ends = np.unique([u, v], return_inverse=True)
    if len(used) < graph.num_vertices:
        source, target = ends.reshape(2, -1)
        yield EdgeList(source, target, weight, num_vertices=len(used))
    if weight is not None:
        rank = np.unique(weight, return_inverse=True)[1].astype(weight.dtype)
        if not np.array_equal(rank, weight):
            yield EdgeList(u, v, rank, num_vertices=graph.num_vertices)
        for edge in np.flatnonzero(rank):
            lower = rank.copy()
            lower[edge] = 0
            yield EdgeList(u, v, lower, num_vertices=graph.num_vertices)


def _fail_on(pipeline: Pipeline, graph: EdgeList, options: dict[str, Any]) -> NoReturn:
    maximum = options.get("maximum", False)
    found, expected = _solved(pipeline, graph, options), forest_of(graph, maximum=maximum)
    blame = _culprit(pipeline, graph, expected, maximum=maximum)
    split = f" in {options['partitions']} partitions" if "partitions" in options else ""
    kind = "maximum" if maximum else "minimum"
    raise PipelineError(
        f"pipeline {pipeline.name!r}: finds the forest {found}, but the {kind} forest is "
        f"{expected}{split}{blame}; on the graph {_text(graph)}"
    )


def _culprit(pipeline: Pipeline, graph: EdgeList, expected: list[int], *, maximum: bool) -> str:
    """Return the first stage that drops or chooses a wrong edge, as the end of a message."""
    _, recorder = _recorded(pipeline, graph, maximum=maximum)
    chosen: set[int] = set()
    for task, written in zip(recorder.tasks, recorder.results, strict=True):
        for (name, field), value in zip(task.stage.writes.items(), written, strict=True):
            if name == "forest" and field.is_chosen:
                if wrong := set(value.tolist()) - set(expected):
                    return f": {task.stage.title} chose edge {min(wrong)} in {name!r}"
                chosen |= set(value.tolist())
            before = task.fields.get(name)
            if isinstance(value, Edges) and isinstance(before, Edges):
                lost = {*before.edge_id.tolist()} & {*expected} - chosen
                if lost := lost - {*value.edge_id.tolist()}:
                    return f": {task.stage.title} dropped edge {min(lost)} from {name!r}"
    return ""


def _check_edges(task: Task, written: tuple[Any, ...], *, keys: bool = True) -> None:
    """Check the records of edges that a stage replaces."""
    for name, value in zip(task.stage.writes, written, strict=True):
        before = task.fields.get(name)
        if not (isinstance(value, Edges) and isinstance(before, Edges)):
            continue
        ids, problem = value.edge_id.tolist(), ""
        old = before.edge_id.tolist()
        known = dict(zip(old, before.key.tolist(), strict=True))
        if value.key.dtype != before.key.dtype:
            problem = (
                f"with keys of {value.key.dtype} instead of {before.key.dtype}; keys are exact"
            )
        elif sorted(set(old)) == old and sorted(set(ids)) != ids:
            problem = "with ids that do not ascend; keep the order of the edges"
        elif keys and any(
            known.get(i, k) != k for i, k in zip(ids, value.key.tolist(), strict=True)
        ):
            problem = "with other keys of the same ids"
        if problem:
            _fail(task.stage, f"writes {name!r} {problem}", task, written)


def _check_on(checked: Set[Stage], pipeline: Pipeline, graph: EdgeList) -> set[Stage]:
    """Check each call of some stages on one graph, and return the stages that are called."""
    ways = ({}, *({"partitions": count, "strategy": "iterate"} for count in (2, 5)))
    runs = [_recorded(pipeline, graph, checked, **options) for options in ways]
    calls = [task for _, recorder in runs for task in recorder.tasks]
    for task in calls:
        _check_call(task, keys=pipeline.result == ("forest",))
    whole, _ = runs[0]
    for partitions, (result, _) in zip((2, 5), runs[1:], strict=True):
        for name, value in result.items():
            if not _equal(value, whole[name]):
                split = f"{_short(value)} in {partitions} partitions"
                problem = f"changes {name!r} of {pipeline.name!r} when the edges are split: "
                problem += f"{_short(whole[name])} in one partition, {split}"
                raise PipelineError(f"{', '.join(each.title for each in checked)}: {problem}")
    return {task.stage.original for task in calls}


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
                candidate.check_reads()
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
    """A scheduler that runs tasks in this thread and records those of some stages, or of all."""

    def __init__(self, stages: Set[Stage] | None) -> None:
        super().__init__(threads=1)
        self.stages = stages
        self.tasks, self.results = list[Task](), list[Any]()

    def submit(self, function: Callable[..., Any], *handles: Any, **options: Any) -> Any:
        if not isinstance(function, Task):
            return super().submit(function, *handles, **options)
        with _explaining_writes(function.stage):
            result = super().submit(function, *handles, **options)
        if self.stages is None or function.stage.original in self.stages:
            self.tasks.append(function)
            self.results.append(result)
        return result


def _recorded(
    pipeline: Pipeline, graph: EdgeList, stages: Set[Stage] | None = None, **options: Any
) -> tuple[dict[str, Any], _Recorder]:
    """Run a pipeline, and return its result and the tasks of some stages, or of all."""
    recorder = _Recorder(stages)
    options = {"backend": "numpy", "strategy": "whole", **options}
    fields, _ = pipeline.run(graph, scheduler=recorder, progress=False, **options)
    return fields, recorder


def _check_call(task: Task, *, keys: bool) -> None:
    import cloudpickle  # Dask serializes stages with it

    stage = task.stage
    fields = task.fields.items()
    read_only = {name: _mapped(value, np.ndarray, _read_only) for name, value in fields}
    outside = _outside(stage)
    with _explaining_writes(stage):
        written = replace(task, fields=read_only)()
    if changed := [name for name, value in _outside(stage).items() if value != outside[name]]:
        _fail(stage, f"modifies {changed[0]!r}, which is not a field", task, written)
    if not _equal(written, task()):
        _fail(stage, "returns different results for the same input", task, written)
    copy = cloudpickle.loads(cloudpickle.dumps(stage))
    if not _equal(written, replace(task, stage=copy)()):
        _fail(stage, "returns a different result after pickling", task, written)
    for backend in backends():
        elsewhere = task.backend._replace(name=backend, threads=1)
        if not _equal(written, replace(task, backend=elsewhere, is_remote=True)()):
            _fail(stage, f"returns a different result on backend {backend!r}", task, written)
    _check_strictly(task, written)
    _check_edges(task, written, keys=keys)
    combination = stage.combination
    if combination is not None and not stage.combiner_reads and _can_be_halved(stage, task):
        parts = [replace(task, fields=half)() for half in _halves(task)]
        if not _equal(written, combination.run(array_module("numpy"), None, {"parts": parts})):
            problem = "the results for two partitions do not combine to the result for both"
            _fail(stage, f"{problem}: {', '.join(map(repr, stage.writes))}", task, written)


@contextlib.contextmanager
def _explaining_writes(stage: Stage) -> Iterator[None]:
    """Raise an error that states the rule if a stage writes to a read-only input."""
    try:
        yield
    except PipelineError as error:
        if isinstance(error.__cause__, ValueError) and "read-only" in str(error):
            _fail(stage, f"modifies its inputs: {error}")
        raise


def _check_strictly(task: Task, written: tuple[Any, ...]) -> None:
    """Run a stage on arrays that have only what the contract allows."""
    stage, ops = task.stage, STRICT
    fields = {name: _mapped(value, np.ndarray, ops.asarray) for name, value in task.fields.items()}
    try:
        result = stage.run(ops, None, fields)
    except Exception as error:  # a stage may raise anything
        problem = f"does not run on every array module: {type(error).__name__}: {error}"
        _fail(stage, problem, task, written)
    for name, value in zip(stage.writes, result, strict=True):
        if isinstance(value, np.ndarray | np.generic):
            kind = type(value).__name__
            _fail(stage, f"writes {name!r} as NumPy's {kind}; use ops or Python", task, written)
    if not _equal(written, _mapped(tuple(result), Array, ops.to_host)):
        _fail(stage, "returns a different result on strict arrays", task, written)


def _outside(stage: Stage) -> dict[str, str]:
    """Return the containers that a stage's function refers to besides its parameters, as text."""
    code = getattr(stage.function, "__code__", None)
    if code is None:
        return {}
    cells = zip(code.co_freevars, stage.function.__closure__ or (), strict=True)
    names: dict[str, Any] = {name: cell.cell_contents for name, cell in cells}
    known = stage.function.__globals__
    names |= {name: known[name] for name in code.co_names if name in known}
    containers = (list, dict, set, bytearray)
    return {name: repr(value) for name, value in names.items() if isinstance(value, containers)}


def _mapped(value: Any, kind: type, change: Callable[[Any], Any]) -> Any:
    """Return a field with `change` applied to all values of a type, also within tuples."""
    if isinstance(value, tuple):
        return rebuilt(value, [_mapped(each, kind, change) for each in value])
    return change(value) if isinstance(value, kind) else value


def _can_be_halved(stage: Stage, task: Task) -> bool:
    """Return whether the edges are the only field of the task that must be split."""
    edges = [value for value in task.fields.values() if isinstance(value, Edges)]
    other_fields = (
        value
        for name, value in task.fields.items()
        if not isinstance(value, Edges) and stage.reads[name].axis != "num_vertices"
    )
    return bool(edges) and not any(
        hasattr(value, "dtype") or type(value) in (Arcs, Columns, Collected)
        for value in other_fields
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
    """Yield graphs without edges, and with ties, loops, parallel edges and isolated vertices.

    Between them, their weights have all dtypes.
    """
    empty = np.empty(0, np.int64)
    yield EdgeList(empty, empty)
    yield EdgeList(empty, empty, num_vertices=3)
    random = np.random.default_rng(20)
    for place, dtype in enumerate("?bBhHiIqQefd"):
        vertices, edges = ((2, 3), (5, 7), (9, 12), (40, 200))[place % 4]
        u, v = random.integers(0, vertices, (2, edges))
        weight = random.integers(-2, 3, edges).astype(np.int8).astype(dtype)
        yield EdgeList(u, v, weight, num_vertices=vertices + 2)
    path = np.arange(50)
    yield EdgeList(path, path + 1, random.random(50))


def _read_only(array: Any) -> Any:
    view = array.view()
    view.flags.writeable = False
    return view


def _equal(left: Any, right: Any) -> bool:
    if isinstance(left, dict):
        left, right = tuple(left.values()), tuple(right.values())
    if isinstance(left, tuple):
        return len(left) == len(right) and all(map(_equal, left, right))
    a, b = np.asarray(left), np.asarray(right)
    return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")


@contextlib.contextmanager
def _naming(graph: EdgeList) -> Iterator[None]:
    """Add the graph to the notes of an error."""
    try:
        yield
    except PipelineError as error:
        error.add_note(f"The graph was {_text(graph)}.")
        raise


def _text(graph: EdgeList) -> str:
    columns = (("u", graph.u), ("v", graph.v), ("weight", graph.weight))
    parts = [f"{name}={_short(c)}" for name, c in columns if c is not None]
    return f"({', '.join(parts)}) of {graph.num_vertices} vertices"


_shown = reprlib.Repr()
_shown.maxlist = 12


def _short(value: Any) -> str:
    """Return a field as text: the first elements of arrays, by name within a record."""
    if isinstance(value, tuple):
        names = getattr(value, "_fields", None)
        items = [*map(_short, value)]
        return ", ".join(map("=".join, zip(names, items, strict=True)) if names else items)
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{_shown.repr(value.tolist())}"
    return _shown.repr(value)


def _fail(
    stage: Stage, problem: str, task: Task | None = None, written: tuple[Any, ...] = ()
) -> NoReturn:
    shown = ""
    if task is not None:
        read = "; ".join(f"{name}: {_short(value)}" for name, value in task.fields.items())
        wrote = zip(stage.writes, map(_short, written), strict=True)
        shown = f" (it read {read}; it wrote {'; '.join(map(': '.join, wrote))})"
    raise PipelineError(f"{stage.title}: {problem}{shown}")
