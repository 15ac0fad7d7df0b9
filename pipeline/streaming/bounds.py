"""The memory model of scans: the number of edges that a task can hold within a memory bound.

Sizes are peak bytes per edge or vertex. `docs/scale.md` lists all terms.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from ...errors import MemoryBoundError
from ...graphs.segments import File
from ...graphs.source import BLOCK_EDGES, EdgeSource

if TYPE_CHECKING:
    from ..run.schedulers import Workers

#: Bytes of loaded kernels, of Dask if it runs the tasks, and of the blocks of each thread.
_KERNELS, _DASK, _THREAD = 160_000_000, 40_000_000, 64 * BLOCK_EDGES
#: Bytes per thread for its tile of a grid, and for the columns that tiles share.
_TILE = 50_000_000
#: Bytes per partition that the system's allocator keeps.
_PARTITION = 5_000_000
#: Bytes per edge to read a segment that cannot be read in blocks: twice its columns.
_READ_EDGE = 48
#: Bytes on a device per edge (edge ids, keys and positions of light edges, without the columns) and
#: per vertex (records and the fields of rounds) if it holds the whole graph. Not yet measured.
_DEVICE_EDGE, _DEVICE_VERTEX = 16, 64
#: Edges that a device sorts and joins at once, and the bytes of each meanwhile. Not yet measured.
_SORTED, _SORTED_EDGE = 2**22, 48
#: Bytes while rounds run over partitions: per edge (keys and light edges, without the columns), per
#: vertex (fragments and levels), and per vertex of each partial result that waits to be combined.
_ROUND_EDGE, _ROUND_VERTEX, _ROUND_MINIMUM = 20, 96, 12
#: If the bound allows it, a task holds at least `_COMFORTABLE` edges, and at least 4 n / p edges
#: for n vertices and p partitions (at most `_PARTS`). A forest of the fragments after the first
#: scan then fits three times.
_COMFORTABLE, _PARTS = 2**24, 12

#: A first scan without a limit replaces a full buffer by its forest only if a forest is at most
#: 1 / `FOLD_SHARE` of the buffer. Otherwise a second scan takes less time.
FOLD_SHARE = 8
#: A later scan has no limit if a forest of its fragments is at most 1 / `LAST_SHARE` of the buffer.
LAST_SHARE = 3


@dataclass(slots=True)  # creating a frozen one takes three times as long
class Graph:
    """The properties of a graph on which memory and a plan depend."""

    num_vertices: int
    num_edges: int
    #: Bytes of a weight.
    weight: int = 4
    #: Number of edges of the largest segment that cannot be read in blocks.
    at_once: int = 0
    is_in_memory: bool = False
    is_read_once: bool = False
    #: If the graph is a grid, the largest number of edges that remain after its tiles are joined.
    tiles_leave: int | None = None
    #: Number of chunks that Dask computes; 0 for other graphs.
    num_chunks: int = 0
    #: Bytes that the graph and its solution need on a GPU.
    device_bytes: int = 0

    @classmethod
    def of(cls, source: EdgeSource, num_chunks: int = 0, *, for_device: bool = False) -> Self:
        """Return the properties of a source; an iterator may have any number of edges."""
        return cls(
            source.num_vertices or 0,
            sys.maxsize if source.num_edges is None else source.num_edges,
            8 if source.weight_dtype is None else source.weight_dtype.itemsize,
            source.edges_at_once,
            source.is_in_memory,
            source.is_read_once,
            source.tiles_leave,
            num_chunks,
            device_bytes(source) if for_device else 0,
        )

    @property
    def index(self) -> int:
        """Bytes of a vertex id."""
        return 4 if self.num_vertices <= 2**31 else 8

    @property
    def held_edge(self) -> int:
        """Bytes of an edge in a buffer: two ends, weight and id."""
        return 2 * self.index + self.weight + 8

    @property
    def rounds_bytes(self) -> int:
        """Bytes of the edges of all partitions while rounds run over them."""
        return self.num_edges * (self.held_edge + _ROUND_EDGE)


def device_bytes(source: EdgeSource) -> int:
    """Return the bytes of device memory that the whole graph and its solution need."""
    graph = Graph.of(source)
    u, v, weight = (column.itemsize for column in source.first_columns())
    index = graph.index
    columns = 0 if source.is_on_device else max(u, index) + max(v, index) + weight
    held = graph.num_edges * (columns + _DEVICE_EDGE) + graph.num_vertices * _DEVICE_VERTEX
    return held + min(graph.num_edges, _SORTED) * _SORTED_EDGE


def tiles_bytes(graph: Graph, partitions: int, where: Workers) -> int:
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
    tasks = where.sharing(partitions)
    return tasks * (_KERNELS + where.task_threads * _TILE) + max(joining, sorting, result)


class ScanMemory:
    """The memory of the tasks of a run that scans a graph."""

    def __init__(
        self, graph: Graph, strategy: str, partitions: int, split_every: int, where: Workers
    ) -> None:
        self.graph, self.strategy, self.partitions, self.where = graph, strategy, partitions, where
        vertices, held, index = graph.num_vertices, graph.held_edge, graph.index
        is_iterated = strategy == "iterate"
        #: Whether a later scan may select edges that an earlier scan skipped.
        self.can_rescan = strategy == "two-scan"
        #: Number of tasks that share the memory.
        self.tasks = where.sharing(partitions)
        #: Number of levels of the merge tree.
        self.levels = 0
        while split_every**self.levels < partitions:
            self.levels += 1

        # The smallest number of edges that a task must hold. Without another scan, a forest of n
        # vertices must fit twice. If another scan may follow, a quarter of a forest, divided by the
        # number of partitions, is enough.
        self._most = -(-graph.num_edges // partitions)
        wanted = vertices // (4 * partitions) if self.can_rescan else 2 * vertices
        self._least = max(2 * BLOCK_EDGES, min(self._most, wanted))

        # The number of results that one task combines, and of results in memory meanwhile. Rounds
        # run over the forests of all partitions; the workers of a cluster spill these to disk.
        fan = min(split_every, partitions)
        results = self.levels * (fan - 1) + 1
        spills = is_iterated and where.is_cluster
        forests = 1 if spills else -(-partitions // self.tasks) if is_iterated else results
        self._fan = 1 if is_iterated else fan

        # Bytes per edge of the forests that wait to be merged.
        self._waiting_edge = forests * held if self.levels and not spills else 0
        # Bytes per edge, held or merged, while the forest is computed. Kruskal's algorithm needs
        # keys, and records of 16 bytes. For keys of too many bits it needs two records of key and
        # position instead, and both ends in order. Edges of the forest count with the vertices. An
        # eighth is added for several partitions: a reused block may be larger than needed.
        self._solved_edge = held + 2 * graph.weight + 16
        if partitions > 1:
            self._solved_edge += self._solved_edge // 8
        # Bytes that do not depend on the number of edges held. While a forest is computed and ends
        # are replaced by fragments, four arrays are in use, and the pool may hold two more idle
        # blocks. Between scans, a vertex has a fragment, an edge id and the key of a spoke.
        loaded = _KERNELS + (0 if where.eager else _DASK)
        vertex = 6 * index + (index + 8 + graph.weight if self.can_rescan else 0)
        threads = where.task_threads * (_THREAD + graph.at_once * _READ_EDGE)
        kept = partitions * _PARTITION if partitions > 1 else 0
        self._fixed = loaded + kept + threads + vertices * vertex
        # Bytes while rounds run over the forests of all partitions.
        edges = forests * min(self._most, vertices) * (held + _ROUND_EDGE)
        rounds = loaded + edges + vertices * (_ROUND_VERTEX + results * _ROUND_MINIMUM)
        self._rounds = rounds if is_iterated else 0
        #: The smallest number of bytes that all tasks together need.
        self.least_memory = self.tasks * self.memory(self._least)

    def memory(self, capacity: int) -> int:
        """Return the bytes of a task that holds `capacity` edges."""
        forest = min(capacity, self.graph.num_vertices)
        solved = max(capacity, self._fan * forest) * self._solved_edge
        return max(self._fixed + forest * self._waiting_edge + solved, self._rounds)

    def capacity(self, memory: int | None, option: str = "memory=") -> int:
        """Return the number of edges that each task may hold if all tasks share `memory` bytes.

        An error states the source of this bound as `option`.
        """
        vertices, parts = self.graph.num_vertices, self.partitions
        share = min(parts, _PARTS) if self.can_rescan else 1
        wanted = min(self._most, max(4 * vertices // share, _COMFORTABLE))
        if memory is None:
            return max(self._least, wanted)
        if memory < self.least_memory:
            purpose = f"for strategy {self.strategy!r} with {vertices:,} vertices"
            purpose += f" in {parts} partitions" if parts > 1 else ""
            raise MemoryBoundError.of(memory, self.least_memory, purpose, option)
        room = memory // self.tasks - self._fixed
        # The forest of a buffer grows with the buffer until it connects all vertices.
        held = room // (self._waiting_edge + self._fan * self._solved_edge)
        if held > vertices:
            held = (room - vertices * self._waiting_edge) // self._solved_edge
        return max(self._least, min(wanted, held))


def check_reading(source: EdgeSource, memory: int) -> None:
    """Check that a bound on memory holds the segment that is read as a whole, before it is read."""
    for segment in source.segments:
        needed = _KERNELS + _THREAD + segment.edges_at_once * _READ_EDGE
        if segment.edges_at_once and memory < needed:
            by = f" by format {segment.format!r}" if isinstance(segment, File) else ""
            purpose = f"to read {segment.origin[0]}, which cannot be read in small blocks{by}"
            purpose += " (a folder of .npy columns can), and maybe more to solve it"
            raise MemoryBoundError.of(memory, needed, purpose)
