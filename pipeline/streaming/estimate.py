"""Estimates of the time and the traffic of scans.

`docs/scale.md` works through an example.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from ..report.report import Estimate

if TYPE_CHECKING:
    from .bounds import ScanMemory, Size

#: Seconds to load kernels.
_LOADING = 0.1
#: Nanoseconds of a thread: per edge that a first scan reads; per edge that a later scan reads,
#: which looks up labels; and to compute a forest, per edge and per vertex.
_FIRST, _AGAIN, _HELD, _VERTEX = 5.0, 17.0, 60.0, 30.0
#: The edges that a scan holds: as a share of the capacity if it has dropped a heavier half, and as
#: a share of all edges if few fragments remain.
_STOPPED, _LEFT = 0.75, 0.03


class Rates(NamedTuple):
    """Bytes per second of a worker: from its disk, and over the network."""

    disk: float = 2e9
    network: float = 1e9


def estimate(scans: ScanMemory, capacity: int, num_light: int, rates: Rates) -> Estimate:
    """Estimate a run whose tasks hold `capacity` edges each."""
    size, parts = scans.size, scans.partitions
    vertices, edges = size.num_vertices, size.num_edges
    taken = edges_taken(size, capacity, parts, num_light) if scans.can_rescan else [edges]
    held = min(capacity, math.ceil(max(taken) / parts))
    workers = min(scans.workers, parts)
    record = size.held_edge - 8
    scanning = sum(
        max(
            edges * nanoseconds * 1e-9 / (workers * scans.threads),
            edges * record / rates.disk / workers,
        )
        for nanoseconds in [_FIRST] + [_AGAIN] * (len(taken) - 1)
    )
    solving = sum(_HELD * each / workers for each in taken)
    solving += len(taken) * (1 + scans.levels) * _VERTEX * vertices
    # Each partition sends its forest up the tree and receives the labels.
    forests = sum(min(vertices, held, each / parts) * size.held_edge for each in taken)
    sent = parts * (forests + (len(taken) - 1) * vertices * size.index) if parts > 1 else 0
    seconds = _LOADING + scanning + solving * 1e-9 + sent / rates.network / workers
    return Estimate(len(taken), len(taken) * edges * record, int(sent), seconds)


def edges_taken(size: Size, capacity: int, parts: int, num_light: int) -> list[float]:
    """Return the number of edges that each scan holds, in partitions of up to `capacity`.

    c random edges per vertex reduce n fragments to about n exp(-1.5 c).
    """
    vertices, edges, held = size.num_vertices, size.num_edges, capacity * parts
    if edges <= held and not num_light:
        return [edges]
    taken = [num_light or _STOPPED * held]
    fragments = vertices * math.exp(-1.5 * taken[0] / max(1, vertices))
    while fragments > capacity / 2:
        taken.append(_STOPPED * held)
        fragments *= math.exp(-1.5 * taken[-1] / fragments)
    return [*taken, _LEFT * edges]
