"""The command `mstflow convert`: write a graph in another format."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..graphs.formats import OUTPUTS
from ..graphs.write import check_output, write_graph
from ..progress import set_listener
from .terminal import add_inputs, open_inputs

if TYPE_CHECKING:
    import argparse

SUMMARY = "write a graph in another format"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to its parser."""
    add_inputs(parser)
    parser.add_argument(
        "-o", "--output", required=True, metavar="OUT", help=f"file ({OUTPUTS}) or new folder"
    )


def run(options: argparse.Namespace) -> None:
    """Read the inputs, write the output, and print its size."""
    check_output(options.output)
    with set_listener(True):
        graph = open_inputs(options)
        write_graph(options.output, graph)
    print(f"{graph.num_vertices:,} vertices, {graph.num_edges:,} edges in {options.output}")
