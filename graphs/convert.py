"""The command `mstflow convert`: a graph from one format to another."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .generate import write_stream
from .open import open_files
from .read import FORMATS, read
from .source import EdgeSource
from .write import OUTPUTS, check_output, names_folder, write_columns

if TYPE_CHECKING:
    import argparse
    import os
    from collections.abc import Iterator, Mapping

    import numpy as np
    from numpy.typing import NDArray


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
    graph = open_inputs(options)
    write_graph(options.output, graph)
    print(f"{graph.num_vertices:,} vertices, {graph.num_edges:,} edges in {options.output}")


def open_inputs(options: argparse.Namespace) -> EdgeSource:
    """Open what the options of `add_inputs` name: one file as a stream, where its format can."""
    how = {"format": options.format, "weight": options.weight}
    if len(options.inputs) == 1:
        return open_files(options.inputs, **how).with_sizes()
    return EdgeSource.of(read(options.inputs, **how))  # one dtype has to hold all weights


@dataclass(frozen=True)
class Streamed:
    """A graph with known sizes, and columns of one dtype throughout, as `write_stream` takes it."""

    source: EdgeSource

    @property
    def num_vertices(self) -> int:
        """Number of vertices."""
        return self.source.num_vertices or 0

    @property
    def num_edges(self) -> int:
        """Number of edges."""
        return self.source.num_edges or 0

    @property
    def dtypes(self) -> Mapping[str, np.dtype[Any]]:
        """Dtypes of the columns `u`, `v` and `w`."""
        columns = self.source.first_columns()
        return {name: column.dtype for name, column in zip("uvw", columns, strict=True)}

    def chunks(self, size: int) -> Iterator[tuple[NDArray[Any], ...]]:
        """Read all edges in order, about `size` at a time."""
        return (read() for *_, read in self.source.blocks(size))


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
