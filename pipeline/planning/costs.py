"""Estimates of the time, traffic and disk space of a run; `docs/scale.md` has an example."""

from __future__ import annotations

import math
from typing import NamedTuple

from ...runtime.host import processors
from ..schedulers.scheduler import Workers
from ..streaming.bounds import FORESTS_OF_LAST_SCAN, FORESTS_PER_FOLD, ScanMemory, SweepMemory
from ..streaming.buckets import edges_moved
from ..streaming.facts import GraphFacts
from ..streaming.threads import readers

#: The first of two scans keeps the lightest edges, this many per vertex: fewer than
#: `filter-boruvka`, to save memory.
_LIGHT_PER_VERTEX = 1.5
#: The largest share of the capacity for light edges. The weight up to which edges are light is
#: estimated from a sample, so there may be more; a buffer that overflows drops its heavier half.
_LIGHT_SHARE = 7 / 8
#: Edges per vertex above which a second scan is faster than holding all edges and
#: computing their forest.
_DENSE = 6
#: The share of the capacity in use after a buffer has overflowed.
_SHARE_AFTER_DROP = 0.75
#: The share of all edges that the last scan keeps.
_SHARE_OF_LAST_SCAN = 0.03

#: Seconds to load stored kernels, in a new process.
_LOADING = 0.7
#: The time of a thread per edge, in nanoseconds: in a first scan, and in a later one, which also
#: looks up the fragments of the ends. Measured on two cores with T = 1 and 2, `.npy` files, R-MAT
#: graphs of 2^21 to 2^23 vertices, a random one of 2^22, and a grid of 2000 x 2000 vertices.
#: `docs/scale.md` compares the estimates with these runs.
_FIRST_READ, _LATER_READ = 9.0, 16.0
#: The further time of a thread to decode an edge of a file, by format, and of other formats, which
#: are text. One thread parses text.
_DECODED = {"": 0.0, "npy": 0.0, "npz": 0.0, "bin": 0.0, "parquet": 3.0, "arrow": 3.0}
_PARSED = 120.0
#: The time of a thread to compute a forest, in nanoseconds: per edge and per vertex. Two threads
#: take half of it; more were not measured.
_FOREST_EDGE, _FOREST_VERTEX, _FOREST_THREADS = 50.0, 15.0, 2
#: The time of a thread in a sweep, in nanoseconds: per edge, to choose its bucket; and for each
#: time that an edge is written to a bucket and read again.
_DEALT, _MOVED = 50.0, 70.0

#: What several workers gain and lose if rounds run over their partitions. Each edge is loaded,
#: selected and relabelled by one of them: nanoseconds of an edge. Most light edges, and the edges
#: that remain, are sent to one worker, which joins them: nanoseconds per vertex. Stages follow each
#: other from worker to worker: seconds. Fitted to R-MAT 23, random 23 and a grid of 3000 x 3000
#: vertices on two cores, by `python -m benchmarks record workers`.
_SHARED_EDGE, _SENT_VERTEX, _TURNS = 10.0, 50.0, 0.08


class Estimate(NamedTuple):
    """The estimated cost of a run that streams a graph.

    `read`, `sent` and `written` are the total bytes read from disks, sent between workers, and
    written to buckets. `disk` is the largest number of bytes on disk at the same time.
    """

    scans: int
    read: int
    sent: int
    seconds: float
    written: int = 0
    disk: int = 0
    #: Rounds of exchanges between ranks.
    rounds: int = 0


class Rates(NamedTuple):
    """Bytes per second of a worker: from its disk, and over the network."""

    disk: float = 2e9
    network: float = 1e9


def cost_of_scans(scans: ScanMemory, capacity: int, num_light: int, rates: Rates) -> Estimate:
    """Estimate the cost of scans whose tasks hold `capacity` edges each."""
    graph, parts, scheduler = scans.graph, scans.partitions, scans.scheduler
    vertices, edges, workers = graph.num_vertices, graph.num_edges, min(scheduler.workers, parts)
    kept = edges_kept(graph, capacity, parts, num_light) if scans.can_rescan else [edges]
    num_scans, kept_by_task = len(kept), min(capacity, math.ceil(max(kept) / parts))
    read, threads = graph.scanned_bytes, _threads(scheduler, workers)
    decoded = _DECODED.get(graph.format_name, 0.0)
    parsed = 0.0 if graph.format_name in _DECODED else _PARSED
    scanning = sum(
        max(max((each + decoded) / threads, parsed) * 1e-9 * edges, read / rates.disk) / workers
        for each in [_FIRST_READ] + [_LATER_READ] * (num_scans - 1)
    )
    solving = _FOREST_EDGE * 1e-9 * sum(kept) / workers
    solving += num_scans * (1 + scans.levels) * _FOREST_VERTEX * 1e-9 * vertices
    solving /= min(_FOREST_THREADS, scheduler.task_threads)
    # Each partition sends its forest up the tree and receives the labels.
    forests = sum(min(vertices, kept_by_task, count / parts) * graph.edge_bytes for count in kept)
    labels = (num_scans - 1) * vertices * graph.index_bytes
    sent = parts * (forests + labels) if parts > 1 else 0
    seconds = _LOADING + scanning + solving + sent / rates.network / workers
    return Estimate(num_scans, num_scans * read, int(sent), seconds)


def _threads(scheduler: Workers, workers: int) -> float:
    """Return the number of threads that read blocks and select edges in a task at the same time.

    A thread more than those of the task reads ahead, if there is a processor for it.
    """
    if scheduler.is_cluster:
        return scheduler.task_threads
    return max(1.0, min(readers(scheduler.task_threads), processors() / workers))


def choose_num_light(graph: GraphFacts, capacity: int, partitions: int) -> int:
    """Return the number of light edges of the first scan; 0 if it starts without a limit."""
    can_fold = graph.num_vertices <= capacity // FORESTS_PER_FOLD
    can_hold = graph.num_edges <= capacity * partitions
    is_dense = graph.num_edges > _DENSE * graph.num_vertices
    if not graph.can_sample or (not is_dense and (can_fold or can_hold)):
        return 0
    return int(min(_LIGHT_PER_VERTEX * graph.num_vertices, _LIGHT_SHARE * capacity * partitions))


def edges_kept(graph: GraphFacts, capacity: int, parts: int, num_light: int) -> list[float]:
    """Return the number of edges that each scan keeps, in tasks of up to `capacity`.

    The number of scans is exact if each task can hold its partition. Otherwise it is that of a
    random graph, in which c edges per vertex reduce n fragments to about n exp(-1.5 c).
    """
    vertices, edges, total_capacity = graph.num_vertices, graph.num_edges, capacity * parts
    can_hold = edges <= total_capacity
    if can_hold and not num_light:
        return [edges]
    kept = [num_light or _SHARE_AFTER_DROP * total_capacity]
    fragments = vertices * math.exp(-1.5 * kept[0] / max(1, vertices))
    while fragments > capacity / FORESTS_OF_LAST_SCAN and not can_hold:
        kept.append(_SHARE_AFTER_DROP * total_capacity)
        fragments *= math.exp(-1.5 * kept[-1] / fragments)
    return [*kept, _SHARE_OF_LAST_SCAN * edges]


def seconds_gained(graph: GraphFacts, workers: int) -> float:
    """Estimate the time that rounds over partitions on several workers save, or lose if negative.

    One worker that has all edges sends none.
    """
    shared = _SHARED_EDGE * 1e-9 * graph.num_edges * (1 - 1 / workers)
    return shared - _SENT_VERTEX * 1e-9 * graph.num_vertices - _TURNS


def cost_of_sweep(memory: SweepMemory, capacity: int, rates: Rates) -> Estimate:
    """Estimate the cost of a sweep that holds `capacity` edges."""
    graph, vertices, edges = memory.graph, memory.graph.num_vertices, memory.graph.num_edges
    moved = edges_moved(vertices, edges, capacity)
    # Buckets and files of forest ids are written and read; a large result is a further file.
    stored = int(moved * graph.keyed_edge_bytes) + vertices * graph.edge_id_bytes
    written = stored + (8 * vertices if vertices > capacity else 0)
    read = graph.scanned_bytes + stored
    computing = (edges * _DEALT + moved * _MOVED) * 1e-9 / memory.scheduler.task_threads
    seconds = _LOADING + max(computing, (read + written) / rates.disk)
    disk = (edges + min(edges, capacity)) * graph.keyed_edge_bytes
    return Estimate(1, read, 0, seconds, written, disk)
