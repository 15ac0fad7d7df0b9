"""The step that `mstflow solve` and `mstflow clusters` share: from the inputs to a forest."""

from __future__ import annotations

import argparse
from typing import Any

from ...forest.forest import Forest
from ...solve import minimum_spanning_forest
from .terminal import Stopwatch, open_inputs, within


def find_forest(
    options: argparse.Namespace, watch: Stopwatch, *, is_streamed: bool, **how: Any
) -> Forest:
    """Read the inputs, and compute their forest within the memory of the command."""
    graph = open_inputs(options, is_streamed=is_streamed)
    watch.stop("read")
    with within(options.memory) as memory:
        return minimum_spanning_forest(
            graph, threads=options.threads, memory=memory, checkpoint=options.checkpoint, **how
        )
