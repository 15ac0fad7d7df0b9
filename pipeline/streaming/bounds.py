"""The memory model: the number of edges that a task can hold within a memory bound.

Sizes are peak bytes per edge or vertex. `docs/scale.md` lists all terms.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ...errors import MemoryBoundError
from ...graphs.segments import File
from ...graphs.source import BLOCK_EDGES, EdgeSource
from ...runtime.sizes import sizes

if TYPE_CHECKING:
    from ..schedulers.scheduler import Workers
    from .facts import GraphFacts

#: Bytes of loaded kernels, of Dask if it runs the tasks, and of the blocks of each thread.
_KERNELS, _DASK, _THREAD = 160_000_000, 40_000_000, 64 * BLOCK_EDGES
#: Bytes per thread for its tile of a grid, and for the columns that tiles share.
_TILE = 50_000_000
#: Bytes per partition that the system's allocator keeps.
_PARTITION = 5_000_000
#: Bytes per edge to read a segment that cannot be read in blocks: twice its columns.
_READ_EDGE = 48
#: Bytes while rounds run over partitions: per edge (keys and light edges, without the columns), per
#: vertex (fragments and levels), and per vertex of each partial result that waits to be combined.
_ROUND_EDGE, _ROUND_VERTEX, _ROUND_MINIMUM = 20, 96, 12
#: Bytes per edge of a bucket while its forest is computed, beside its columns: a rank of 64 bits, a
#: copy of an end, a record of 16 bytes, and idle blocks of the pool. Bytes per tile of a random
#: order.
_SWEPT_EDGE, _TILE_RANK = 56, 40
#: Bytes of a sweep beside these: its kernels, and what the allocator of the system keeps.
_SWEEP = 200_000_000
#: If the bound allows it, a task holds at least `_COMFORTABLE` edges, and at least 4 n / p edges
#: for n vertices and p partitions (at most `_PARTS`). A forest of the fragments after the first
#: scan then fits three times.
_COMFORTABLE, _PARTS = 2**24, 12

#: A first scan without a limit replaces a full buffer by its forest only if a forest is at most
#: 1 / `FOLD_SHARE` of the buffer. Otherwise a second scan takes less time.
FOLD_SHARE = 8
#: A later scan has no limit if a forest of its fragments is at most 1 / `LAST_SHARE` of the buffer.
LAST_SHARE = 3


def rounds_bytes(graph: GraphFacts) -> int:
    """Return the bytes of the edges of all partitions while rounds run over them."""
    return graph.num_edges * (graph.held_edge + _ROUND_EDGE)


def tiles_bytes(graph: GraphFacts, partitions: int, scheduler: Workers) -> int:
    """Return the bytes of the strategy "tiles".

    This is the maximum over three phases: tiles are joined, the remaining edges are sorted, and the
    ids in the result are converted to 64 bits. Several partitions are in memory twice while they
    are concatenated.
    """
    left, edge_id = graph.tiles_leave or 0, 4 if graph.num_edges < 2**31 else 8
    sorting = graph.num_vertices * edge_id + left * (2 * graph.held_edge + 2 * graph.weight + 20)
    copies = min(2, partitions)
    joining = copies * graph.num_vertices * (graph.index + edge_id) + left * 2 * graph.held_edge
    result = graph.num_vertices * (edge_id + 9)
    tasks = scheduler.sharing(partitions)
    threads = tasks * (_KERNELS + scheduler.task_threads * _TILE)
    return threads + max(joining, sorting, result)


@dataclass(frozen=True)
class ScanMemory:
    """The memory of the tasks of a run that scans a graph."""

    graph: GraphFacts
    strategy: str
    partitions: int
    split_every: int
    scheduler: Workers

    @property
    def can_rescan(self) -> bool:
        """Whether a later scan may select edges that an earlier scan skipped."""
        return self.strategy == "two-scan"

    @property
    def tasks(self) -> int:
        """Number of tasks that share the memory."""
        return self.scheduler.sharing(self.partitions)

    @cached_property
    def levels(self) -> int:
        """Number of levels of the merge tree."""
        levels = 0
        while self.split_every**levels < self.partitions:
            levels += 1
        return levels

    @property
    def least_memory(self) -> int:
        """The smallest number of bytes that all tasks together need."""
        return self.tasks * self.memory(self._least)

    def terms(self, capacity: int) -> dict[str, int]:
        """Return the bytes of a task that holds `capacity` edges, by their use."""
        vertices, several = self.graph.num_vertices, self.partitions > 1
        forest = min(capacity, vertices)
        thread = _THREAD + self.graph.at_once * _READ_EDGE
        return {
            "kernels": _KERNELS,
            "Dask": 0 if self.scheduler.eager else _DASK,
            "blocks": self.scheduler.task_threads * thread,
            "allocator": self.partitions * _PARTITION if several else 0,
            "vertices": vertices * self._vertex,
            "waiting forests": forest * self._waiting_edge,
            "edges": max(capacity, self._fan * forest) * self._solved_edge,
        }

    def memory(self, capacity: int) -> int:
        """Return the bytes of a task that holds `capacity` edges."""
        return max(sum(self.terms(capacity).values()), self._rounds)

    def capacity(self, memory: int | None, option: str = "memory=") -> int:
        """Return the number of edges that each task may hold if all tasks share `memory` bytes.

        An error states the source of this bound as `option`.
        """
        vertices, parts = self.graph.num_vertices, self.partitions
        share = min(parts, _PARTS) if self.can_rescan else 1
        wanted = min(self._largest, max(4 * vertices // share, _COMFORTABLE))
        if memory is None:
            return max(self._least, wanted)
        if memory < self.least_memory:
            purpose = f"for strategy {self.strategy!r} with {vertices:,} vertices"
            purpose += f" in {parts} partitions" if parts > 1 else ""
            raise MemoryBoundError.of(memory, self.least_memory, purpose, option)
        room = memory // self.tasks - sum(self.terms(0).values())
        # The forest of a buffer grows with the buffer until it connects all vertices.
        held = room // (self._waiting_edge + self._fan * self._solved_edge)
        if held > vertices:
            held = (room - vertices * self._waiting_edge) // self._solved_edge
        return max(self._least, min(wanted, held))

    @property
    def _largest(self) -> int:
        """The number of edges of the largest partition."""
        return -(-self.graph.num_edges // self.partitions)

    @cached_property
    def _least(self) -> int:
        """The smallest number of edges that a task must hold.

        Without another scan, a forest of n vertices must fit twice. If another scan may follow, a
        quarter of a forest, divided by the number of partitions, is enough.
        """
        vertices = self.graph.num_vertices
        wanted = vertices // (4 * self.partitions) if self.can_rescan else 2 * vertices
        return max(2 * BLOCK_EDGES, min(self._largest, wanted))

    @property
    def _is_iterated(self) -> bool:
        return self.strategy == "iterate"

    @property
    def _spills(self) -> bool:
        """Whether the workers of a cluster spill the forests of all partitions to disk."""
        return self._is_iterated and self.scheduler.is_cluster

    @property
    def _fan(self) -> int:
        """The number of results that one task merges."""
        return 1 if self._is_iterated else min(self.split_every, self.partitions)

    @property
    def _results(self) -> int:
        """The number of partial results in memory while they are combined."""
        return self.levels * (min(self.split_every, self.partitions) - 1) + 1

    @property
    def _forests(self) -> int:
        """The number of forests in memory: of all partitions if rounds run over them."""
        if self._is_iterated:
            return 1 if self._spills else -(-self.partitions // self.tasks)
        return self._results

    @property
    def _waiting_edge(self) -> int:
        """Bytes per edge of the forests that wait to be merged."""
        return self._forests * self.graph.held_edge if self.levels and not self._spills else 0

    @cached_property
    def _solved_edge(self) -> int:
        """Bytes per edge, held or merged, while the forest is computed.

        Kruskal's algorithm needs keys, and records of 16 bytes. For keys of too many bits it needs
        two records of key and position instead, and both ends in order. Edges of the forest count
        with the vertices. An eighth is added for several partitions: a reused block may be larger
        than needed.
        """
        edge = self.graph.held_edge + 2 * self.graph.weight + 16
        return edge + edge // 8 if self.partitions > 1 else edge

    @property
    def _vertex(self) -> int:
        """Bytes per vertex.

        While a forest is computed and ends are replaced by fragments, four arrays are in use, and
        the pool may hold two more idle blocks. Between scans, a vertex has a fragment, an edge id
        and the key of a spoke.
        """
        index = self.graph.index
        return 6 * index + (index + 8 + self.graph.weight if self.can_rescan else 0)

    @cached_property
    def _rounds(self) -> int:
        """Bytes while rounds run over the forests of all partitions."""
        if not self._is_iterated:
            return 0
        vertices, terms = self.graph.num_vertices, self.terms(0)
        edges = self._forests * min(self._largest, vertices) * (self.graph.held_edge + _ROUND_EDGE)
        fields = vertices * (_ROUND_VERTEX + self._results * _ROUND_MINIMUM)
        return terms["kernels"] + terms["Dask"] + edges + fields


@dataclass(frozen=True)
class SweepMemory:
    """The memory of a sweep, which is a single task."""

    graph: GraphFacts
    scheduler: Workers

    @property
    def edge_id(self) -> int:
        """Bytes of an edge id."""
        return 4 if self.graph.num_edges < 2**31 else 8

    @property
    def stored_edge(self) -> int:
        """Bytes of an edge in a bucket: two ends, key and id."""
        return 2 * self.graph.index + self.graph.weight + self.edge_id

    @property
    def least_memory(self) -> int:
        """The smallest number of bytes that a sweep needs."""
        return self.memory(2 * BLOCK_EDGES)

    def memory(self, capacity: int) -> int:
        """Return the bytes of a sweep that holds `capacity` edges.

        At the end, memory holds the ids of the forest as they were stored and as the result.
        """
        edges = self._shared + capacity * (self.stored_edge + _SWEPT_EDGE)
        return max(edges, _SWEEP + self.graph.num_vertices * (self.edge_id + 8))

    def capacity(self, memory: int | None, option: str = "memory=") -> int:
        """Return the number of edges that a sweep may hold; see `ScanMemory.capacity`."""
        if memory is None:
            return _COMFORTABLE
        if memory < self.least_memory:
            purpose = f"for strategy 'sweep' with {self.graph.num_vertices:,} vertices"
            raise MemoryBoundError.of(memory, self.least_memory, purpose, option)
        room = (memory - self._shared) // (self.stored_edge + _SWEPT_EDGE)
        return max(2 * BLOCK_EDGES, min(room, self.graph.num_edges))

    @property
    def _shared(self) -> int:
        """Bytes beside the edges and the result."""
        threads = self.scheduler.task_threads * (_THREAD + self.graph.at_once * _READ_EDGE)
        tiles = self.graph.num_vertices // sizes().tile * _TILE_RANK
        return _SWEEP + threads + tiles


def check_reading(source: EdgeSource, memory: int) -> None:
    """Check that a bound on memory holds the segment that is read as a whole, before it is read."""
    for segment in source.segments:
        needed = _KERNELS + _THREAD + segment.edges_at_once * _READ_EDGE
        if segment.edges_at_once and memory < needed:
            by = f" by format {segment.format!r}" if isinstance(segment, File) else ""
            purpose = f"to read {segment.origin[0]}, which cannot be read in small blocks{by}"
            purpose += " (a folder of .npy columns can), and maybe more to solve it"
            raise MemoryBoundError.of(memory, needed, purpose)
