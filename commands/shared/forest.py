"""Compute the forest of the inputs, for `mstflow solve` and `mstflow clusters`."""

from __future__ import annotations

import argparse
from typing import Any

from ...forest.forest import Forest
from ...pipeline.options import Options
from ...solve import minimum_spanning_forest
from .terminal import Stopwatch, open_inputs, within


def find_forest(
    options: argparse.Namespace,
    watch: Stopwatch,
    strategy: str = "auto",
    scheduler: Any = "inline",
    **run_options: Any,
) -> Forest:
    """Read the inputs, and compute their forest within the memory of the command."""
    is_streamed = Options(memory=options.memory, strategy=strategy, scheduler=scheduler).streams
    graph = open_inputs(options, is_streamed=is_streamed)
    watch.stop("read")
    with within(options.memory) as memory:
        return minimum_spanning_forest(
            graph,
            strategy=strategy,
            scheduler=scheduler,
            threads=options.threads,
            memory=memory,
            checkpoint=options.checkpoint,
            **run_options,
        )
