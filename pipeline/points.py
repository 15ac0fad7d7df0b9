"""A run on points: `boruvka-points` in one task for each stage, without an edge list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import MemoryBoundError, OptionError, memory_errors
from ..graphs.generate.points import PointSegment, with_core
from ..graphs.source import EdgeSource
from ..primitives import Backend, resolve_backend
from ..primitives.points import Points
from ..runtime.device import host_array
from ..runtime.memory import keeping_blocks
from ..stages import fragments
from .dataflow import Dataflow
from .report.report import Plan, Report
from .run.execute import execute, forest_ids

if TYPE_CHECKING:
    from .run.schedulers import Scheduler

#: Bytes for each point, and for each of its coordinates, that a run may take at its peak.
_POINT, _COORDINATE = 150, 24
#: The number of edges per point whose solution takes as long; "auto" chooses kernels by it.
_EDGES = 40


def points_of(graph: Any) -> PointSegment | None:
    """Return the points of a graph of `mstflow.points` with all its edges and weights."""
    if not isinstance(graph, EdgeSource) or len(graph.segments) != 1 or graph.unweighted:
        return None
    (segment,) = graph.segments
    is_points = isinstance(segment, PointSegment) and graph.removed is None
    is_whole = is_points and segment.num_edges == segment.num_vertices**2
    return segment if is_whole else None  # type: ignore[return-value]


def run_on_points(
    pipeline: Dataflow,
    graph: EdgeSource,
    backend: str,
    where: Scheduler,
    *,
    memory: int | None,
    **refused: Any,
) -> tuple[dict[str, Any], Report, EdgeSource]:
    """Run a pipeline that reads the field ``points``; return what `run_on` returns.

    `refused` has the options that this pipeline does not support, with their values; they must be
    unset.
    """
    for name, value in refused.items():
        if value:
            raise OptionError(
                f"algorithm {pipeline.name!r} does not support {name}=; leave it out, or compute "
                "all pairs by another algorithm, such as algorithm='filter-kruskal'"
            )
    segment: Any = points_of(graph)
    count, axes = segment.rows.shape
    if graph.num_vertices != count:
        raise OptionError(f"num_vertices is {graph.num_vertices}, but there are {count} points")
    needed = count * (_POINT + _COORDINATE * axes)
    if memory is not None and memory < needed:
        raise MemoryBoundError.of(memory, needed, f"for {count:,} points")
    name = resolve_backend(backend, _EDGES * count)
    ids = np.arange(count, dtype=np.int32 if count < 2**31 else np.int64)
    points = Points(segment.rows.ravel(), ids, count, axes, segment.metric, segment.dtype)
    steps = (*pipeline.steps, fragments.list_forest)
    flow = Dataflow(
        pipeline.name,
        steps,
        pipeline.inputs,
        tuple({"forest": 0, "core_distance": 0} | dict.fromkeys(pipeline.result)),
        pipeline.summary,
        pipeline.values,
    )
    using = Backend(name, where.task_threads)
    shared = {
        "points": points,
        "core_samples": segment.min_samples,
        "num_vertices": count,
        "maximum": False,
    }
    with memory_errors(count, None), keeping_blocks(for_next=memory is None):
        fields, report = execute(flow, [{}], shared, scheduler=where, backend=using)
        fields = {name: np.array(host_array(value)) for name, value in fields.items()}
    fields["forest"] = forest_ids(pipeline.name, fields["forest"], 0, count * count)
    report.plan = Plan(
        "whole", 1, 0, "the graph is all pairs of points", where.name, pipeline.name, name
    )
    if segment.min_samples > 1:
        graph = with_core(graph, fields["core_distance"])
    return fields, report, graph
