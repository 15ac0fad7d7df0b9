"""The command `mstflow plan`: what a graph of some size would take, before it is solved."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json

from ..errors import MemoryBoundError, OptionError
from ..graphs.open import open_files
from ..pipeline.options import check_count
from ..pipeline.run.schedulers import kernel_threads
from ..pipeline.streaming.bounds import Size, parse_bytes, show_bytes
from ..pipeline.streaming.estimate import Machine, estimate
from .terminal import add_inputs, print_lines, rss_bytes

SUMMARY = "tell what a graph of some size would take"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Give the command its options."""
    add_inputs(parser, nargs="*")
    add = parser.add_argument
    add("--vertices", type=_count, metavar="N", help="instead of files")
    add("--edges", type=_count, metavar="M", help="instead of files")
    widths = "1, 2, 4 or 8; default: %(default)s"
    add("--weight-bytes", type=int, choices=(1, 2, 4, 8), default=4, metavar="B", help=widths)
    add("--memory", metavar="SIZE", help="of a worker")
    add("--workers", type=int, default=1, metavar="W", help="default: this process alone")
    add("--threads", type=int, default=kernel_threads(), metavar="T", help="of a worker")
    add("--disk", default="2GB", metavar="RATE", help="bytes a second of a worker's disk")
    add("--network", default="1GB", metavar="RATE", help="bytes a second of a worker")
    add("--json", action="store_true", help="print one JSON object")


def run(options: argparse.Namespace) -> None:
    """Print an estimate; a worker takes what this process takes, too."""
    own, size = rss_bytes(), _size(options)
    memory = None if options.memory is None else parse_bytes(options.memory) - own
    check_count("workers", options.workers, 1)
    check_count("threads", options.threads, 1)
    rates = parse_bytes(options.disk, "disk"), parse_bytes(options.network, "network")
    machine = Machine(options.workers, options.threads, memory, *rates)
    try:
        found = estimate(size, machine)
    except MemoryBoundError as error:
        message = f"not feasible: each worker needs at least {show_bytes(error.needed + own)}"
        raise OptionError(message) from error
    found = dataclasses.replace(found, peak=found.peak + own, least=found.least + own)
    if options.json:
        print(json.dumps(dataclasses.asdict(found)))
        return
    lines = {
        "graph": f"{size.num_vertices:,} vertices, {size.num_edges:,} edges",
        "strategy": f"two-scan; scans: {found.scans}, partitions: {found.partitions}",
        "peak memory": f"{show_bytes(found.peak)} a worker; at least {show_bytes(found.least)}",
        "edges held": f"{found.held:,} a task",
        "read": show_bytes(found.read),
        "sent": show_bytes(found.sent),
        "time": f"about {found.seconds:,.1f} s",
    }
    print_lines(lines.items())


def _count(text: str) -> int:
    """Return a number that may be written as 1e9."""
    with contextlib.suppress(ValueError, OverflowError):
        if (count := int(value := float(text))) == value and count >= 0:
            return count
    message = f"expected a whole number, found {text!r}"
    raise argparse.ArgumentTypeError(message)


def _size(options: argparse.Namespace) -> Size:
    sizes = options.vertices, options.edges
    if options.inputs:
        if sizes != (None, None):
            message = "plan takes files, or --vertices and --edges"
            raise OptionError(message)
        return Size.of(open_files(options.inputs, options.format, options.weight).with_sizes())
    if None in sizes:
        message = "plan needs --vertices and --edges, or files"
        raise OptionError(message)
    if options.vertices < 1 <= options.edges:
        message = "edges need vertices"
        raise OptionError(message)
    return Size(*sizes, options.weight_bytes)
