"""What a graph of some size would take, before it is solved.

The formulae are those of `docs/scale.md`, which holds them against measured runs.
"""

from __future__ import annotations

import dataclasses
import math

from .bounds import Scans, Size
from .scans import DENSE, FILLED, LIGHT_PER_VERTEX

#: Seconds to load kernels.
_LOADING = 0.1
#: Nanoseconds of a thread for each edge: of a first scan, of a later one, which looks labels up,
#: and of those that a scan holds until their forest is found; and for each vertex of that.
_FIRST, _AGAIN, _HELD, _VERTEX = 5.0, 17.0, 60.0, 30.0
#: What a scan keeps: of the capacity, once it had to drop the heavier half; and of all edges, once
#: few fragments are left.
_STOPPED, _LEFT = 0.75, 0.03


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
        Edges that a task will hold.
    peak, least : int
        Bytes of a worker: with as many held, and with the fewest that must fit.
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
    room = scanned.capacity(machine.memory)
    vertices, edges = size.num_vertices, size.num_edges
    taken = edges_taken(size, room, parts)
    held = min(room, math.ceil(max(taken) / parts))
    scans, cores = len(taken), parts * machine.threads
    record = size.held_edge - 8
    scanning = sum(
        max(edges * nanoseconds * 1e-9 / cores, edges * record / machine.disk / parts)
        for nanoseconds in [_FIRST] + [_AGAIN] * (scans - 1)
    )
    solving = sum(_HELD * edges / parts for edges in taken)
    solving += scans * (1 + scanned.levels) * _VERTEX * vertices
    # What a part sends up the tree, and labels that it gets.
    forests = sum(min(vertices, held, each / parts) * size.held_edge for each in taken)
    sent = parts * (forests + (scans - 1) * vertices * size.index) if parts > 1 else 0
    seconds = _LOADING + scanning + solving * 1e-9 + sent / machine.network / parts
    least = scanned.least_memory
    peak = max(scanned.memory(held), least)
    return Estimate(parts, scans, held, peak, least, scans * edges * record, int(sent), seconds)


def edges_taken(size: Size, room: int, parts: int) -> list[float]:
    """Return how many edges each scan takes, of parts that hold as many as there is room for.

    What c random edges for each vertex leave of the fragments is about exp(-1.5 c).
    """
    vertices, edges, held = size.num_vertices, size.num_edges, room * parts
    is_dense = edges > DENSE * vertices
    if edges <= held and not is_dense:
        return [edges]
    taken = [min(LIGHT_PER_VERTEX * vertices, FILLED * held) if is_dense else _STOPPED * held]
    fragments = vertices * math.exp(-1.5 * taken[0] / vertices)
    while fragments > room / 2:
        taken.append(_STOPPED * held)
        fragments *= math.exp(-1.5 * taken[-1] / fragments)
    return [*taken, _LEFT * edges]
