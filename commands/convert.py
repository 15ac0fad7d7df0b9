"""The command `mstflow convert`: write a graph in another format."""

from __future__ import annotations

import argparse

from ..graphs.write import check_overwrite, write_graph
from ..progress import set_listener
from .shared.terminal import checked_output, open_with_sizes, print_size


def run(options: argparse.Namespace) -> None:
    """Read the inputs, write the output, and print its size."""
    check_overwrite([options.output], options.inputs)
    has_names = options.ends is not None
    with (
        checked_output(options.output, has_names=has_names) as output,
        set_listener(not options.quiet),
    ):
        graph = open_with_sizes(options)
        write_graph(output, graph)
    print_size(options, graph)
