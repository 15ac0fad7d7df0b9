"""The command `mstflow convert`: a graph from one format to another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..progress import heard_by
from .open import open_files
from .read import formats, read
from .source import EdgeSource
from .write import OUTPUTS, check_output, names_folder, write_columns
from .write_stream import Streamed, write_stream

if TYPE_CHECKING:
    import argparse
    import os


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
    add("--format", metavar="F", help=f"where the names do not tell: {', '.join(formats())}")
    add("--weight", default="weight", metavar="W", help="which column holds the weights")


def run(options: argparse.Namespace) -> None:
    """Read what the parsed options name, write it, and say what was written."""
    check_output(options.output)
    with heard_by(True):
        graph = open_inputs(options)
        write_graph(options.output, graph)
    print(f"{graph.num_vertices:,} vertices, {graph.num_edges:,} edges in {options.output}")


def open_inputs(options: argparse.Namespace) -> EdgeSource:
    """Open what the options of `add_inputs` name: one file as a stream, where its format can."""
    how = {"format": options.format, "weight": options.weight}
    if len(options.inputs) == 1:
        return open_files(options.inputs, **how).with_sizes()
    return EdgeSource.of(read(options.inputs, **how))  # one dtype has to hold all weights


def write_graph(path: str | os.PathLike[str], graph: EdgeSource) -> None:
    """Write a graph, edge for edge in order, whole or not at all.

    Parameters
    ----------
    path : path
        `.npz` or a folder, both written as a stream; `.parquet`, `.csv`, `.gr` or `.mtx`.
    graph : EdgeSource
        With its sizes, and columns of one dtype throughout.

    Raises
    ------
    OptionError
        As `write.write_columns`.
    """
    if names_folder(path) or Path(path).suffix == ".npz":
        write_stream(path, Streamed(graph))
        return
    columns = dict(zip(("u", "v", "weight"), graph.columns(), strict=True))
    write_columns(path, columns, num_vertices=graph.num_vertices)
