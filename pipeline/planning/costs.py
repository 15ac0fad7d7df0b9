"""The estimated cost of strategies that stream a graph; `docs/scale.md` has an example."""

from __future__ import annotations

import math
from typing import NamedTuple

from ..streaming.bounds import FOLD_SHARE, LAST_SHARE, ScanMemory, SweepMemory
from ..streaming.buckets import edges_moved
from ..streaming.facts import GraphFacts

#: Light edges per vertex that the first of two scans takes. There are fewer than in
#: `filter-boruvka`, to save memory.
_LIGHT_PER_VERTEX = 1.5
#: The share of the capacity to fill. The limit for light edges is estimated from a sample, and a
#: buffer that overflows drops its heavier half.
_FILLED = 7 / 8
#: Edges per vertex above which a second scan is faster than holding and joining all edges.
_DENSE = 6

#: Seconds to load kernels.
_LOADING = 0.1
#: Nanoseconds of a thread: per edge that a first scan reads; per edge that a later scan reads,
#: which looks up labels; and to compute a forest, per edge and per vertex.
_FIRST, _AGAIN, _HELD, _VERTEX = 5.0, 17.0, 60.0, 30.0
#: Nanoseconds of a thread per edge that a sweep deals to buckets, and per edge that it moves.
_DEALT, _MOVED = 50.0, 70.0
#: The edges that a scan holds: as a share of the capacity if it has dropped a heavier half, and as
#: a share of all edges if few fragments remain.
_STOPPED, _LEFT = 0.75, 0.03


class Estimate(NamedTuple):
    """The estimated cost of a run that scans a graph.

    `read` and `sent` are the total bytes read from disks, and sent between workers. `written` are
    the bytes written to buckets on disk, and `disk` those on disk at the same time.
    """

    scans: int
    read: int
    sent: int
    seconds: float
    written: int = 0
    disk: int = 0


class Rates(NamedTuple):
    """Bytes per second of a worker: from its disk, and over the network."""

    disk: float = 2e9
    network: float = 1e9


def cost_of_scans(scans: ScanMemory, capacity: int, num_light: int, rates: Rates) -> Estimate:
    """Estimate time and traffic of scans whose tasks hold `capacity` edges each."""
    graph, parts, scheduler = scans.graph, scans.partitions, scans.scheduler
    vertices, edges, workers = graph.num_vertices, graph.num_edges, min(scheduler.workers, parts)
    taken = edges_taken(graph, capacity, parts, num_light) if scans.can_rescan else [edges]
    held = min(capacity, math.ceil(max(taken) / parts))
    read = edges * (graph.held_edge - 8)
    computing = edges * 1e-9 / (workers * scheduler.task_threads)
    scanning = sum(
        max(nanoseconds * computing, read / rates.disk / workers)
        for nanoseconds in [_FIRST] + [_AGAIN] * (len(taken) - 1)
    )
    solving = sum(_HELD * each / workers for each in taken)
    solving += len(taken) * (1 + scans.levels) * _VERTEX * vertices
    # Each partition sends its forest up the tree and receives the labels.
    forests = sum(min(vertices, held, each / parts) * graph.held_edge for each in taken)
    sent = parts * (forests + (len(taken) - 1) * vertices * graph.index) if parts > 1 else 0
    seconds = _LOADING + scanning + solving * 1e-9 + sent / rates.network / workers
    return Estimate(len(taken), len(taken) * read, int(sent), seconds)


def num_light(graph: GraphFacts, capacity: int, partitions: int) -> int:
    """Return the number of light edges of the first scan; 0 if it needs no limit."""
    folds = graph.num_vertices <= capacity // FOLD_SHARE
    if folds and graph.num_edges <= _DENSE * graph.num_vertices:
        return 0
    return int(min(_LIGHT_PER_VERTEX * graph.num_vertices, _FILLED * capacity * partitions))


def edges_taken(graph: GraphFacts, capacity: int, parts: int, num_light: int) -> list[float]:
    """Return the number of edges that each scan holds, in partitions of up to `capacity`.

    c random edges per vertex reduce n fragments to about n exp(-1.5 c).
    """
    vertices, edges, held = graph.num_vertices, graph.num_edges, capacity * parts
    if edges <= held and not num_light:
        return [edges]
    taken = [num_light or _STOPPED * held]
    fragments = vertices * math.exp(-1.5 * taken[0] / max(1, vertices))
    while fragments > capacity / LAST_SHARE:
        taken.append(_STOPPED * held)
        fragments *= math.exp(-1.5 * taken[-1] / fragments)
    return [*taken, _LEFT * edges]


def cost_of_sweep(memory: SweepMemory, capacity: int, rates: Rates) -> Estimate:
    """Estimate time and traffic of a sweep that holds `capacity` edges."""
    graph, threads = memory.graph, memory.scheduler.task_threads
    moved = edges_moved(graph.num_vertices, graph.num_edges, capacity)
    kept = int(moved * memory.stored_edge) + graph.num_vertices * graph.edge_id
    read = graph.num_edges * (graph.held_edge - 8) + kept
    written = kept + (8 * graph.num_vertices if graph.num_vertices > capacity else 0)
    computing = (graph.num_edges * _DEALT + moved * _MOVED) * 1e-9 / threads
    seconds = _LOADING + max(computing, (read + written) / rates.disk)
    disk = (graph.num_edges + min(graph.num_edges, capacity)) * memory.stored_edge
    return Estimate(1, read, 0, seconds, written, disk)
