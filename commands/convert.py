"""The command `mstflow convert`: write a graph in another format."""

from __future__ import annotations

import argparse

from ..doors.write import check_overwrite, write_graph
from .shared.terminal import open_output, open_with_sizes, print_size


def run(options: argparse.Namespace) -> None:
    """Read the inputs, write the output, and print its size."""
    check_overwrite([options.output], options.inputs)
    with open_output(options, has_names=options.ends is not None) as output:
        graph = open_with_sizes(options)
        write_graph(output, graph)
    print_size(options, graph)
