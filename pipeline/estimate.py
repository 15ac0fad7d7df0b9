"""The command `mstflow plan`: what a graph of some size would take, before it is solved.

The formulae are those of `docs/scale.md`, which holds them against measured runs.
"""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING

from ..errors import OptionError
from ..graphs.open import open_files
from .bounds import MemoryBoundError, Scans, Size, parse_bytes, show_bytes
from .scans import DENSE
from .schedulers import kernel_threads

if TYPE_CHECKING:
    import argparse

#: Nanoseconds of a thread for each edge: of a first scan, of a later one, which looks labels up,
#: and of those that a scan holds until their forest is found; and for each vertex of that.
_FIRST, _AGAIN, _HELD, _VERTEX = 5.0, 17.0, 60.0, 30.0
#: Edges for each vertex that a first scan takes, and the share of all that a later one holds.
_LIGHT, _LEFT = 1.5, 0.03


@dataclasses.dataclass(frozen=True)
class Machine:
    """What a run has: workers, the threads and memory of each, and bytes a second.

    `memory` is None for as much as is wanted. Rates are those of a worker, from its disk and
    between it and the others.
    """

    workers: int
    threads: int
    memory: int | None
    disk: float
    network: float


@dataclasses.dataclass(frozen=True)
class Estimate:
    """What a run by two scans (`scans`) takes.

    Attributes
    ----------
    partitions, scans : int
    held : int
        Edges that a task holds.
    peak, least : int
        Bytes of a worker: with as many held, and with the fewest that will do.
    read, sent : int
        Bytes from disks and between workers, all in all.
    seconds : float
    """

    partitions: int
    scans: int
    held: int
    peak: int
    least: int
    read: int
    sent: int
    seconds: float


def estimate(size: Size, machine: Machine, *, split_every: int = 4) -> Estimate:
    """Estimate a run of as many partitions as there are workers.

    Raises
    ------
    MemoryBoundError
        If it is not feasible. Says what would be.
    """
    parts = machine.workers
    scanned = Scans(size, "two-scan", parts, split_every, machine.threads, spills=parts > 1)
    held = scanned.capacity(machine.memory)
    vertices, edges = size.num_vertices, size.num_edges
    light = min(_LIGHT * vertices, 0.75 * held * parts)
    is_one = edges <= min(held * parts, DENSE * vertices)
    scans = 1 if is_one else 1 + -int(-_LIGHT * vertices // max(light, 1))
    record = size.held_edge - 8
    read = scans * edges * record
    forests = min(vertices, held) * size.held_edge  # what a part sends up the tree at most
    sent = (
        0 if parts == 1 else scans * parts * forests + (scans - 1) * parts * (vertices * size.index)
    )
    streaming = [_FIRST] + [_AGAIN] * (scans - 1)
    cores = parts * machine.threads
    scanning = sum(
        max(edges * nanoseconds * 1e-9 / cores, edges * record / machine.disk / parts)
        for nanoseconds in streaming
    )
    solved = light if scans > 1 else edges
    solving = scans * (_HELD * solved / parts + (1 + scanned.levels) * _VERTEX * vertices) * 1e-9
    solving += _HELD * 1e-9 * (_LEFT * edges / parts if scans > 1 else 0)
    seconds = scanning + solving + sent / machine.network / parts
    peak, least = scanned.memory(held), scanned.least_memory
    return Estimate(parts, scans, held, peak, least, int(read), int(sent), seconds)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Give the command its options."""
    add = command.add_argument
    add("inputs", nargs="*", metavar="INPUT", help="files that together are one graph")
    add("--vertices", type=float, metavar="N", help="instead of files")
    add("--edges", type=float, metavar="M", help="instead of files")
    add("--weight-bytes", type=int, default=4, metavar="B", help="default: %(default)s")
    add("--memory", metavar="SIZE", help="of a worker")
    add("--workers", type=int, default=1, metavar="W", help="default: this process alone")
    add("--threads", type=int, default=kernel_threads(), metavar="T", help="of a worker")
    add("--disk", default="2GB", metavar="RATE", help="bytes a second of a worker's disk")
    add("--network", default="1GB", metavar="RATE", help="bytes a second of a worker")
    add("--json", action="store_true", help="print one JSON object")


def run(options: argparse.Namespace, own: int) -> None:
    """Print what the parsed options ask for; `own` is what a process takes anyway, in bytes."""
    size = _size(options)
    memory = None if options.memory is None else parse_bytes(options.memory) - own
    machine = Machine(
        options.workers,
        options.threads,
        memory,
        parse_bytes(options.disk),
        parse_bytes(options.network),
    )
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
        "strategy": f"two-scan: {found.scans} scans of {found.partitions} partitions",
        "peak memory": f"{show_bytes(found.peak)} a worker; at least {show_bytes(found.least)}",
        "edges held": f"{found.held:,} a task",
        "read": show_bytes(found.read),
        "sent": show_bytes(found.sent),
        "time": f"about {found.seconds:,.1f} s",
    }
    for name, text in lines.items():
        print(f"{name:<13} {text}")


def _size(options: argparse.Namespace) -> Size:
    if options.inputs:
        return Size.of(open_files(options.inputs).with_sizes())
    if options.vertices is None or options.edges is None:
        message = "plan needs --vertices and --edges, or files"
        raise OptionError(message)
    return Size(int(options.vertices), int(options.edges), options.weight_bytes)
