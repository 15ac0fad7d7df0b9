"""The sweep of a graph with more vertices than memory: its random order, ranges, and first pass."""

from __future__ import annotations

import itertools
import math
import shutil
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...errors import OptionError
from ...graphs.generate.counter_random import permute
from ...graphs.source import BLOCK_EDGES, EdgeSource, as_index, check_dtype
from ...progress import report_progress
from ...runtime.host import show_bytes
from ...runtime.sizes import sizes
from .buckets import ANOTHER_FOLDER, Buckets
from .threads import in_order

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from .checkpoint import Record
    from .solver import Solver

    #: Edges sorted by bucket: the start of each bucket and the end of the last one, and columns.
    Dealt = tuple[NDArray[Any], Sequence[NDArray[Any]]]
    #: First edge id, length, and the function that reads the columns.
    Block = tuple[int, int, Callable[[], tuple[NDArray[Any], ...]]]

#: A range has at most the fourth part of the vertices that memory holds edges. The forest so far
#: and a block of edges then fit together.
_RANGE = 4
#: The share of memory that the edges of a range are expected to fill. A bucket may have more.
_FILLED = 0.8
#: The number of ranges is at most about this, because a thread writes to all buckets.
_RANGES = 256
#: Any number selects an order; runs that resume need the same one.
_KEY = 0x5EED


class VertexOrder(NamedTuple):
    """A random order of the vertices, divided into ranges.

    Tiles of 2 ** `bits` consecutive vertices stay together. So the order takes little memory, and
    an edge between vertices with near ids is often inside a range.

    Attributes
    ----------
    bits : int
    rank : index array
        The place of each tile.
    starts : int64 array
        The place of the first tile of each range; last, the number of tiles.
    """

    bits: int
    rank: NDArray[Any]
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, bits: int, starts: NDArray[np.int64], dtype: np.dtype[Any]) -> VertexOrder:
        """Return the order with these ranges, whose places have an index dtype."""
        count = int(starts[-1])
        rank = permute(np.arange(count, dtype=np.uint64), count, count.bit_length(), _KEY)
        return cls(bits, rank.astype(dtype), starts)

    @property
    def num_ranges(self) -> int:
        """The number of ranges."""
        return len(self.starts) - 1

    def start(self, number: int) -> int:
        """Return the place of the first vertex of a range."""
        return int(self.starts[number]) << self.bits

    def place(self, ops: Any, vertex: Any) -> Any:
        """Return the places of vertices in the order."""
        first = ops.gather(ops.asarray(self.rank), vertex >> self.bits) << self.bits
        return first | (vertex & ((1 << self.bits) - 1))

    def deal(self, ops: Any, u: Any, v: Any, key: Any, edge_id: Any) -> Dealt:
        """Sort edges, whose ends are places, by the range of their earlier end."""
        u, v = ops.minimum(u, v), ops.maximum(u, v)
        ranges = np.repeat(np.arange(self.num_ranges, dtype=np.int32), np.diff(self.starts))
        bucket = ops.gather(ops.asarray(ranges), u >> self.bits)
        ends, *columns = map(ops.to_host, ops.deal(bucket, self.num_ranges, u, v, key, edge_id))
        return ends, columns


def choose_ranges(num_tiles: int, tile: int, num_edges: int, capacity: int) -> list[int]:
    """Return the starts of ranges of tiles, and their end.

    If k vertices remain, the next one has 2 m / k edges on average, so ranges become shorter. Each
    vertex that was removed took an edge along.
    """
    starts, left, most = [0], num_tiles, capacity // _RANGE
    least = math.log(max(2, num_tiles * tile // most)) / _RANGES
    while left > max(1, most // tile):
        edges = max(num_edges - (num_tiles - left) * tile, left * tile)
        share = max(_FILLED * capacity / (2 * edges), least)
        left -= max(1, min(int(left * share), most // tile))
        starts.append(num_tiles - left)
    return [*starts, num_tiles]


def edges_moved(num_vertices: int, num_edges: int, capacity: int) -> float:
    """Return about how many times edges are written to buckets."""
    tile, moved = sizes().tile, float(num_edges)
    starts = choose_ranges(-(-num_vertices // tile), tile, num_edges, capacity)
    for start, stop in itertools.pairwise(starts[:-1]):
        left = starts[-1] - start
        edges = max(num_edges - start * tile, left * tile)
        moved += edges * (1 - ((starts[-1] - stop) / left) ** 2)
    return moved


def _index(size: int) -> np.dtype[Any]:
    return np.dtype(np.int32 if size < 2**31 else np.int64)


@dataclass(frozen=True)
class Sweeper:
    """Deals a graph to buckets; what all ranges have in common.

    Attributes
    ----------
    solver : Solver
    capacity : int
        The number of edges that memory holds.
    num_vertices, num_edges, first_edge : int
    weight_dtype : dtype
    folder : str
        For the buckets, if there is no checkpoint.
    """

    solver: Solver
    capacity: int
    num_vertices: int
    num_edges: int
    first_edge: int
    weight_dtype: np.dtype[Any]
    folder: str

    def deal(self, source: EdgeSource, record: Record | None) -> Buckets:
        """Write the edges of a graph to buckets, or take up the buckets of a killed run."""
        buckets = self._open(record)
        saved = time.perf_counter()
        rest = source.slice(buckets.seen, self.num_edges)
        size = max(1, min(BLOCK_EDGES, self.capacity // 2))
        calls = (partial(self._deal, buckets.order, block) for block in rest.blocks(size))
        for count, dealt in in_order(calls, self.solver.backend):
            buckets.append(dealt)
            buckets.seen += count
            if record is not None and time.perf_counter() - saved > record.seconds:
                buckets.save()
                saved = time.perf_counter()
            report_progress("deal edges", buckets.seen, self.num_edges)
        buckets.save()
        return buckets

    def _open(self, record: Record | None) -> Buckets:
        """Return new buckets, or those of a killed run."""
        bits = sizes().tile.bit_length() - 1
        index = _index(self.num_vertices + 2**bits)
        dtypes = index, index, np.dtype(f"u{self.weight_dtype.itemsize}"), _index(self.num_edges)
        folder, saved = Path(self.folder), record and record.load()
        if record is not None:
            folder = Path(record.path).with_suffix("")
            folder.mkdir(exist_ok=True)
        if saved:
            (starts, ends), state = saved
            bits = state["bits"]
            self._check_ranges(folder, 2**bits, starts[state["range"] :])
        else:
            self._check_disk(folder, sum(dtype.itemsize for dtype in dtypes))
            tiles = max(1, -(-self.num_vertices >> bits))
            starts = np.array(choose_ranges(tiles, 2**bits, self.num_edges, self.capacity))
            ends, state = np.zeros((len(starts), 2), np.int64), {"seen": 0, "range": 0}
        order = VertexOrder.of(bits, starts, index)
        return Buckets(self, order, dtypes, folder, record).restore(ends, state)

    def _check_ranges(self, folder: Path, tile: int, starts: NDArray[np.int64]) -> None:
        """Check that the ranges of a killed run are not too large for the memory of this one."""
        if np.diff(starts).max() * tile > max(tile, self.capacity // _RANGE):
            raise OptionError(
                f"{folder.parent}: the run that was killed had more memory; set memory= to as much"
            )

    def _check_disk(self, folder: Path, edge: int) -> None:
        """Check the free space: a bucket is on disk twice while its edges move."""
        needed = edge * (self.num_edges + min(self.num_edges, self.capacity))
        needed += 8 * self.num_vertices
        free = shutil.disk_usage(folder).free
        if needed > free:
            raise OptionError(
                f"{folder}: {show_bytes(needed)} of disk space are needed for edges, but only "
                f"{show_bytes(free)} are free; {ANOTHER_FOLDER}"
            )

    def _deal(self, order: VertexOrder, block: Block) -> tuple[int, Dealt]:
        """Read a block, and sort its edges by their buckets; drop loops."""
        first, count, read = block
        ops = self.solver.thread_ops
        u, v, weight = map(ops.asarray, read())
        check_dtype(first, weight.dtype, self.weight_dtype)
        u, v = (order.place(ops, as_index(ends, self.num_vertices)) for ends in (u, v))
        key = ops.order_key(weight, descending=self.solver.maximum)
        edge_id = ops.consecutive(first - self.first_edge, count, _index(self.num_edges))
        largest = ops.largest(key.dtype)
        columns = ops.compact_pairs(u, v, key, largest, order.rank.dtype, edge_id)
        return count, order.deal(ops, *columns)
