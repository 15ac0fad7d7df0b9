"""Shared parts of the commands: input arguments, printed lines, time and memory."""

from __future__ import annotations

import contextlib
import resource
import shutil
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from ...errors import MemoryBoundError, OptionError
from ...graphs.formats import OUTPUTS, format_names
from ...graphs.names.number import number_graph
from ...graphs.open import open_files
from ...graphs.read import read
from ...graphs.source import EdgeSource
from ...pipeline.options import parse_bytes
from ...runtime.host import show_bytes

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator

#: The name of standard output as an output.
STDOUT = "-"
#: The meaning of --threads for each kind of scheduler.
THREADS = (
    "inline: threads of compiled kernels; threads, processes: tasks that run at once, with one "
    "thread each; on a cluster: threads of each task, by default 1"
)


def add_inputs(parser: argparse.ArgumentParser, nargs: str = "+") -> None:
    """Add the input files of a graph, their format, and the names of their columns."""
    add = parser.add_argument
    add("inputs", nargs=nargs, metavar="INPUT", help="files or folders that form one graph")
    formats = f"format, if not clear from the file names: {', '.join(format_names())}"
    add("--format", metavar="F", help=formats)
    add("--weight", default="weight", metavar="W", help="name of the column of weights")
    ends = "columns of the two ends; their values are names of vertices, strings or integers"
    add("--ends", nargs=2, metavar=("LEFT", "RIGHT"), help=ends)


def add_output(parser: argparse.ArgumentParser, *, required: bool = True) -> None:
    """Add the output file or folder, and --quiet."""
    places = f"file ({OUTPUTS}), new folder, or - for CSV on standard output"
    parser.add_argument("-o", "--output", required=required, metavar="OUT", help=places)
    parser.add_argument("--quiet", action="store_true", help="print only errors and results")


@contextlib.contextmanager
def output_path(output: str) -> Iterator[str]:
    """Yield the path to write to; copy it to standard output at the end if the output is -."""
    if output != STDOUT:
        yield output
        return
    with TemporaryDirectory(prefix="mstflow-") as folder:
        path = Path(folder) / "output.csv"
        yield str(path)
        sys.stdout.flush()
        with path.open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)


class Stopwatch:
    """Wall-clock seconds of consecutive steps, whose sum is the time since the start.

    Parameters
    ----------
    started : float
        A value of `time.perf_counter`.
    """

    def __init__(self, started: float) -> None:
        self.seconds: dict[str, float] = {}
        self._last = started

    def stop(self, step: str) -> None:
        """End a step, which began at the end of the previous step."""
        now = time.perf_counter()
        self.seconds[step] = round(now - self._last, 6)
        self._last = now


def open_inputs(options: argparse.Namespace) -> EdgeSource:
    """Open the inputs; a single file is streamed if its format supports that."""
    how = {"format": options.format, "weight": options.weight}
    if options.ends is not None:
        return EdgeSource.of(read(options.inputs, ends=options.ends, **how))
    if len(options.inputs) == 1:
        return open_files(options.inputs, **how).with_sizes()
    return EdgeSource.of(read(options.inputs, **how))  # converts all weights to one dtype


def open_named(options: argparse.Namespace, inputs: list[str], **how: Any) -> Any:
    """Open inputs whose vertices have names, within the memory bound of the command."""
    with within(options.memory) as memory:
        bounds: dict[str, Any] = {"memory": memory, "checkpoint": vars(options).get("checkpoint")}
        return number_graph(inputs, options.ends, how.pop("weight"), **bounds, **how)


def print_lines(lines: Iterable[tuple[str, Any]]) -> None:
    """Print names and values in two columns."""
    for name, value in lines:
        print(f"{name:<13} {value}")


def print_size(options: argparse.Namespace, graph: Any) -> None:
    """Print the size of the written graph, unless it was written to standard output."""
    if not options.quiet and options.output != STDOUT:
        print(f"{graph.num_vertices:,} vertices, {graph.num_edges:,} edges in {options.output}")


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


@contextlib.contextmanager
def within(memory: str | None) -> Iterator[int | None]:
    """Yield the memory bound minus the memory that this process already uses."""
    if memory is None:
        yield None
        return
    bound, held = parse_bytes(memory), rss_bytes()
    try:
        yield max(1, bound - held)
    except MemoryBoundError as error:
        needed = show_bytes(error.needed + held)
        message = f"--memory {memory} is too small: at least {needed} are needed ({error})"
        raise OptionError(message) from error
