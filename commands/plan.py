"""The command `mstflow plan`: show how a graph would be solved, and estimate memory and time."""

from __future__ import annotations

import argparse
import math
from dataclasses import replace
from typing import Any

from ..errors import OptionError
from ..graphs.source import EdgeSource
from ..pipeline.catalogue.names import request_for
from ..pipeline.options import check_count, parse_bytes
from ..pipeline.planning.costs import Rates
from ..pipeline.planning.plan import Plan, plan
from ..pipeline.planning.situation import Situation
from ..pipeline.request import is_streamed
from ..pipeline.schedulers.scheduler import Workers
from ..pipeline.streaming.facts import GraphFacts
from ..primitives import resolve_backend
from ..runtime.host import processors, show_bytes
from ..runtime.team import kernel_threads
from .shared.terminal import open_inputs, print_lines, report, rss_bytes, with_slack, within


def run(options: argparse.Namespace) -> None:
    """Print the plan that `mstflow solve` would follow with the same options."""
    graph = _graph(options)
    check_count("workers", options.workers, 1)
    rates = Rates(parse_bytes(options.disk, "disk"), parse_bytes(options.network, "network"))
    workers = _workers(options)
    process_bytes = rss_bytes()  # after the graph is opened, as in `solve`
    with within(options.memory) as memory:
        request = request_for(
            strategy=options.strategy,
            partitions=options.partitions,
            threads=options.threads,
            memory=memory,
        )
        backend = resolve_backend("auto", graph.num_edges)
        planned = plan(Situation(request, graph, workers, backend), rates)
    facts = _facts(planned, workers, graph.num_edges, process_bytes)
    lines = {
        "graph": f"{graph.num_vertices:,} vertices, {graph.num_edges:,} edges",
        "strategy": f"{planned.strategy} ({planned.reason}); partitions: {planned.partitions}",
        "by": f"{planned.algorithm} on {planned.backend}, {planned.scheduler}",
        **_cost_lines(facts, " for each task" if workers.is_cluster else ""),
    }
    report(options, facts, lambda: print_lines(lines.items()))


def _workers(options: argparse.Namespace) -> Workers:
    """Return the description of the scheduler and its workers."""
    name, threads = options.scheduler, options.threads
    if options.workers > 1 or name not in ("inline", "synchronous", "threads", "processes"):
        return Workers("distributed", options.workers, threads or 1, is_cluster=True, eager=False)
    if name == "inline":
        return Workers(task_threads=threads or kernel_threads())
    workers = 1 if name == "synchronous" else threads or processors()
    return Workers(name, workers, eager=False)


def _facts(planned: Plan, workers: Workers, num_edges: int, process_bytes: int) -> dict[str, Any]:
    """Return a plan, ready for JSON; `process_bytes` is the memory before the solve."""
    estimate = {} if planned.estimate is None else planned.estimate._asdict()
    peak, least = planned.memory, planned.least_memory
    return {
        "algorithm": planned.algorithm,
        "backend": planned.backend,
        "strategy": planned.strategy,
        "reason": planned.reason,
        "scheduler": planned.scheduler,
        "threads": workers.task_threads,
        "partitions": planned.partitions,
        "peak": None if peak is None else peak + process_bytes,
        "least": None if least is None else least + with_slack(process_bytes),
        "task_edges": min(planned.capacity, num_edges),
        **estimate,
    }


def _cost_lines(facts: dict[str, Any], of_task: str) -> dict[str, str]:
    """Return lines to print; `of_task` is appended to the memory of one task."""
    lines = {}
    if facts["peak"] is not None:
        # The peak may equal the bound, and must not seem to exceed it.
        lines["peak memory"] = show_bytes(facts["peak"], math.floor) + of_task
        lines["least memory"] = f"{show_bytes(facts['least'])}{of_task} (the smallest --memory)"
        lines["edges held"] = f"at most {facts['task_edges']:,} in each task"
    if "scans" in facts:
        lines["scans"] = str(facts["scans"])
        lines["read"] = show_bytes(facts["read"])
        lines["sent"] = show_bytes(facts["sent"])
        if facts["rounds"]:
            lines["rounds"] = f"about {facts['rounds']}"
        if facts["written"]:
            disk = show_bytes(facts["disk"])
            lines["written"] = f"{show_bytes(facts['written'])}; at most {disk} on disk at once"
        lines["time"] = f"about {facts['seconds']:,.1f} s"
    return lines


def _graph(options: argparse.Namespace) -> GraphFacts:
    sizes = options.vertices, options.edges
    if options.inputs:
        if sizes != (None, None):
            message = "plan takes either files or --vertices and --edges"
            raise OptionError(message)
        source = EdgeSource.of(open_inputs(options, is_streamed=True))
        graph = GraphFacts.of(source.with_sizes())
        streams = is_streamed(options.strategy, _workers(options).name, options.memory)
        is_loaded = options.ends is None and not streams
        return replace(graph, is_in_memory=True) if is_loaded else graph
    if None in sizes:
        message = "plan needs either files or --vertices and --edges"
        raise OptionError(message)
    if options.vertices < 1 <= options.edges:
        message = "a graph with edges needs vertices; --vertices is 0"
        raise OptionError(message)
    return GraphFacts(*sizes, options.weight_bytes)
