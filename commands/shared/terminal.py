"""Helpers of several commands: open inputs and outputs, print results, measure time and memory."""

from __future__ import annotations

import argparse
import contextlib
import json
import resource
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ...doors.read import open_graph
from ...doors.write import check_output, check_overwrite
from ...errors import MemoryBoundError, OptionError
from ...graphs.edge_list import EdgeList
from ...graphs.reading import READING
from ...graphs.source import EdgeSource
from ...pipeline.options import parse_bytes
from ...pipeline.streaming.checkpoint import hold_checkpoint
from ...progress import set_listener
from ...runtime.host import printable
from ...runtime.scratch import scratch_folder
from ...runtime.team import kernel_threads, sharing

#: The value of -o for standard output.
STDOUT = "-"
#: The share by which the memory of a process may differ when the same command runs again.
_SLACK = 0.05


def check_files(options: argparse.Namespace) -> None:
    """Check that no output replaces another file, and that standard output has only one use."""
    if options.output == STDOUT and options.json:
        raise OptionError("-o - and --json both write to standard output; choose one")
    check_overwrite(filter(None, (options.output, options.checkpoint)), options.inputs)


@contextlib.contextmanager
def open_output(options: argparse.Namespace, *, has_names: bool = False) -> Iterator[Any]:
    """Check the output, and yield the path to write to, or None. Show progress unless --quiet.

    If the output is -, a temporary file is copied to standard output at the end.
    """
    with contextlib.ExitStack() as stack:
        path = options.output
        if path == STDOUT:
            path = stack.enter_context(scratch_folder()) + "/output.csv"
        if path is not None:
            check_output(path, has_names=has_names)
        with set_listener(not options.quiet):
            yield path
        if options.output == STDOUT:
            sys.stdout.flush()
            with open(path, "rb") as file:
                shutil.copyfileobj(file, sys.stdout.buffer)


class Stopwatch:
    """Wall-clock seconds of consecutive steps, whose sum is the time since the start."""

    def __init__(self, started: float, clock: Callable[[], float] = time.perf_counter) -> None:
        self.seconds: dict[str, float] = {}
        self._last, self._clock = started, clock

    def stop(self, step: str) -> None:
        """End a step, which began at the end of the previous step."""
        now = self._clock()
        self.seconds[step] = round(now - self._last, 6)
        self._last = now


def open_inputs(options: argparse.Namespace, *, is_streamed: bool) -> EdgeList | EdgeSource:
    """Load the inputs, or open them as a source that streams the formats that can be streamed.

    The memory bound of the command also holds for the numbering of vertices with names.
    """
    bound, checkpoint = (vars(options).get(name) for name in ("memory", "checkpoint"))
    threads = vars(options).get("threads") or kernel_threads()
    with sharing(threads), hold_checkpoint(checkpoint), within(bound) as memory:
        return open_graph(
            options.inputs,
            is_streamed=is_streamed,
            memory=memory,
            checkpoint=checkpoint,
            **{name: value for name, value in vars(options).items() if name in READING},
        )


def open_with_sizes(options: argparse.Namespace) -> EdgeSource:
    """Open the inputs as a source whose numbers of vertices and edges are known."""
    return EdgeSource.of(open_inputs(options, is_streamed=True)).with_sizes()


def report(options: argparse.Namespace, facts: dict[str, Any], show: Callable[[], object]) -> None:
    """Print facts as JSON, or show them as text unless standard output must have no text."""
    if options.json:
        print(json.dumps(facts))
    elif not vars(options).get("quiet") and vars(options).get("output") != STDOUT:
        show()


def print_lines(lines: Iterable[tuple[str, Any]]) -> None:
    """Print names and values in two columns."""
    for name, value in lines:
        print(printable(f"{name:<13} {value}"))


def print_size(options: argparse.Namespace, graph: Any) -> None:
    """Print the size of the written graph, unless it was written to standard output."""
    if not options.quiet and options.output != STDOUT:
        size = f"{graph.num_vertices:,} vertices, {graph.num_edges:,} edges"
        print(printable(f"{size} in {options.output}"))


def counts(facts: dict[str, Any]) -> dict[str, str]:
    """Return the lines with the sizes of the graph and the forest."""
    names = ("vertices", "edges", "components", "forest_edges")
    return {name.replace("_", " "): f"{facts[name]:,}" for name in names}


def costs(watch: Stopwatch) -> dict[str, Any]:
    """Return the time and memory of the command so far, ready for JSON."""
    return {"seconds": watch.seconds, "peak_rss_bytes": peak_rss_bytes()}


def cost_lines(facts: dict[str, Any]) -> dict[str, str]:
    """Return the lines with the time and memory of the command."""
    steps = facts["seconds"]
    listed = ", ".join(f"{spent:.2f} {step}" for step, spent in steps.items())
    return {
        "seconds": f"{sum(steps.values()):.2f} ({listed})",
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
    theirs = unit * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    try:  # on Linux, ru_maxrss is at least the memory of the process that started this one
        with open("/proc/self/status") as file:
            ours = next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM:"))
    except (OSError, StopIteration):
        ours = unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return max(ours, theirs)


@contextlib.contextmanager
def within(memory: str | None, reserved: int = 0) -> Iterator[int | None]:
    """Yield a memory bound minus the resident memory of this process and `reserved` bytes.

    If the rest is too small, the error states the smallest bound of the whole process.
    """
    if memory is None:
        yield None
        return
    bound, held = parse_bytes(memory), rss_bytes() + reserved
    try:
        yield max(1, bound - held)
    except MemoryBoundError as error:
        raise error.beside(bound, with_slack(held), "this process", "--memory ") from error


def with_slack(held: int) -> int:
    """Return the most memory that this process may hold when the same command runs again."""
    return int(held * (1 + _SLACK))
