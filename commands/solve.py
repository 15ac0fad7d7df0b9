"""The command `mstflow solve`: read a graph, compute its forest, write it, print a summary."""

from __future__ import annotations

import argparse
import math
import signal
import threading
from collections.abc import Iterator
from typing import Any

from ..forest.forest import Forest
from ..pipeline.catalogue.names import algorithm
from ..pipeline.pipeline import Pipeline
from ..primitives import why_not
from ..runtime.sizes import sizes
from .shared.forest import find_forest
from .shared.terminal import (
    Stopwatch,
    check_files,
    cost_lines,
    costs,
    counts,
    open_output,
    print_lines,
    report,
)


def run(options: argparse.Namespace) -> None:
    """Read the graph, compute and write its forest, and print a summary."""
    watch = Stopwatch(options.started)
    check_files(options)
    watch.stop("start")
    with open_output(options, has_names=options.ends is not None) as output:
        forest = _solve(options, watch)
        facts = _facts(forest)
        watch.stop("solve")
        if output is not None:
            forest.save(output)
            watch.stop("write")
    facts |= costs(watch)
    report(options, facts, lambda: print_lines(_lines(facts, options)))


def _solve(options: argparse.Namespace, watch: Stopwatch) -> Forest:
    """Read the graph and compute its forest."""
    if options.scheduler == "processes":
        _start_resource_tracker()
    return find_forest(
        options,
        watch,
        maximum=options.maximum,
        algorithm=chosen_algorithm(options),
        backend=options.backend,
        scheduler=options.scheduler,
        partitions=options.partitions,
        strategy=options.strategy,
    )


def chosen_algorithm(options: argparse.Namespace) -> str | Pipeline:
    """Return the algorithm with the parameters of --set."""
    if not options.set:
        return str(options.algorithm)
    return algorithm(options.algorithm).given(**dict(options.set))


def _start_resource_tracker() -> None:
    """Start the process that tracks resources of worker processes, and make it ignore SIGHUP.

    A closing terminal sends SIGHUP to all processes. If it ended the tracker, this process would
    print tracebacks about unknown semaphores when it ends.
    """
    if threading.current_thread() is threading.main_thread() and hasattr(signal, "SIGHUP"):
        from multiprocessing import resource_tracker

        previous = signal.signal(signal.SIGHUP, signal.SIG_IGN)
        resource_tracker.ensure_running()
        signal.signal(signal.SIGHUP, previous)


def _facts(forest: Forest) -> dict[str, Any]:
    total = forest.total_weight
    return {
        "vertices": forest.num_vertices,
        "edges": forest.graph.num_edges,
        "components": forest.num_components,
        "forest_edges": len(forest.edge_ids),
        "total_weight": total if math.isfinite(total) else None,
        "algorithm": forest.algorithm,
        "backend": forest.backend,
        "scheduler": forest.scheduler,
        "strategy": forest.strategy,
        "partitions": forest.partitions,
    }


def _lines(facts: dict[str, Any], options: argparse.Namespace) -> Iterator[tuple[str, str]]:
    """Yield the lines of the summary."""
    weight = facts["total_weight"]
    partitions = f", {facts['partitions']} partitions" if facts["partitions"] > 1 else ""
    yield from counts(facts).items()
    yield "total weight", "not finite" if weight is None else str(weight)
    solver = f"{facts['algorithm']} on {facts['backend']}, {facts['scheduler']}"
    yield "by", f"{solver} ({facts['strategy']}{partitions})"
    yield from cost_lines(facts).items()
    if options.output is not None:
        yield "written to", options.output
    is_numpy_chosen = options.backend == "auto" and facts["backend"] == "numpy"
    if is_numpy_chosen and facts["edges"] >= sizes().kernels_loaded_from:
        if why_not("numba"):
            yield "faster", "install the extra `cpu`: its Numba compiles kernels"
        else:
            yield "faster", "mstflow info --compile compiles the kernels once"
