"""Compute the forest of the inputs, for `mstflow solve` and `mstflow clusters`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from ...forest.forest import Forest
from ...graphs.source import EdgeSource
from ...pipeline.options import Options
from ...solve import minimum_spanning_forest
from .terminal import Stopwatch, open_inputs, within


def find_forest(
    options: argparse.Namespace,
    watch: Stopwatch,
    strategy: str = "auto",
    scheduler: Any = "inline",
    prepare: Callable[..., tuple[EdgeSource, dict[str, Any]]] | None = None,
    **run_options: Any,
) -> Forest:
    """Read the inputs, and compute their forest within the memory of the command.

    If memory is bounded, `prepare(graph, options, memory)` checks the bound, and returns the graph
    and options of the solve.
    """
    is_streamed = Options(memory=options.memory, strategy=strategy, scheduler=scheduler).streams
    graph = open_inputs(options, is_streamed=is_streamed)
    watch.stop("read")
    chosen = {"strategy": strategy, "scheduler": scheduler, **run_options}
    with within(options.memory) as memory:
        if prepare is not None and memory is not None:
            graph, changes = prepare(graph, options, memory)
            chosen |= changes
        return minimum_spanning_forest(
            graph, threads=options.threads, memory=memory, checkpoint=options.checkpoint, **chosen
        )
