"""Compute the forest of the inputs, for `mstflow solve` and `mstflow clusters`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

from ...forest.forest import Forest
from ...graphs.source import EdgeSource
from ...pipeline.request import is_streamed
from ...solve import minimum_spanning_forest
from .terminal import Stopwatch, open_inputs, within

#: Bytes that Arrow takes to write an output, beside its modules.
_ARROW_OUTPUT = 25_000_000


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
    streams = is_streamed(strategy, scheduler, options.memory)
    graph = open_inputs(options, is_streamed=streams)
    watch.stop("read")
    chosen = {"strategy": strategy, "scheduler": scheduler, **run_options}
    # The modules of a library that writes the output are loaded before.
    has_arrow = options.output is not None and "pyarrow" in sys.modules
    with within(options.memory, _ARROW_OUTPUT if has_arrow else 0) as memory:
        if prepare is not None and memory is not None:
            graph, changes = prepare(graph, options, memory)
            chosen |= changes
        return minimum_spanning_forest(
            graph, threads=options.threads, memory=memory, checkpoint=options.checkpoint, **chosen
        )
