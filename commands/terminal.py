"""Shared parts of the commands: input arguments, printed lines, time and memory."""

from __future__ import annotations

import resource
import sys
from typing import TYPE_CHECKING, Any

from ..graphs.formats import format_names
from ..graphs.open import open_files
from ..graphs.read import read
from ..graphs.source import EdgeSource

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable


def add_inputs(parser: argparse.ArgumentParser, nargs: str = "+") -> None:
    """Add the input files of a graph, their format, and the name of the weights."""
    add = parser.add_argument
    add("inputs", nargs=nargs, metavar="INPUT", help="files or folders that form one graph")
    formats = f"format, if not clear from the file names: {', '.join(format_names())}"
    add("--format", metavar="F", help=formats)
    add("--weight", default="weight", metavar="W", help="name of the column of weights")


def open_inputs(options: argparse.Namespace) -> EdgeSource:
    """Open the inputs; a single file is streamed if its format supports that."""
    how = {"format": options.format, "weight": options.weight}
    if len(options.inputs) == 1:
        return open_files(options.inputs, **how).with_sizes()
    return EdgeSource.of(read(options.inputs, **how))  # converts all weights to one dtype


def print_lines(lines: Iterable[tuple[str, Any]]) -> None:
    """Print names and values in two columns."""
    for name, value in lines:
        print(f"{name:<13} {value}")


def counts(facts: dict[str, Any]) -> dict[str, str]:
    """Return the lines with the sizes of the graph and the forest."""
    names = ("vertices", "edges", "components", "forest_edges")
    return {name.replace("_", " "): f"{facts[name]:,}" for name in names}


def costs(facts: dict[str, Any]) -> dict[str, str]:
    """Return the lines with the time and memory of the command."""
    return {
        "seconds": ", ".join(f"{spent:.3g} {step}" for step, spent in facts["seconds"].items()),
        "peak memory": f"{facts['peak_rss_bytes'] / 1e6:,.0f} MB",
    }


def rounded(seconds: dict[str, float]) -> dict[str, float]:
    """Return the seconds, rounded to microseconds."""
    return {step: round(spent, 6) for step, spent in seconds.items()}


def rss_bytes() -> int:
    """Return the resident memory of this process, or its peak on systems without /proc."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except OSError:
        return peak_rss_bytes()


def peak_rss_bytes() -> int:
    """Return the peak resident memory of this process and its children, whichever is larger."""
    unit = 1 if sys.platform == "darwin" else 1024
    ours, theirs = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
    return unit * max(resource.getrusage(who).ru_maxrss for who in (ours, theirs))
