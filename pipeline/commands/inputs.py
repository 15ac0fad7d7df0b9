"""The files that commands read: what names them, and how to read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...graphs.open import open_files
from ...graphs.read import formats, read
from ...graphs.source import EdgeSource

if TYPE_CHECKING:
    import argparse


def add_inputs(parser: argparse.ArgumentParser, nargs: str = "+") -> None:
    """Give any command that reads a graph its files and what tells how to read them."""
    add = parser.add_argument
    add("inputs", nargs=nargs, metavar="INPUT", help="files that together are one graph")
    add("--format", metavar="F", help=f"where the names do not tell: {', '.join(formats())}")
    add("--weight", default="weight", metavar="W", help="which column holds the weights")


def open_inputs(options: argparse.Namespace) -> EdgeSource:
    """Open what the options of `add_inputs` name: one file as a stream, where its format can."""
    how = {"format": options.format, "weight": options.weight}
    if len(options.inputs) == 1:
        return open_files(options.inputs, **how).with_sizes()
    return EdgeSource.of(read(options.inputs, **how))  # one dtype has to hold all weights
