"""The time and the traffic of a run by scans, before it starts.

The formulae are those of `docs/scale.md`, which compares them with measured runs.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from ..decided import Estimate

if TYPE_CHECKING:
    from .bounds import Scans, Size

#: Seconds to load kernels.
_LOADING = 0.1
#: Nanoseconds of a thread for each edge: of a first scan, of a later one, which looks labels up,
#: and of those that a scan holds until their forest is found; and for each vertex of that.
_FIRST, _AGAIN, _HELD, _VERTEX = 5.0, 17.0, 60.0, 30.0
#: What a scan keeps: of the capacity, once it had to drop the heavier half; and of all edges, once
#: few fragments are left.
_STOPPED, _LEFT = 0.75, 0.03


class Rates(NamedTuple):
    """Bytes a second of a worker: from its disk, and between it and the others."""

    disk: float = 2e9
    network: float = 1e9


def estimate(scans: Scans, capacity: int, num_light: int, rates: Rates) -> Estimate:
    """Estimate a run by scans whose tasks hold `capacity` edges at a time."""
    size, parts = scans.size, scans.partitions
    vertices, edges = size.num_vertices, size.num_edges
    several = scans.strategy == "two-scan"
    taken = edges_taken(size, capacity, parts, num_light) if several else [edges]
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
    # What a partition sends up the tree, and the labels that it gets.
    forests = sum(min(vertices, held, each / parts) * size.held_edge for each in taken)
    sent = parts * (forests + (len(taken) - 1) * vertices * size.index) if parts > 1 else 0
    seconds = _LOADING + scanning + solving * 1e-9 + sent / rates.network / workers
    return Estimate(len(taken), held, len(taken) * edges * record, int(sent), seconds)


def edges_taken(size: Size, capacity: int, parts: int, num_light: int) -> list[float]:
    """Return how many edges each scan takes, of partitions that hold up to `capacity`.

    What c random edges for each vertex leave of the fragments is about exp(-1.5 c).
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
