"""The command `mstflow convert`: a graph from one format to another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from .generate import write_stream
from .read import FORMATS, read
from .write import OUTPUTS, check_output, names_folder, write_columns

if TYPE_CHECKING:
    import argparse
    import os

    from .edge_list import EdgeList


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Give the command its inputs and output."""
    add_inputs(parser)
    parser.add_argument(
        "-o", "--output", required=True, metavar="OUT", help=f"{OUTPUTS}, or a new folder"
    )


def add_inputs(parser: argparse.ArgumentParser, nargs: str = "+") -> None:
    """Give any command that reads a graph its files and what tells how to read them."""
    add = parser.add_argument
    add("inputs", nargs=nargs, metavar="INPUT", help="files that together are one graph")
    add("--format", metavar="F", help=f"where the names do not tell: {', '.join(FORMATS)}")
    add("--weight", default="weight", metavar="W", help="which column holds the weights")


def run(options: argparse.Namespace) -> None:
    """Read what the parsed options name, write it, and say what was written."""
    check_output(options.output)
    graph = read(options.inputs, format=options.format, weight=options.weight)
    write_graph(options.output, graph)
    print(f"{graph.num_vertices:,} vertices, {graph.num_edges:,} edges in {options.output}")


def write_graph(path: str | os.PathLike[str], graph: EdgeList) -> None:
    """Write a graph, edge for edge in order, whole or not at all.

    Parameters
    ----------
    path : path
        `.npz` or a folder, both written as a stream; `.parquet`, `.csv`, `.gr` or `.mtx`.
    graph : EdgeList

    Raises
    ------
    OptionError
        As `write.write_columns`.
    """
    if names_folder(path) or Path(path).suffix == ".npz":
        write_stream(path, graph)
        return
    columns = {"u": graph.u, "v": graph.v, "weight": graph.weight}
    write_columns(path, columns, num_vertices=graph.num_vertices)
