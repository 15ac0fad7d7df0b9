"""The memory that scans take: formulae, and how many edges can be held by a bound.

Sizes are bytes for each edge or vertex at the peak. `docs/scale.md` derives them and holds them
against measured runs.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from ...errors import MemoryBoundError, OptionError
from ...graphs.source import BLOCK_EDGES

if TYPE_CHECKING:
    from ...graphs.source import EdgeSource

#: Loaded kernels, Dask if it runs the tasks, and what a block takes on its way, for each thread.
_KERNELS, _DASK, _THREAD = 160_000_000, 40_000_000, 64 * BLOCK_EDGES
#: What the system's allocator keeps of each partition.
_PARTITION = 5_000_000
#: Bytes for each edge of a piece that can only be read as a whole, while it is: twice its columns.
_READ_EDGE = 48
#: Bytes of a device for each edge beyond its columns, and for each vertex, if the graph is whole
#: there: edge ids, keys and places of what is light; records, and what rounds write. Not yet
#: measured.
_DEVICE_EDGE, _DEVICE_VERTEX = 16, 64
#: Bytes for each edge beyond those held, for each vertex, and for each of the minima that wait,
#: while rounds run over partitions: keys and light edges; fragments and levels.
_ROUND_EDGE, _ROUND_VERTEX, _ROUND_MINIMUM = 20, 96, 12
#: Where memory allows, a task holds so many edges at least, and four for each vertex divided by the
#: parts, or by so many parts: then the fragments that light edges leave fit twice.
_COMFORTABLE, _PARTS = 2**24, 16


class _Light(NamedTuple):
    """Which edges the first of several scans takes.

    Attributes
    ----------
    per_vertex : float
        Light edges for each vertex: they are held, so fewer than those of `filter-boruvka`.
    filled : float
        The share of the capacity that it aims to fill: which edges are light is estimated from a
        sample, and a buffer that overflows drops its heavier half.
    dense : float
        With more edges for each vertex a second scan takes less time than to hold and join all.
    fold_share : int
        A first scan without a limit folds only if a forest takes at most one such share of the
        buffer: finding forests again and again would cost more than a second scan.
    """

    per_vertex: float = 1.5
    filled: float = 7 / 8
    dense: float = 6
    fold_share: int = 8


LIGHT = _Light()

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}


@dataclass(frozen=True)
class Size:
    """What memory depends on.

    `weight` is the bytes of a weight, `at_once` how many edges are read where less is asked for.
    """

    num_vertices: int
    num_edges: int
    weight: int = 4
    at_once: int = 0

    @classmethod
    def of(cls, source: EdgeSource) -> Size:
        """Return the size of a source; one that is read once may have any number of edges."""
        num_edges = sys.maxsize if source.num_edges is None else source.num_edges
        weight = 8 if source.weight_dtype is None else source.weight_dtype.itemsize
        return cls(source.num_vertices or 0, num_edges, weight, source.edges_at_once)

    @property
    def index(self) -> int:
        """Bytes of a vertex id."""
        return 4 if self.num_vertices <= 2**31 else 8

    @property
    def held_edge(self) -> int:
        """Bytes of an edge that is held: two ends, weight and id."""
        return 2 * self.index + self.weight + 8

    @property
    def solved_edge(self) -> int:
        """Bytes for each edge while the forest of those held is found.

        Kruskal's: keys, records of 16 bytes, and, if keys are too much alike for those, records of
        key and position twice, both ends by order. What joins is counted with the vertices.
        """
        return 2 * self.weight + 16

    @property
    def solved_vertex(self) -> int:
        """Bytes for each vertex while a forest is found and ends become fragments.

        Four arrays are in use; two more blocks may be idle, as none of the four fits them.
        """
        return 6 * self.index

    @property
    def kept_vertex(self) -> int:
        """Bytes for each vertex beyond one scan: its fragment, an edge id, the key of a spoke."""
        return self.index + 8 + self.weight


def device_bytes(source: EdgeSource) -> int:
    """Return how many bytes of a device it takes to have the whole graph there, and solve it."""
    size = Size.of(source)
    u, v, weight = (column.itemsize for column in source.first_columns())
    columns = 0 if source.is_on_device else max(u, size.index) + max(v, size.index) + weight
    return size.num_edges * (columns + _DEVICE_EDGE) + size.num_vertices * _DEVICE_VERTEX


def rounds_bytes(size: Size) -> int:
    """Return how many bytes the edges of all partitions take while rounds run over them."""
    return size.num_edges * (size.held_edge + _ROUND_EDGE)


@dataclass(frozen=True)
class Scans:
    """What scans of a graph are, as far as their memory depends on it.

    Attributes
    ----------
    size : Size
    strategy : {"fold", "tree", "two-scan", "iterate"}
    partitions, split_every : int
    threads : int
        Of each task.
    tasks : int
        How many share the memory at once.
    workers : int
        How many run at once, sharing memory or not.
    spills : bool
        Whether forests wait in files until they are used.
    by_dask : bool
        Whether Dask runs the tasks.
    """

    size: Size
    strategy: str
    partitions: int
    split_every: int
    threads: int
    tasks: int = 1
    workers: int = 1
    spills: bool = False
    by_dask: bool = False

    @property
    def levels(self) -> int:
        """Levels of merges."""
        levels = 0
        while self.split_every**levels < self.partitions:
            levels += 1
        return levels

    @property
    def least_memory(self) -> int:
        """Bytes with which all tasks can do."""
        return self.tasks * self.memory(self._least)

    def memory(self, capacity: int) -> int:
        """Return the bytes that a task takes which holds `capacity` edges."""
        forest = min(capacity, self.size.num_vertices)
        solved = max(capacity, self._fan * forest) * self._solved_edge
        scan = self._fixed + forest * self._waiting_edge + solved
        return max(scan, self._rounds) if self._is_iterated else scan

    def capacity(self, memory: int | None) -> int:
        """Return how many edges each task shall hold, with so many bytes for all of them.

        Raises
        ------
        MemoryBoundError
            If that is not enough. Says what would do.
        """
        vertices, parts = self.size.num_vertices, self.partitions
        share = min(parts, _PARTS) if self._is_several else 1
        wanted = min(self._most, max(4 * vertices // share, _COMFORTABLE))
        if memory is None:
            return max(self._least, wanted)
        if memory < self.least_memory:
            message = (
                f"memory: {show_bytes(memory)} is not enough; strategy {self.strategy!r} in "
                f"{parts} parts needs at least {show_bytes(self.least_memory)} for {vertices:,} "
                "vertices"
            )
            raise MemoryBoundError(message, self.least_memory)
        room = memory // self.tasks - self._fixed
        # Forests grow with what is held until they have all vertices.
        held = room // (self._waiting_edge + self._fan * self._solved_edge)
        if held > vertices:
            held = (room - vertices * self._waiting_edge) // self._solved_edge
        return max(self._least, min(wanted, held))

    @property
    def _is_several(self) -> bool:
        return self.strategy == "two-scan"

    @property
    def _is_iterated(self) -> bool:
        return self.strategy == "iterate"

    @property
    def _fan(self) -> int:
        """Forests that are merged in one task."""
        return 1 if self._is_iterated else min(self.split_every, self.partitions)

    @property
    def _in_memory(self) -> int:
        """Forests that a task finds in memory beside its own, and its own."""
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
        """Edges that a task must hold.

        A forest of n vertices must fit twice; where there may be several scans, half a forest will
        do, shared among the parts.
        """
        vertices = self.size.num_vertices
        held = vertices // (2 * self.partitions) if self._is_several else 2 * vertices
        return max(2 * BLOCK_EDGES, min(self._most, held))

    @property
    def _loaded(self) -> int:
        """Bytes of code, and what it begins with."""
        return _KERNELS + (_DASK if self.by_dask else 0)

    @property
    def _fixed(self) -> int:
        """Bytes that do not depend on how many edges are held."""
        size = self.size
        vertex = size.solved_vertex + (size.kept_vertex if self._is_several else 0)
        thread = _THREAD + size.at_once * _READ_EDGE
        parts = self.partitions * _PARTITION if self.partitions > 1 else 0
        return self._loaded + parts + self.threads * thread + size.num_vertices * vertex

    @property
    def _solved_edge(self) -> int:
        """Bytes for each edge that is held, or merged, while their forest is found.

        Partitions and merges differ in size, and memory that one leaves to another is larger than
        what is asked of it: an eighth is for that.
        """
        solved = self.size.held_edge + self.size.solved_edge
        return solved + solved // 8 if self.partitions > 1 else solved

    @property
    def _waiting_edge(self) -> int:
        """Bytes for each edge of forests that wait, and one to merge."""
        is_kept = self.levels and not self.spills
        return self._in_memory * self.size.held_edge if is_kept else 0


def parse_bytes(value: int | str, name: str = "memory") -> int:
    """Return the bytes of a size such as 2000000000 or "2GB" (10^9) or "2GiB" (2^30).

    `name` is for the message.

    Raises
    ------
    OptionError
        If it is none.
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", str(value), re.IGNORECASE)
    unit = _UNITS.get(found[2].upper(), 0) if found and not isinstance(value, bool) else 0
    count = int(min(float(found[1]) * unit, sys.maxsize)) if found else 0
    if count < 1:
        message = f"{name} must be a number of bytes or a size like '2GB', not {value!r}"
        raise OptionError(message)
    return count


def show_bytes(count: float) -> str:
    """Return a number of bytes in words, rounded up."""
    for unit, name in ((10**9, "GB"), (10**6, "MB")):
        if count >= unit:
            return f"{-(-count * 100 // unit) / 100:g} {name}"
    return f"{count:g} bytes"
