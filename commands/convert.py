"""The command `mstflow convert`: a graph from one format to another."""

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
    """Give the command its inputs and output."""
    add_inputs(parser)
    parser.add_argument(
        "-o", "--output", required=True, metavar="OUT", help=f"{OUTPUTS}, or a new folder"
    )


def run(options: argparse.Namespace) -> None:
    """Read what the parsed options name, write it, and say what was written."""
    check_output(options.output)
    with set_listener(True):
        graph = open_inputs(options)
        write_graph(options.output, graph)
    print(f"{graph.num_vertices:,} vertices, {graph.num_edges:,} edges in {options.output}")
