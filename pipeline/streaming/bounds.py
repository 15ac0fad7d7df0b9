"""The memory model of scans: the number of edges that a task can hold within a memory bound.

Sizes are peak bytes per edge or vertex. `docs/scale.md` lists all terms.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Self

from ...errors import MemoryBoundError
from ...graphs.source import BLOCK_EDGES
from ...runtime.host import show_bytes

if TYPE_CHECKING:
    from ...graphs.source import EdgeSource

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
#: scan then fits twice.
_COMFORTABLE, _PARTS = 2**24, 16


class _Light(NamedTuple):
    """Parameters of the first scan of the strategy "two-scan"."""

    #: Light edges per vertex. There are fewer than in `filter-boruvka`, to save memory.
    per_vertex: float = 1.5
    #: The share of the capacity to fill. The limit for light edges is estimated from a sample, and
    #: a buffer that overflows drops its heavier half.
    filled: float = 7 / 8
    #: Edges per vertex above which a second scan is faster than holding and joining all edges.
    dense: float = 6
    #: A first scan without a limit replaces a full buffer by its forest only if a forest is at most
    #: 1 / `fold_share` of the buffer. Otherwise a second scan takes less time.
    fold_share: int = 8


LIGHT = _Light()


@dataclass(frozen=True)
class Size:
    """The sizes that memory depends on.

    `weight` is the number of bytes of a weight. `at_once` is the number of edges of the largest
    segment that cannot be read in blocks.
    """

    num_vertices: int
    num_edges: int
    weight: int = 4
    at_once: int = 0

    @classmethod
    def of(cls, source: EdgeSource) -> Self:
        """Return the size of a source; an iterator may have any number of edges."""
        num_edges = sys.maxsize if source.num_edges is None else source.num_edges
        weight = 8 if source.weight_dtype is None else source.weight_dtype.itemsize
        return cls(source.num_vertices or 0, num_edges, weight, source.edges_at_once)

    @property
    def index(self) -> int:
        """Bytes of a vertex id."""
        return 4 if self.num_vertices <= 2**31 else 8

    @property
    def held_edge(self) -> int:
        """Bytes of an edge in a buffer: two ends, weight and id."""
        return 2 * self.index + self.weight + 8

    @property
    def solved_edge(self) -> int:
        """Bytes per edge while the forest of the edges in a buffer is computed.

        Kruskal's algorithm needs keys, and records of 16 bytes. For keys of too many bits it needs
        two records of key and position instead, and both ends in order. Edges of the forest count
        with the vertices.
        """
        return 2 * self.weight + 16

    @property
    def solved_vertex(self) -> int:
        """Bytes per vertex while a forest is computed and ends are replaced by fragments.

        Four arrays are in use. The pool may hold two more idle blocks.
        """
        return 6 * self.index

    @property
    def kept_vertex(self) -> int:
        """Bytes per vertex between scans: its fragment, an edge id, the key of a spoke."""
        return self.index + 8 + self.weight


def device_bytes(source: EdgeSource) -> int:
    """Return the bytes of device memory that the whole graph and its solution need."""
    size = Size.of(source)
    u, v, weight = (column.itemsize for column in source.first_columns())
    columns = 0 if source.is_on_device else max(u, size.index) + max(v, size.index) + weight
    held = size.num_edges * (columns + _DEVICE_EDGE) + size.num_vertices * _DEVICE_VERTEX
    return held + min(size.num_edges, _SORTED) * _SORTED_EDGE


def rounds_bytes(size: Size) -> int:
    """Return the bytes of the edges of all partitions while rounds run over them."""
    return size.num_edges * (size.held_edge + _ROUND_EDGE)


def tiles_bytes(size: Size, left: int, partitions: int, threads: int, tasks: int = 1) -> int:
    """Return the bytes of the strategy "tiles" if at most `left` edges remain after its tiles.

    This is the maximum over three phases: tiles are joined, the remaining edges are sorted, and the
    ids in the result are converted to 64 bits. Several partitions are in memory twice while they
    are concatenated. `tasks` is the number of tasks that run at once, with `threads` threads each.
    """
    edge_id = 4 if size.num_edges < 2**31 else 8
    sorting = size.num_vertices * edge_id + left * (2 * size.held_edge + 2 * size.weight + 20)
    copies = min(2, partitions)
    joining = copies * size.num_vertices * (size.index + edge_id) + left * 2 * size.held_edge
    result = size.num_vertices * (edge_id + 9)
    return tasks * (_KERNELS + threads * _TILE) + max(joining, sorting, result)


@dataclass(frozen=True)
class ScanMemory:
    """The memory of the tasks of a run that scans a graph."""

    size: Size
    strategy: str
    partitions: int
    split_every: int
    #: Threads of each task.
    threads: int
    #: Number of tasks that share the memory.
    tasks: int = 1
    #: Number of tasks that run at once.
    workers: int = 1
    #: Whether workers spill waiting forests to disk.
    spills: bool = False
    #: Whether Dask runs the tasks.
    by_dask: bool = False

    @property
    def can_rescan(self) -> bool:
        """Whether a later scan may select edges that an earlier scan skipped."""
        return self.strategy == "two-scan"

    @property
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

    def memory(self, capacity: int) -> int:
        """Return the bytes of a task that holds `capacity` edges."""
        forest = min(capacity, self.size.num_vertices)
        solved = max(capacity, self._fan * forest) * self._solved_edge
        scan = self._fixed + forest * self._waiting_edge + solved
        return max(scan, self._rounds) if self._is_iterated else scan

    def capacity(self, memory: int | None) -> int:
        """Return the number of edges that each task may hold if all tasks share `memory` bytes."""
        vertices, parts = self.size.num_vertices, self.partitions
        share = min(parts, _PARTS) if self.can_rescan else 1
        wanted = min(self._most, max(4 * vertices // share, _COMFORTABLE))
        if memory is None:
            return max(self._least, wanted)
        if memory < self.least_memory:
            message = (
                f"memory: {show_bytes(memory)} is not enough; strategy {self.strategy!r} with "
                f"partitions={parts} needs at least {show_bytes(self.least_memory)} for "
                f"{vertices:,} vertices"
            )
            raise MemoryBoundError(message, self.least_memory)
        room = memory // self.tasks - self._fixed
        # The forest of a buffer grows with the buffer until it connects all vertices.
        held = room // (self._waiting_edge + self._fan * self._solved_edge)
        if held > vertices:
            held = (room - vertices * self._waiting_edge) // self._solved_edge
        return max(self._least, min(wanted, held))

    @property
    def _is_iterated(self) -> bool:
        return self.strategy == "iterate"

    @property
    def _fan(self) -> int:
        """Number of forests that one task merges."""
        return 1 if self._is_iterated else min(self.split_every, self.partitions)

    @property
    def _in_memory(self) -> int:
        """Number of forests in memory while a task runs, including its own."""
        if self.spills:
            return 1
        if self._is_iterated:
            return -(-self.partitions // self.tasks)
        return self.levels * (self._fan - 1) + 1

    @property
    def _rounds(self) -> int:
        """Bytes while rounds run over the forests of all partitions."""
        size = self.size
        forest = min(self._most, size.num_vertices)
        minima = self.levels * (min(self.split_every, self.partitions) - 1) + 1
        edges = self._in_memory * forest * (size.held_edge + _ROUND_EDGE)
        vertex = _ROUND_VERTEX + minima * _ROUND_MINIMUM
        return self._loaded + edges + size.num_vertices * vertex

    @property
    def _most(self) -> int:
        return -(-self.size.num_edges // self.partitions)

    @property
    def _least(self) -> int:
        """The smallest number of edges that a task must hold.

        Without another scan, a forest of n vertices must fit twice. If another scan may follow,
        a quarter of a forest, divided by the number of partitions, is enough.
        """
        vertices = self.size.num_vertices
        held = vertices // (4 * self.partitions) if self.can_rescan else 2 * vertices
        return max(2 * BLOCK_EDGES, min(self._most, held))

    @property
    def _loaded(self) -> int:
        """Bytes of loaded code."""
        return _KERNELS + (_DASK if self.by_dask else 0)

    @property
    def _fixed(self) -> int:
        """Bytes that do not depend on the number of edges held."""
        size = self.size
        vertex = size.solved_vertex + (size.kept_vertex if self.can_rescan else 0)
        thread = _THREAD + size.at_once * _READ_EDGE
        parts = self.partitions * _PARTITION if self.partitions > 1 else 0
        return self._loaded + parts + self.threads * thread + size.num_vertices * vertex

    @property
    def _solved_edge(self) -> int:
        """Bytes per edge, held or merged, while the forest is computed.

        An eighth is added, because a reused block may be larger than needed.
        """
        solved = self.size.held_edge + self.size.solved_edge
        return solved + solved // 8 if self.partitions > 1 else solved

    @property
    def _waiting_edge(self) -> int:
        """Bytes per edge of the forests that wait to be merged."""
        is_kept = self.levels and not self.spills
        return self._in_memory * self.size.held_edge if is_kept else 0


def check_reading(source: EdgeSource, memory: int) -> None:
    """Check that a bound on memory holds the segment that is read as a whole, before it is read."""
    for segment in source.segments:
        needed = _KERNELS + _THREAD + segment.edges_at_once * _READ_EDGE
        if segment.edges_at_once and memory < needed:
            message = (
                f"memory: {show_bytes(memory)} is not enough; {segment.origin[0]} cannot be read "
                f"in small blocks and needs {show_bytes(needed)}; a folder of .npy columns can"
            )
            raise MemoryBoundError(message, needed)
