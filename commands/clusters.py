"""The command `mstflow clusters`: clusters of scored pairs at many thresholds, as a table."""

from __future__ import annotations

import argparse
from typing import Any

from ..doors.write import replacing
from ..errors import OptionError
from ..forest.cluster_table import ClusterTable
from ..forest.hierarchy.thresholds import check_thresholds
from ..pipeline.report.plot import pyplot
from .shared.forest import find_forest
from .shared.terminal import (
    STDOUT,
    Stopwatch,
    check_files,
    cost_lines,
    costs,
    open_output,
    print_lines,
    report,
)


def run(options: argparse.Namespace) -> None:
    """Solve, cut at the thresholds, write the table and the plot, and print the counts."""
    watch = Stopwatch(options.started)
    check_files(options, [options.plot])
    check_thresholds(options.at)
    if options.plot is not None:
        _check_plot(options.plot)
    watch.stop("start")
    with open_output(options, has_names=True) as output:
        # A sweep would need less memory than the clusters do.
        strategy = "auto" if options.memory is None else "two-scan"
        forest = find_forest(options, watch, strategy, maximum=options.similarity)
        watch.stop("solve")
        table = forest.clusters(options.at)
        watch.stop("cluster")
        if output is not None:
            table.save(output)
        if options.plot is not None:
            with replacing(options.plot) as draft:
                table.plot()[0].figure.savefig(draft, format=_suffix(options.plot))
        watch.stop("write")
    facts = {
        "vertices": forest.num_vertices,
        "pairs": forest.graph.num_edges,
        "thresholds": [counts._asdict() for counts in table.counts],
        **costs(watch),
    }
    written = [path for path in (options.output, options.plot) if path not in (None, STDOUT)]
    report(options, facts, lambda: _show(table, facts, written))


def _check_plot(path: str) -> None:
    """Check that matplotlib is installed and supports this suffix."""
    pyplot()
    from matplotlib.backend_bases import FigureCanvasBase

    known, suffix = FigureCanvasBase.get_supported_filetypes(), _suffix(path)
    if suffix not in known:
        message = f"{path}: cannot draw {suffix!r}; use one of {', '.join(sorted(known))}"
        raise OptionError(message)


def _suffix(path: str) -> str:
    return path.rpartition(".")[2].lower()


def _show(table: ClusterTable, facts: dict[str, Any], written: list[str]) -> None:
    print_lines([(name, f"{facts[name]:,}") for name in ("vertices", "pairs")])
    print(f"\n{'threshold':>12} {'clusters':>15} {'singletons':>15} {'largest':>15}")
    for counts in table.counts:
        row = f"{counts.clusters:>15,} {counts.singletons:>15,} {counts.largest:>15,}"
        print(f"{counts.threshold:>12} {row}")
    print()
    print_lines([*cost_lines(facts).items(), *[("written to", path) for path in written]])
