"""The memory model: the number of edges that a task can hold within a memory bound.

`tests/pipeline/streaming/test_bounds.py` compares the model with the peak of real runs.
`docs/scale.md` lists all terms.
"""

from __future__ import annotations

import itertools
from bisect import bisect
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from ...errors import MemoryBoundError
from ...graphs.source import EdgeSource
from ...runtime.sizes import sizes
from ..schedulers.scheduler import Workers
from .facts import SEGMENT_EDGE, GraphFacts
from .threads import readers


class _ModuleBytes(NamedTuple):
    """The bytes that a run takes with an array module, without its edges and its forest."""

    #: Modules and kernels. Numba takes up to 160 MB for kernels that are stored, and up to 240 MB
    #: if the run compiles them; the bound must hold in both cases.
    loaded: int
    #: To compute a forest: per edge, per edge and byte of an index, per vertex, and per vertex and
    #: byte of an index. Kruskal's algorithm has a record of 16 bytes and a position for each edge.
    #: NumPy needs temporary arrays.
    edge: float
    edge_index: float
    vertex: float
    vertex_index: float
    #: Per edge of a dense graph, without the weight: light edges are solved first. If all weights
    #: are the same, nearly all edges are light, and are copied.
    dense_edge: float
    #: While rounds run over partitions: per edge (keys and light edges), per vertex (fragments and
    #: levels), and per vertex of each partial result that waits to be combined.
    round_edge: int
    round_vertex: int
    round_result: int
    #: To find the clusters of a forest: per vertex and byte of an index.
    clusters_index: int


_NUMPY = _ModuleBytes(40_000_000, 24, 2, 11, 5, 50, 24, 96, 12, 37)
_NUMBA = _ModuleBytes(250_000_000, 10, 2, 1.5, 1, 30, 14, 50, 7, 9)
#: Other array modules; not measured yet.
_OTHER = _NUMBA._replace(round_edge=24, round_vertex=96, round_result=12)
#: A graph is dense if it has more edges per vertex.
_DENSE = 4

#: Bytes of a process for Dask.
_DASK = 40_000_000
#: Bytes per edge of a block that a thread reads or selects from, without two copies of its weight.
_BLOCK_EDGE = 32
#: The pool reuses freed blocks at the lowest addresses, so gaps between blocks stay in memory: a
#: share of all arrays.
_GAPS = 1 / 16
#: Bytes per thread for its tile of a grid, and for the columns that tiles share.
_TILE = 50_000_000

#: Bytes of a sweep for modules, kernels and memory that the system's allocator keeps.
_SWEEP = _NUMBA.loaded + 10_000_000
#: Bytes of a sweep per edge of a bucket while its forest is computed, without its columns: a rank
#: of 64 bits, a copy of an end, a record of 16 bytes, and idle blocks of the pool.
_SWEPT_EDGE = 56
#: Bytes of a sweep per edge of a block that a thread deals, and per tile of the random order.
_DEALT_EDGE, _TILE_RANK = 64, 40

#: If the bound allows it, a task holds at least `_USUAL_CAPACITY` edges, and at least 4 n / p edges
#: for n vertices and p partitions (at most `_MAX_SHARES`). A forest of the fragments after the
#: first scan then fits three times.
_USUAL_CAPACITY, _MAX_SHARES = 2**24, 12

#: A first scan without a limit replaces a full buffer by its forest only if the buffer has room for
#: this many forests. Otherwise a second scan takes less time.
FORESTS_PER_FOLD = 8
#: A scan is the last one if the buffer has room for this many forests of the fragments.
FORESTS_OF_LAST_SCAN = 2


def check_bound(
    memory: int,
    needed: int,
    graph: GraphFacts,
    strategy: str,
    partitions: int = 1,
    option: str = "memory=",
) -> None:
    """Raise a MemoryBoundError if a strategy needs more than `memory` bytes, set by `option`."""
    if memory < needed:
        purpose = f"for strategy {strategy!r} with {graph.num_vertices:,} vertices"
        purpose += f" in {partitions} partitions" if partitions > 1 else ""
        raise MemoryBoundError.of(memory, needed, purpose, option)


def rounds_bytes(graph: GraphFacts) -> int:
    """Return the bytes of the edges of all partitions while rounds run over them."""
    return graph.num_edges * (graph.edge_bytes + _NUMPY.round_edge)


def tiles_bytes(graph: GraphFacts, partitions: int, scheduler: Workers) -> int:
    """Return the bytes of the strategy "tiles".

    This is the maximum over three phases: tiles are joined, the remaining edges are sorted, and the
    ids in the result are converted to 64 bits. Several partitions are in memory twice while they
    are concatenated.
    """
    vertices, remaining = graph.num_vertices, graph.edges_after_tiles or 0
    copies = min(2, partitions)
    joining = copies * vertices * (graph.index_bytes + graph.edge_id_bytes)
    joining += remaining * 2 * graph.edge_bytes
    sorting = vertices * graph.edge_id_bytes
    sorting += remaining * (2 * graph.edge_bytes + 2 * graph.weight_bytes + 20)
    result = vertices * (graph.edge_id_bytes + 9)
    task = _NUMBA.loaded + scheduler.task_threads * _TILE
    return scheduler.tasks_sharing_memory(partitions) * task + max(joining, sorting, result)


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
    #: The footprint of the pipeline; see `Dataflow`.
    footprint: float = 1.0
    #: Whether it is the memory of a device, which holds no modules.
    on_device: bool = False

    @property
    def tasks(self) -> int:
        """Number of tasks that share the memory."""
        return self.scheduler.tasks_sharing_memory(self.partitions)

    @cached_property
    def levels(self) -> int:
        """Number of levels of the merge tree."""
        return next(k for k in itertools.count() if self.split_every**k >= self.partitions)

    @property
    def least_memory(self) -> int:
        """The smallest number of bytes that all tasks together need."""
        return self.memory(self._least_capacity)

    def memory(self, capacity: int) -> int:
        """Return the bytes of all tasks that run at once if each holds `capacity` edges.

        On a cluster, return those of one task.
        """
        processes = self.tasks if self.scheduler.name == "processes" else 1
        task = self._block_bytes + self._array_bytes(capacity)
        return processes * self.process_bytes + self.tasks * task

    def capacity(self, memory: int | None, option: str = "memory=") -> int:
        """Return the number of edges that each task may hold if all tasks share `memory` bytes.

        An error states the source of this bound as `option`.
        """
        shares = min(self.partitions, _MAX_SHARES) if self.can_rescan else 1
        usual = min(
            self._largest_partition, max(4 * self.graph.num_vertices // shares, _USUAL_CAPACITY)
        )
        least, most = self._least_capacity, max(self._least_capacity, usual)
        if memory is None:
            return most
        check_bound(memory, self.least_memory, self.graph, self.strategy, self.partitions, option)
        return least - 1 + bisect(range(least, most + 1), memory, key=self.memory)

    @property
    def _module(self) -> _ModuleBytes:
        return {"numpy": _NUMPY, "numba": _NUMBA}.get(self.backend, _OTHER)

    @property
    def process_bytes(self) -> int:
        """Bytes of a process without arrays."""
        if self.on_device:
            return 0
        return self._module.loaded + (0 if self.scheduler.eager else _DASK)

    @property
    def _block_bytes(self) -> int:
        """Bytes of the blocks that the threads of a task read."""
        edge, size = _BLOCK_EDGE + 2 * self.graph.weight_bytes, sizes().block_edges
        most = self.graph.largest_segment
        block = edge * min(size, self._largest_partition, size if most is None else most)
        blocks = readers(self.scheduler.task_threads)
        return blocks * block + self.graph.segment_bytes(blocks)

    def _array_bytes(self, capacity: int) -> int:
        """Return the bytes of the arrays of a task, at the step that needs most."""
        graph, steps = self.graph, [*self._steps(capacity)]
        if self._is_iterated:
            forest = min(self._largest_partition, graph.num_vertices)
            steps.append(self._round_bytes(self._num_forests * forest))
        # After the first scan, each vertex has a fragment, and a fragment the key of a spoke.
        labels = graph.index_bytes + graph.weight_bytes if self.can_rescan else 0
        return int((1 + _GAPS) * (max(steps) + labels * graph.num_vertices))

    def _steps(self, capacity: int) -> Iterator[float]:
        """Yield the bytes of a scan that holds `capacity` edges, and of each level of merges."""
        graph, vertices = self.graph, self.graph.num_vertices
        most = graph.num_edges
        if self.can_rescan:
            most = min(most, self.partitions * capacity)
        levels: list[tuple[int, int]] = []  # edges to merge, and edges of forests that wait
        first = forest = min(capacity, vertices)
        results = 1 if self._is_iterated else self.partitions
        while results > 1:
            count = min(self.split_every, results)
            levels.append((min(most, count * forest), (count - 1) * forest))
            forest, results = min(vertices, count * forest), -(-results // self.split_every)
        if self.can_rescan and not levels:
            levels.append((first, 0))
        waiting = sum(forests for _, forests in levels)
        if self._is_iterated:
            waiting = (self._num_forests - 1) * first
        yield min(waiting + capacity, most) * graph.edge_bytes + self._solving_bytes(capacity)
        # Edges of several partitions are concatenated; of those of one, only the ends are copied.
        copy = graph.edge_bytes if self.partitions > 1 else 2 * graph.index_bytes
        for merged, forests in levels:
            waiting -= forests
            held = min(waiting + merged, most) * graph.edge_bytes
            yield held + merged * copy + self._solving_bytes(merged)

    def _solving_bytes(self, edges: int) -> float:
        """Return the bytes to compute the forest of some edges, with the forest itself."""
        graph, vertices, module = self.graph, self.graph.num_vertices, self._module
        edge = module.edge + module.edge_index * graph.index_bytes
        if edges > _DENSE * vertices:
            edge = module.dense_edge + graph.weight_bytes
        vertex = module.vertex + module.vertex_index * graph.index_bytes
        forest = min(edges, vertices) * (graph.edge_bytes + graph.index_bytes)
        return forest + self.footprint * (edges * edge + vertices * vertex)

    @property
    def clusters_memory(self) -> int:
        """The bytes to find the clusters of the forest at several thresholds."""
        index = self._module.clusters_index * self.graph.index_bytes
        return self.process_bytes + index * self.graph.num_vertices

    def unreduced_memory(self, workers: int) -> int:
        """Return the bytes of one of some workers while rounds run over all edges."""
        edges = -(-self.graph.num_edges // workers)
        return self.process_bytes + int((1 + _GAPS) * self._round_bytes(edges))

    def _round_bytes(self, edges: int) -> int:
        """Return the bytes while rounds run over some edges in memory."""
        vertices, module = self.graph.num_vertices, self._module
        results = self.levels * (min(self.split_every, self.partitions) - 1) + 1
        vertex = module.round_vertex + results * module.round_result
        arrays = edges * module.round_edge + vertices * vertex
        return int(edges * self.graph.edge_bytes + self.footprint * arrays)

    @property
    def _is_iterated(self) -> bool:
        return self.strategy == "iterate"

    @property
    def _num_forests(self) -> int:
        """The number of forests for which each task has memory while rounds run over them."""
        if self.scheduler.is_cluster:  # its workers spill forests to disk
            return 1
        return -(-self.partitions // self.tasks)

    @property
    def _largest_partition(self) -> int:
        """The number of edges of the largest partition, which may be a chunk of any size."""
        even = -(-self.graph.num_edges // self.partitions)
        are_chunks = self.partitions == self.graph.num_chunks
        return max(even, self.graph.edges_at_once) if are_chunks else even

    @cached_property
    def _least_capacity(self) -> int:
        """The smallest number of edges that a task must hold.

        Without another scan, a forest of n vertices must fit twice. If another scan may follow, a
        quarter of a forest, divided by the number of partitions, is enough.
        """
        vertices, block = self.graph.num_vertices, sizes().block_edges
        if self.can_rescan:
            least = max(block // 8, max(2 * block, vertices // 4) // self.partitions)
        else:
            least = max(2 * block, 2 * vertices)
        return min(self._largest_partition, least)


@dataclass(frozen=True)
class SweepMemory:
    """The memory of a sweep, which is a single task."""

    graph: GraphFacts
    scheduler: Workers

    @property
    def least_memory(self) -> int:
        """The smallest number of bytes that a sweep needs."""
        return self.memory(2 * sizes().block_edges)

    def memory(self, capacity: int) -> int:
        """Return the bytes of a sweep that holds `capacity` edges."""
        return self._fixed_bytes + capacity * (self.graph.keyed_edge_bytes + _SWEPT_EDGE)

    def capacity(self, memory: int | None, option: str = "memory=") -> int:
        """Return the number of edges that a sweep may hold; see `ScanMemory.capacity`."""
        if memory is None:
            return _USUAL_CAPACITY
        check_bound(memory, self.least_memory, self.graph, "sweep", option=option)
        most = (memory - self._fixed_bytes) // (self.graph.keyed_edge_bytes + _SWEPT_EDGE)
        # One range of vertices takes half of it, so twice their number is enough for all.
        enough = max(self.graph.num_edges, 2 * self.graph.num_vertices)
        return max(2 * sizes().block_edges, min(most, enough))

    @property
    def _fixed_bytes(self) -> int:
        """Bytes that do not depend on the number of edges that a sweep holds."""
        count = readers(self.scheduler.task_threads)
        blocks = count * _DEALT_EDGE * sizes().block_edges + self.graph.segment_bytes(count)
        tiles = self.graph.num_vertices // sizes().tile * _TILE_RANK
        return _SWEEP + blocks + tiles


def check_reading(source: EdgeSource, memory: int) -> None:
    """Check that `memory` bytes are enough for each segment that cannot be read in blocks."""
    for segment in source.segments:
        block = _BLOCK_EDGE * min(sizes().block_edges, segment.edges_at_once)
        needed = _NUMPY.loaded + block + SEGMENT_EDGE * segment.edges_at_once
        if segment.edges_at_once and memory < needed:
            by = f" by format {segment.format_name!r}" if segment.format_name else ""
            purpose = f"to read {segment.origin[0]}, which cannot be read in small blocks{by}"
            purpose += " (a folder of .npy columns can), and maybe more to solve it"
            raise MemoryBoundError.of(memory, needed, purpose)
