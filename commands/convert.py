"""The command `mstflow convert`: write a graph in another format."""

from __future__ import annotations

import argparse

from ..graphs.write import check_output, check_overwrite, write_graph
from ..progress import set_listener
from .shared.terminal import open_measured, output_path, print_size


def run(options: argparse.Namespace) -> None:
    """Read the inputs, write the output, and print its size."""
    check_overwrite([options.output], options.inputs)
    with output_path(options.output) as output:
        check_output(output, has_names=options.ends is not None)
        with set_listener(not options.quiet):
            graph = open_measured(options)
            write_graph(output, graph)
    print_size(options, graph)
