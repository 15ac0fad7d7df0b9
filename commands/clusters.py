"""The command `mstflow clusters`: clusters of scored pairs at many thresholds, as a table."""

from __future__ import annotations

import argparse
from typing import Any

from ..graphs.edge_list import EdgeList
from ..graphs.source import EdgeSource
from ..pipeline.catalogue.names import request_for
from ..pipeline.planning.situation import Situation
from ..pipeline.schedulers.scheduler import Workers
from ..pipeline.streaming.bounds import check_bound, check_reading
from ..pipeline.streaming.facts import GraphFacts
from ..primitives import resolve_backend
from ..queries.cluster_table import ClusterTable
from ..queries.thresholds import check_thresholds
from ..runtime.team import kernel_threads
from .shared.forest import find_forest
from .shared.terminal import (
    Stopwatch,
    check_files,
    cost_lines,
    costs,
    open_output,
    print_lines,
    report,
)


def run(options: argparse.Namespace) -> None:
    """Solve, cut at the thresholds, write the table, and print the counts."""
    watch = Stopwatch(options.started)
    check_files(options)
    check_thresholds(options.at)
    watch.stop("start")
    with open_output(options, has_names=True) as output:
        forest = find_forest(options, watch, prepare=_prepare, maximum=options.similarity)
        watch.stop("solve")
        table = forest.clusters(options.at)
        watch.stop("cluster")
        if output is not None:
            table.save(output)
        watch.stop("write")
    facts = {
        "vertices": forest.num_vertices,
        "pairs": forest.graph.num_edges,
        "thresholds": [counts._asdict() for counts in table.counts],
        **costs(watch),
    }
    report(options, facts, lambda: _show(table, facts, options.output))


def _prepare(
    graph: EdgeList | EdgeSource, options: argparse.Namespace, memory: int
) -> tuple[EdgeSource, dict[str, Any]]:
    """Check that a bound is enough for the forest and its clusters.

    Return the graph with its sizes, and options of the solve. A sweep would need less memory than
    the clusters do.
    """
    source, strategy = EdgeSource.of(graph), "scan"
    if not source.is_measured:
        check_reading(source, memory)
        source = source.with_sizes()
    facts, workers = (
        GraphFacts.of(source),
        Workers(task_threads=options.threads or kernel_threads()),
    )
    backend = resolve_backend("auto", facts.num_edges)
    scans = Situation(request_for(), facts, workers, backend).scans()
    check_bound(memory, max(scans.least_memory, scans.clusters_memory), facts, strategy)
    return source, {"strategy": strategy, "backend": backend}


def _show(table: ClusterTable, facts: dict[str, Any], output: str | None) -> None:
    print_lines([(name, f"{facts[name]:,}") for name in ("vertices", "pairs")])
    print(f"\n{'threshold':>12} {'clusters':>15} {'singletons':>15} {'largest':>15}")
    for counts in table.counts:
        row = f"{counts.clusters:>15,} {counts.singletons:>15,} {counts.largest:>15,}"
        print(f"{counts.threshold:>12} {row}")
    print()
    print_lines(cost_lines(facts).items())
    if output is not None:
        print_lines([("written to", output)])
