"""What commands share: the files they read, the lines they print, what they took."""

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
    """Give any command that reads a graph its files and what tells how to read them."""
    add = parser.add_argument
    add("inputs", nargs=nargs, metavar="INPUT", help="files that together are one graph")
    add("--format", metavar="F", help=f"where the names do not tell: {', '.join(format_names())}")
    add("--weight", default="weight", metavar="W", help="which column holds the weights")


def open_inputs(options: argparse.Namespace) -> EdgeSource:
    """Open what the options of `add_inputs` name: one file as a stream, where its format can."""
    how = {"format": options.format, "weight": options.weight}
    if len(options.inputs) == 1:
        return open_files(options.inputs, **how).with_sizes()
    return EdgeSource.of(read(options.inputs, **how))  # one dtype has to hold all weights


def print_lines(lines: Iterable[tuple[str, Any]]) -> None:
    """Print a line for each name and value."""
    for name, value in lines:
        print(f"{name:<13} {value}")


def counts(facts: dict[str, Any]) -> dict[str, str]:
    """Return the lines that tell the sizes of a graph and its forest."""
    names = ("vertices", "edges", "components", "forest_edges")
    return {name.replace("_", " "): f"{facts[name]:,}" for name in names}


def costs(facts: dict[str, Any]) -> dict[str, str]:
    """Return the lines that tell the seconds and the memory of a command."""
    return {
        "seconds": ", ".join(f"{spent:.3g} {step}" for step, spent in facts["seconds"].items()),
        "peak memory": f"{facts['peak_rss_bytes'] / 1e6:,.0f} MB",
    }


def rounded(seconds: dict[str, float]) -> dict[str, float]:
    """Return seconds to the microsecond."""
    return {step: round(spent, 6) for step, spent in seconds.items()}


def rss_bytes() -> int:
    """Return the resident memory of this process; on systems that do not tell, its peak."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except OSError:
        return peak_rss_bytes()


def peak_rss_bytes() -> int:
    """Return the largest resident memory this process or one of its children has had."""
    unit = 1 if sys.platform == "darwin" else 1024
    ours, theirs = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
    return unit * max(resource.getrusage(who).ru_maxrss for who in (ours, theirs))
