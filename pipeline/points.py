"""A run on points, without an edge list: one task for each stage of an algorithm for points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import MemoryBoundError, OptionError, memory_errors
from ..graphs.generate.points import PointSegment, with_core
from ..primitives import Backend, resolve_backend
from ..primitives.points import Points
from ..runtime.device import host_array
from ..runtime.memory import keeping_blocks
from ..runtime.sizes import sizes
from ..stages import fragments
from .dataflow import Dataflow
from .execute import execute, forest_ids
from .plan import Plan

if TYPE_CHECKING:
    from ..graphs.source import EdgeSource
    from .options import Options
    from .report.report import Report
    from .schedulers.scheduler import Scheduler

#: Bytes for each point, and for each of its coordinates, that a run may take at its peak.
_POINT, _COORDINATE = 150, 24


def points_of(graph: EdgeSource) -> PointSegment | None:
    """Return the points of a graph of `mstflow.points` with all its edges and weights."""
    segment = graph.only_segment
    if isinstance(segment, PointSegment) and segment.num_edges == segment.num_vertices**2:
        return segment
    return None


def run_on_points(
    pipeline: Dataflow, graph: EdgeSource, options: Options, scheduler: Scheduler
) -> tuple[dict[str, Any], Report, EdgeSource]:
    """Run a pipeline that reads the field ``points``; return fields, report and graph."""
    _refuse(pipeline.name, options)
    segment: Any = points_of(graph)
    count, axes = segment.rows.shape
    if graph.num_vertices != count:
        raise OptionError(f"num_vertices is {graph.num_vertices}, but there are {count} points")
    needed = count * (_POINT + _COORDINATE * axes)
    if options.bound is not None and options.bound < needed:
        raise MemoryBoundError.of(options.bound, needed, f"for {count:,} points")
    name = resolve_backend(options.backend, sizes().edges_per_point * count)
    ids = np.arange(count, dtype=np.int32 if count < 2**31 else np.int64)
    points = Points(segment.rows.ravel(), ids, count, axes, segment.metric, segment.dtype)
    steps = (*pipeline.steps, fragments.sort_forest_ids)
    flow = Dataflow(
        pipeline.name,
        steps,
        pipeline.inputs,
        tuple({"forest": 0, "core_distance": 0} | dict.fromkeys(pipeline.result)),
        pipeline.summary,
        pipeline.values,
    )
    using = Backend(name, scheduler.task_threads)
    shared = {
        "points": points,
        "core_samples": segment.min_samples,
        "num_vertices": count,
        "maximum": False,
    }
    with memory_errors(count, None), keeping_blocks(for_next=options.bound is None):
        fields, report = execute(flow, [{}], shared, scheduler=scheduler, backend=using)
        fields = {name: np.array(host_array(value)) for name, value in fields.items()}
    fields["forest"] = forest_ids(pipeline.name, fields["forest"], 0, count * count)
    reason = "the graph is all pairs of points"
    report.plan = Plan(
        reason=reason, scheduler=scheduler.name, algorithm=pipeline.name, backend=name
    )
    if segment.min_samples > 1:
        graph = with_core(graph, fields["core_distance"])
    return fields, report, graph


def _refuse(algorithm: str, options: Options) -> None:
    """Refuse options that no algorithm for points supports."""
    is_set = {
        "maximum": options.maximum,
        "partitions": options.partitions,
        "strategy": options.strategy not in ("auto", "whole"),
        "checkpoint": options.checkpoint,
    }
    for name, value in is_set.items():
        if value:
            raise OptionError(
                f"algorithm {algorithm!r} does not support {name}=; leave it out, or compute "
                "all pairs by another algorithm, such as algorithm='filter-kruskal'"
            )
