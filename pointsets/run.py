"""A run on points, without an edge list: one task for each stage of an algorithm for points."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import OptionError, memory_errors
from ..graphs.source import EdgeSource
from ..pipeline.dataflow import Dataflow
from ..pipeline.execute import execute, forest_ids
from ..pipeline.planning.plan import Plan
from ..pipeline.report.report import Outcome
from ..pipeline.request import Request
from ..pipeline.schedulers.scheduler import Scheduler
from ..primitives import Backend
from ..runtime.device import host_array
from ..runtime.memory import keeping_blocks
from ..stages import fragments
from .choice import choose
from .graph import PointSegment, with_core
from .memory import check_bound
from .primitives.searches import Points


def run(
    request: Request, graph: EdgeSource, scheduler: Scheduler
) -> tuple[Outcome, EdgeSource] | None:
    """Run a pipeline that reads the field ``points``; return the outcome and the graph.

    Return None if the chosen pipeline reads all pairs as edges.
    """
    segment: Any = graph.only_segment
    chosen: Any = None if request.is_default else request.pipeline
    if chosen is not None and "points" not in chosen.fields_read:
        return None
    pipeline, name, reason = choose(segment, chosen, request.backend)
    _check(pipeline.name, graph, segment, request)
    count, axes = segment.rows.shape
    ids = np.arange(count, dtype=np.int32 if count < 2**31 else np.int64)
    shared = {
        "points": Points(segment.rows.ravel(), ids, count, axes, segment.metric, segment.dtype),
        "core_samples": segment.min_samples,
        "num_vertices": count,
        "maximum": False,
    }
    with memory_errors(count, None), keeping_blocks(for_next=request.bound is None):
        fields, report = execute(
            _with_results(pipeline),
            [{}],
            shared,
            scheduler=scheduler,
            backend=Backend(name, scheduler.task_threads, "pointsets"),
        )
        fields = {name: np.array(host_array(value)) for name, value in fields.items()}
    fields["forest"] = forest_ids(pipeline.name, fields["forest"], 0, count * count)
    report.plan = Plan(
        reason=f"the graph is all pairs of points{reason and '; ' + reason}",
        scheduler=scheduler.name,
        algorithm=pipeline.name,
        backend=name,
    )
    if segment.min_samples > 1:
        graph = with_core(graph, fields["core_distance"])
    return Outcome(fields, report), graph


def _with_results(pipeline: Dataflow) -> Dataflow:
    """Return a dataflow that also returns the forest, and the core distances of its weights."""
    return Dataflow(
        pipeline.name,
        (*pipeline.steps, fragments.sort_forest_ids),
        tuple(dict.fromkeys(("forest", "core_distance", *pipeline.result))),
        pipeline.values,
        pipeline.inputs,
        pipeline.summary,
    )


def _check(algorithm: str, graph: EdgeSource, segment: PointSegment, request: Request) -> None:
    """Refuse options that no algorithm for points supports, and too little memory."""
    given = {
        "maximum": request.maximum,
        "partitions": request.partitions,
        "strategy": request.strategy not in ("auto", "whole"),
        "checkpoint": request.checkpoint,
    }
    for name, value in given.items():
        if value:
            raise OptionError(
                f"algorithm {algorithm!r} does not support {name}=; leave it out, or compute "
                "all pairs by another algorithm, such as algorithm='filter-kruskal'"
            )
    count, axes = segment.rows.shape
    if graph.num_vertices != count:
        raise OptionError(f"num_vertices is {graph.num_vertices}, but there are {count} points")
    check_bound(request.bound, count, axes)
