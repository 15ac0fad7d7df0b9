"""The memory model: the number of edges that a task can hold within a memory bound.

`python -m benchmarks record bounds` compares the model with the peak of real runs. `docs/scale.md`
lists all terms.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from ...errors import MemoryBoundError
from ...graphs.segments import File
from ...graphs.source import EdgeSource
from ...runtime.sizes import sizes
from ..schedulers.scheduler import Workers
from .facts import GraphFacts

#: Bytes of a process: the modules and kernels that a run loads, by backend, and Dask.
_LOADED, _DASK = {"numpy": 40_000_000}, 40_000_000
_KERNELS = 190_000_000
#: Bytes of the blocks of a thread, per edge of a block, without two copies of its weight.
_BLOCK_EDGE = 32
#: Bytes per thread for its tile of a grid, and for the columns that tiles share.
_TILE = 50_000_000
#: Bytes per edge to read a segment that cannot be read in blocks: twice its columns.
_READ_EDGE = 48
#: Bytes while rounds run over partitions: per edge (keys and light edges, without the columns), per
#: vertex (fragments and levels), and per vertex of each partial result that waits to be combined.
_ROUNDS, _ROUNDS_COMPILED = (24, 96, 12), {"numba": (14, 50, 7)}
#: The pool reuses freed blocks at the lowest addresses, so gaps between blocks stay in memory: a
#: share of all arrays.
_GAPS = 1 / 16
#: Bytes while a forest is computed, without the edges and the forest: per edge, per edge and byte
#: of an index, per vertex, and per vertex and byte of an index. Kruskal's algorithm needs a record
#: of 16 bytes and a position for each edge; NumPy needs temporary arrays.
_SOLVING = {"numpy": (24, 2, 11, 5)}
_SOLVING_COMPILED = (10, 2, 1.5, 1)
#: With more edges per vertex, light edges are solved first. If all weights are the same, nearly all
#: edges are light, and are copied: bytes per edge, without the weight.
_DENSE, _COPIES = 4, {"numpy": 50}
_COPIES_COMPILED = 30
#: Bytes of a sweep: per edge of a bucket while its forest is computed, beside its columns (a rank
#: of 64 bits, a copy of an end, a record of 16 bytes, and idle blocks of the pool); per tile of a
#: random order; per edge of a block that a thread deals; and for kernels and what the allocator of
#: the system keeps.
_SWEPT_EDGE, _TILE_RANK, _DEALT_EDGE, _SWEEP = 56, 40, 64, 200_000_000
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
    return graph.num_edges * (graph.held_edge + _ROUNDS[0])


def tiles_bytes(graph: GraphFacts, partitions: int, scheduler: Workers) -> int:
    """Return the bytes of the strategy "tiles".

    This is the maximum over three phases: tiles are joined, the remaining edges are sorted, and the
    ids in the result are converted to 64 bits. Several partitions are in memory twice while they
    are concatenated.
    """
    left, edge_id = graph.max_edges_after_tiles or 0, graph.edge_id
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
    #: Whether a later scan may select edges that an earlier scan skipped.
    can_rescan: bool
    partitions: int
    split_every: int
    scheduler: Workers
    backend: str = "numba"
    #: That of the pipeline; see `Dataflow`.
    footprint: float = 1.0
    #: Whether it is the memory of a device, which holds no modules.
    on_device: bool = False

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
        return self.memory(self._least)

    def memory(self, capacity: int) -> int:
        """Return the bytes of all tasks that run at once if each holds `capacity` edges.

        On a cluster, return those of one task.
        """
        processes = self.tasks if self.scheduler.name == "processes" else 1
        return processes * self._process + self.tasks * (self._reading + self._arrays(capacity))

    @property
    def _process(self) -> int:
        """Bytes of a process without arrays."""
        if self.on_device:
            return 0
        loaded = _LOADED.get(self.backend, _KERNELS)
        return loaded + (0 if self.scheduler.eager else _DASK)

    @property
    def _reading(self) -> int:
        """Bytes of the blocks that the threads of a task read."""
        block = (_BLOCK_EDGE + 2 * self.graph.weight) * min(sizes().block_edges, self._largest)
        return self.scheduler.task_threads * (block + self.graph.at_once * _READ_EDGE)

    def _arrays(self, capacity: int) -> int:
        """Return the bytes of the arrays of a task, at the step that needs most."""
        graph, vertices = self.graph, self.graph.num_vertices
        steps = [self._rounds, *(self._step(*sizes) for sizes in self._merges(capacity))]
        # After the first scan, each vertex has a fragment, and a fragment the key of a spoke.
        labels = vertices * (graph.index + graph.weight) if self.can_rescan else 0
        return int((1 + _GAPS) * (max(steps) + labels))

    def _step(self, waiting: int, copied: int, solved: int) -> float:
        """Return the bytes of a step that solves some edges beside others and copies."""
        return waiting * self.graph.held_edge + copied + self._solving(solved)

    def _solving(self, edges: int) -> float:
        """Return the bytes to compute the forest of some edges, with the forest itself."""
        graph, vertices = self.graph, self.graph.num_vertices
        edge, edge_index, vertex, vertex_index = _SOLVING.get(self.backend, _SOLVING_COMPILED)
        edge += edge_index * graph.index
        if edges > _DENSE * vertices:
            edge = _COPIES.get(self.backend, _COPIES_COMPILED) + graph.weight
        forest = min(edges, vertices) * (graph.held_edge + graph.index)
        arrays = edges * edge + vertices * (vertex + vertex_index * graph.index)
        return forest + self.footprint * arrays

    def _merges(self, capacity: int) -> Iterator[tuple[int, int, int]]:
        """Yield the edges that wait, the bytes of copies, and the edges that are solved.

        The first step is a scan, and the others are merges.
        """
        vertices, levels = self.graph.num_vertices, list[tuple[int, int]]()
        most = min(self.graph.num_edges, self.partitions * capacity)
        if not self.can_rescan:
            most = self.graph.num_edges
        first = forest = min(capacity, vertices)
        results, fan = self.partitions, 1 if self._is_iterated else self.split_every
        while fan > 1 and results > 1:
            merged = min(fan, results)
            levels.append((min(most, merged * forest), (merged - 1) * forest))
            forest, results = min(vertices, merged * forest), -(-results // fan)
        if self.can_rescan and not levels:
            levels.append((first, 0))
        waiting = sum(results for _, results in levels)
        if self._is_iterated and not self._spills:
            waiting = (self._forests - 1) * first
        yield min(waiting + capacity, most), 0, capacity
        # Edges of several partitions are concatenated; of those of one, only the ends are copied.
        copy = self.graph.held_edge if self.partitions > 1 else 2 * self.graph.index
        for inputs, results in levels:
            waiting -= results
            yield min(waiting + inputs, most), inputs * copy, inputs

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
        low, high = self._least, max(self._least, wanted)
        while low < high:
            middle = -(-(low + high) // 2)
            low, high = (middle, high) if self.memory(middle) <= memory else (low, middle - 1)
        return low

    @property
    def _largest(self) -> int:
        """The number of edges of the largest partition, which may be a chunk of any size."""
        even = -(-self.graph.num_edges // self.partitions)
        are_chunks = self.partitions == self.graph.num_chunks
        return max(even, self.graph.at_once) if are_chunks else even

    @cached_property
    def _least(self) -> int:
        """The smallest number of edges that a task must hold.

        Without another scan, a forest of n vertices must fit twice. If another scan may follow, a
        quarter of a forest, divided by the number of partitions, is enough.
        """
        vertices, parts = self.graph.num_vertices, self.partitions
        if not self.can_rescan:
            return min(self._largest, max(2 * sizes().block_edges, 2 * vertices))
        wanted = max(2 * sizes().block_edges, vertices // 4) // parts
        return min(self._largest, max(sizes().block_edges // 8, wanted))

    @property
    def _is_iterated(self) -> bool:
        return self.strategy == "iterate"

    @property
    def _spills(self) -> bool:
        """Whether the workers of a cluster spill the forests of all partitions to disk."""
        return self._is_iterated and self.scheduler.is_cluster

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

    @cached_property
    def _rounds(self) -> int:
        """Bytes while rounds run over the forests of all partitions."""
        if not self._is_iterated:
            return 0
        vertices = self.graph.num_vertices
        edge, vertex, minimum = _ROUNDS_COMPILED.get(self.backend, _ROUNDS)
        edges = self._forests * min(self._largest, vertices)
        arrays = edges * edge + vertices * (vertex + self._results * minimum)
        return int(edges * self.graph.held_edge + self.footprint * arrays)


@dataclass(frozen=True)
class SweepMemory:
    """The memory of a sweep, which is a single task."""

    graph: GraphFacts
    scheduler: Workers

    @property
    def stored_edge(self) -> int:
        """Bytes of an edge in a bucket: two ends, key and id."""
        return 2 * self.graph.index + self.graph.weight + self.graph.edge_id

    @property
    def least_memory(self) -> int:
        """The smallest number of bytes that a sweep needs."""
        return self.memory(2 * sizes().block_edges)

    def memory(self, capacity: int) -> int:
        """Return the bytes of a sweep that holds `capacity` edges."""
        return self._shared + capacity * (self.stored_edge + _SWEPT_EDGE)

    def capacity(self, memory: int | None, option: str = "memory=") -> int:
        """Return the number of edges that a sweep may hold; see `ScanMemory.capacity`."""
        if memory is None:
            return _COMFORTABLE
        if memory < self.least_memory:
            purpose = f"for strategy 'sweep' with {self.graph.num_vertices:,} vertices"
            raise MemoryBoundError.of(memory, self.least_memory, purpose, option)
        room = (memory - self._shared) // (self.stored_edge + _SWEPT_EDGE)
        return max(2 * sizes().block_edges, min(room, self.graph.num_edges))

    @property
    def _shared(self) -> int:
        """Bytes beside the edges."""
        block = _DEALT_EDGE * sizes().block_edges + self.graph.at_once * _READ_EDGE
        tiles = self.graph.num_vertices // sizes().tile * _TILE_RANK
        return _SWEEP + self.scheduler.task_threads * block + tiles


def check_reading(source: EdgeSource, memory: int) -> None:
    """Check that a bound on memory holds the segment that is read as a whole, before it is read."""
    for segment in source.segments:
        block = _BLOCK_EDGE * min(sizes().block_edges, segment.edges_at_once)
        needed = _LOADED["numpy"] + block + segment.edges_at_once * _READ_EDGE
        if segment.edges_at_once and memory < needed:
            by = f" by format {segment.format!r}" if isinstance(segment, File) else ""
            purpose = f"to read {segment.origin[0]}, which cannot be read in small blocks{by}"
            purpose += " (a folder of .npy columns can), and maybe more to solve it"
            raise MemoryBoundError.of(memory, needed, purpose)
