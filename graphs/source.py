"""The edge source: a graph that each scan reads block by block.

Every graph is an `EdgeList`, which keeps all edges in memory, or an `EdgeSource`. A source reads
its edges from segments: files, iterables of chunks, or arrays in memory. Edge ids are consecutive,
in the order of the segments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import FileFormatError, GraphError
from ..progress import report_progress
from ..runtime.device import host_array, is_on_device
from ..runtime.identity import digest
from ..runtime.memory import empty
from ..runtime.sizes import sizes
from ..runtime.team import in_shares
from .edge_list import Columns, EdgeList, check_columns, join_ids, ones, renumbered
from .segments import ArraySegment, Chunks, Segment, Sequential, checksum
from .vertex_names import VertexNames

#: A sample has 64 offsets, and 512 weights at each.
_SAMPLES, _SAMPLE_EDGES = 64, 512

_NO_EDGES = (np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64))


@dataclass(frozen=True)
class EdgeSource:
    """A graph that is streamed: the edges of all segments, in order.

    Parameters
    ----------
    segments : sequence of Segment
    num_vertices : int, optional
        Number of vertices. If None, `with_sizes` computes it from the largest id and the numbers
        that segments state.
    first_id : int
        Id of the first edge; the ids are consecutive.
    first_vertex : int
        The id of the first vertex in the segments; it is subtracted from all ends.
    unweighted : bool
        Whether to ignore the weights and give every edge the integer weight 1.
    is_checked : bool
        Whether ids and weights are known to be valid.
    weight_dtype : dtype, optional
        Dtype of the weights, set by `with_sizes`. All weights must share one dtype, because keys of
        different dtypes cannot be compared.
    least_vertices : int
        Lower bound on the number of vertices: the largest number that a file states.
    names : VertexNames, optional
        The name of each vertex.
    removed : int64 array, optional
        Ids of edges to read as loops, ascending. All other edges keep their ids.
    unsigned : bool
        Whether it is known that no weight has its sign bit set.
    counted_in : str
        The file with the largest number of vertices, or "" if a caller gave the number.
    """

    segments: tuple[Segment, ...]
    num_vertices: int | None = None
    first_id: int = 0
    first_vertex: int = 0
    unweighted: bool = False
    is_checked: bool = False
    weight_dtype: np.dtype[Any] | None = None
    least_vertices: int = 0
    names: VertexNames | None = None
    removed: NDArray[np.int64] | None = None
    unsigned: bool = False
    counted_in: str = ""

    @classmethod
    def of(cls, graph: EdgeList | EdgeSource) -> EdgeSource:
        """Return an edge list as a source that shares its columns; return a source itself."""
        if isinstance(graph, EdgeSource):
            return graph
        segment = ArraySegment(graph.u, graph.v, graph.weight, files=graph.files)
        return cls(
            (segment,),
            graph.num_vertices,
            is_checked=True,
            weight_dtype=graph.weight.dtype,
            names=graph.names,
            unsigned=graph.unsigned,
            counted_in=graph.counted_in,
        )

    def __repr__(self) -> str:
        return f"EdgeSource({self.num_vertices} vertices, {self.num_edges} edges)"

    @cached_property
    def num_edges(self) -> int | None:
        """Number of edges; None if it is unknown until the edges are read."""
        counts = [segment.num_edges for segment in self.segments]
        return None if None in counts else sum(count or 0 for count in counts)

    @cached_property
    def is_in_memory(self) -> bool:
        """Whether all edges are in memory."""
        return {ArraySegment}.issuperset(map(type, self.segments))

    @cached_property
    def is_on_device(self) -> bool:
        """Whether the edges are on a GPU."""
        arrays = (segment for segment in self.segments if isinstance(segment, ArraySegment))
        return any(is_on_device(segment.u) for segment in arrays)

    @cached_property
    def is_read_once(self) -> bool:
        """Whether the edges can be read only once."""
        iterables = (segment for segment in self.segments if isinstance(segment, Chunks))
        return any(isinstance(segment.chunks, Iterator) for segment in iterables)

    @property
    def only_segment(self) -> Segment | None:
        """The segment with the same edges, weights and vertices as the graph, if there is one."""
        is_changed = self.unweighted or self.removed is not None or self.first_vertex
        return self.segments[0] if len(self.segments) == 1 and not is_changed else None

    @property
    def wing(self) -> str:
        """The wing that solves the graph without its edges; empty if there is none."""
        return self.only_segment.wing if self.only_segment is not None else ""

    @property
    def edges_after_tiles(self) -> int | None:
        """An upper bound on the edges that remain when the vertices inside `tiles` are joined.

        None if the graph is not a grid with all its edges and weights.
        """
        return getattr(self.only_segment, "edges_after_tiles", None)

    @cached_property
    def is_measured(self) -> bool:
        """Whether the numbers of vertices and edges and the dtype of the weights are known."""
        are_known = self.num_vertices is not None and self.num_edges is not None
        return are_known and self.weight_dtype is not None  # NumPy: float64 == None

    def tiles(self) -> tuple[tuple[int, ...], int, Iterator[Any]]:
        """Return the extents of a partition of a grid, a bound on remaining edges, and its tiles.

        See `edges_after_tiles`.
        """
        grid: Any = self.segments[0]
        tiles: tuple[tuple[int, ...], int, Iterator[Any]] = grid.tiles(self.first_id - grid.start)
        return tiles

    def check(self) -> None:
        """Check all edges by reading them."""
        for *_, read in self.blocks():
            read()

    def after_scan(self) -> EdgeSource:
        """Return this source for further scans: ids and weights are not checked again.

        This requires that all segments detect changes.
        """
        is_checked = self.is_checked or all(each.detects_changes for each in self.segments)
        return replace(self, is_checked=is_checked)

    def slice(self, start: int, stop: int) -> EdgeSource:
        """Return the edges at positions `start` to `stop` - 1; `num_edges` must be known."""
        segments, first = [], 0
        for segment in self.segments:
            size = segment.num_edges or 0
            low, high = max(start - first, 0), min(stop - first, size)
            if low < high:
                segments.append(segment if high - low == size else segment.slice(low, high))
            first += size
        return replace(self, segments=tuple(segments), first_id=self.first_id + start)

    def without(self, edge_ids: NDArray[np.int64]) -> EdgeSource:
        """Return this source with these edges removed; `edge_ids` must be ascending."""
        return replace(self, removed=host_array(edge_ids))

    def blocks(
        self, size: int | None = None
    ) -> Iterator[tuple[int, int, Callable[[], tuple[NDArray[Any], ...]]]]:
        """Yield for each block the first edge id, the length, and a function that reads the block.

        The function also checks the edges. It may be called in any thread and in any order.
        """
        first = self.first_id
        for segment in self.segments:
            start = first
            for count, read in segment.reads(size or sizes().block_edges):
                yield first, count, partial(self._block, segment, start, first, read)
                first += count

    def with_sizes(self) -> EdgeSource:
        """Return this source with its numbers of vertices and edges and the dtype of its weights.

        A scan determines the unknown values. If the edges can be read only once, the number of
        edges and the dtype remain unknown.
        """
        if self.is_measured:
            return self
        if self.is_read_once:
            if self.num_vertices is None:
                raise GraphError(
                    "a graph that can be read only once needs num_vertices=; a list of its chunks, "
                    "list(...), does not"
                )
            return self
        if self.num_vertices is not None and self.num_edges is not None:
            return replace(self, weight_dtype=self.first_columns()[2].dtype)
        sizes, first = [], self.first_id
        for segment in self.segments:
            sizes.append(self.count_segment(segment, first))
            first += sizes[-1].num_edges
        return self.with_segment_sizes(sizes)

    def count_segment(self, segment: Segment, first: int) -> SegmentSizes:
        """Read and check a segment whose first edge has id `first`; return its sizes."""
        count, num_vertices, dtype, is_weighted, checksums = 0, 0, None, None, []
        uncounted = replace(self, is_checked=False)
        chunks: Iterable[Segment] = (segment,)
        if isinstance(segment, Sequential) and segment.stop is None:
            chunks = segment.arrays()
        for chunk in chunks:
            num_vertices = max(num_vertices, chunk.num_vertices - self.first_vertex)
            if chunk.num_edges and not self.unweighted:
                is_weighted = _check_weighted(first + count, chunk.is_weighted, is_weighted)
            if isinstance(segment, Chunks) and isinstance(chunk, ArraySegment):
                checksums.append((chunk.num_edges, checksum(chunk.columns)))
            for length, read in chunk.reads(sizes().block_edges):
                (*_, weight), needed = uncounted._read(segment, first, first + count, read)
                dtype = check_dtype(first + count, weight.dtype, dtype)
                num_vertices, count = max(num_vertices, needed), count + length
                done = first + count - self.first_id
                report_progress("count edges", done, self.num_edges or 0)
        return SegmentSizes(count, num_vertices, dtype, tuple(checksums), is_weighted)

    def with_segment_sizes(self, sizes: Sequence[SegmentSizes]) -> EdgeSource:
        """Return this source with the sizes of its segments; see `count_segment`."""
        first, dtype, is_weighted, segments = self.first_id, self.weight_dtype, None, []
        for segment, size in zip(self.segments, sizes, strict=True):
            if size.weight_dtype is not None:
                dtype = check_dtype(first, size.weight_dtype, dtype)
            if size.is_weighted is not None:
                is_weighted = _check_weighted(first, size.is_weighted, is_weighted)
            if isinstance(segment, Sequential) and segment.stop is None:
                if isinstance(segment, Chunks):
                    segment = replace(segment, checksums=size.checksums)
                segment = replace(segment, stop=size.num_edges)
            segments.append(segment)
            first += size.num_edges
        num_vertices = self.num_vertices
        if num_vertices is None:
            num_vertices = max([self.least_vertices, *(size.num_vertices for size in sizes)])
        return replace(
            self,
            segments=tuple(segments),
            num_vertices=num_vertices,
            weight_dtype=np.dtype(np.int64) if dtype is None else dtype,  # without edges
        )

    def fingerprint(self) -> str:
        """Return a digest that identifies the edges."""
        if self.is_read_once:
            raise GraphError(
                "a checkpoint needs a graph that can be read again; pass files, arrays or a list "
                "of chunks instead of an iterator"
            )
        digests = [segment.fingerprint() for segment in self.segments]
        removed = [] if self.removed is None else [np.ascontiguousarray(self.removed).data]
        facts = self.first_id, self.first_vertex, self.unweighted, digests
        return digest(repr(facts).encode(), *removed)

    def columns(self) -> tuple[NDArray[Any], ...]:
        """Return u, v and weight of all edges, in memory."""
        segment = self.only_segment if self.is_checked else None
        if isinstance(segment, ArraySegment) and segment.weight is not None:
            return segment.u, segment.v, segment.weight
        blocks = [read() for *_, read in self.blocks(self.num_edges or None)]
        if not blocks:  # callers may concatenate slices, so an empty slice has the dtype of others
            *ends, weight = _NO_EDGES
            return *ends, weight.astype(self.weight_dtype or weight.dtype)
        return _concatenate(blocks)

    def index_columns(self) -> tuple[NDArray[Any], ...]:
        """Return u and v as signed integers, and weight, in read-only arrays; see `as_index`."""
        u, v, weight = self.columns()
        u, v = (as_index(ids, self.num_vertices or 0) for ids in (u, v))
        return _read_only(u), _read_only(v), _read_only(weight)

    @property
    def can_sample(self) -> bool:
        """Whether weights can be sampled without a scan."""
        return all(segment.is_direct for segment in self.segments)

    def sample_weights(self, shares: int = 1) -> NDArray[Any]:
        """Return the weights of edges at evenly spaced offsets: a sample, divided by `shares`.

        The sample is empty if `shares` is 0, or if computing it needs a scan.
        """
        count = self.num_edges
        if not count or not shares or not self.can_sample:
            return np.empty(0, self.weight_dtype or np.int64)
        num_offsets, samples, first = max(1, _SAMPLES // shares), [], 0
        offsets = sorted({count * number // num_offsets for number in range(num_offsets)})
        for segment in self.segments:
            counts = [segment.num_edges or 0]
            if segment.edges_at_once:
                counts = [count for count, _ in segment.reads(segment.edges_at_once)]
            for count in counts:
                end = first + count
                if starts := [offset - first for offset in offsets if first <= offset < end]:
                    source = self.slice(first, end)
                    if segment.edges_at_once:  # read these edges once, not once for each start
                        source = EdgeSource((ArraySegment(*source.columns()),))  # type: ignore[arg-type]
                    runs = (source.slice(start, start + _SAMPLE_EDGES) for start in starts)
                    samples += [run.columns()[2].copy() for run in runs]
                first = end
        return np.concatenate(samples)

    def take(self, edge_ids: NDArray[np.int64]) -> tuple[NDArray[Any], ...]:
        """Return u, v and weight of the given edges, in one scan; `edge_ids` must be ascending."""
        block = next(self.take_blocks(edge_ids, len(edge_ids) or 1), None)
        return block or tuple(column[:0] for column in self.first_columns())

    def take_blocks(
        self, edge_ids: NDArray[np.int64], least: int = 1
    ) -> Iterator[tuple[NDArray[Any], ...]]:
        """Yield the columns of `take` in blocks of at least `least` edges, except for the last."""
        segment: Any = self.only_segment if self.is_checked else None
        if hasattr(segment, "pairs"):  # points need no scan
            yield segment.pairs(host_array(edge_ids) + (segment.start - self.first_id))
            return
        start, stop, sorted_ids = 0, 0, host_array(edge_ids)
        taken: list[tuple[NDArray[Any], ...]] = []  # of edge_ids[start:stop]
        for first, count, read in self.blocks():
            low, stop = stop, int(np.searchsorted(sorted_ids, first + count))
            if low < stop:
                taken.append(tuple(column[edge_ids[low:stop] - first] for column in read()))
            if stop - start >= least:
                yield _concatenate(taken)
                start, taken = stop, []
        if taken:
            yield _concatenate(taken)

    def first_columns(self) -> tuple[NDArray[Any], ...]:
        """Return u, v and weight of the first edge; empty columns without edges.

        All edges have these dtypes.
        """
        return next((read() for *_, read in self.blocks(1)), _NO_EDGES)

    def _block(self, *args: Any) -> tuple[NDArray[Any], ...]:
        return self._read(*args)[0]

    def _read(
        self, segment: Segment, start: int, first: int, read: Callable[[], Columns]
    ) -> tuple[tuple[NDArray[Any], ...], int]:
        """Read and check a block; return it, and the number of vertices that it needs.

        `start` and `first` are the ids of the first edge of the segment and of the block.
        """
        u, v, weight = read()
        file, row = segment.origin
        edge = row + first - start if file else first  # messages count the rows of a file
        if self.unweighted or weight is None:
            weight = ones(u)
        try:
            if self.first_vertex:
                u = renumbered("u", u, self.first_vertex, edge)
                v = renumbered("v", v, self.first_vertex, edge)
            num_vertices = self.num_vertices or 0
            # Chunks with checksums were checked by an earlier scan; later scans compare these.
            if not self.is_checked and not segment.checksums:
                u, v, weight, num_vertices, _ = check_columns(u, v, weight, self.num_vertices, edge)
            check_dtype(edge, weight.dtype, self.weight_dtype)
        except GraphError as error:
            if not file:
                raise
            raise FileFormatError(f"{file}: {error}") from error
        return (u, self._without_removed(first, u, v), weight), num_vertices

    def _without_removed(self, first: int, u: NDArray[Any], v: NDArray[Any]) -> NDArray[Any]:
        """Return `v` with the ends of removed edges replaced by those in `u`."""
        if self.removed is None:
            return v
        removed, out = self.removed, empty(len(v), join_ids([v[:0], u[:0]]).dtype)

        def replace_ends(start: int, stop: int) -> None:
            low, high = np.searchsorted(removed, [first + start, first + stop])
            place = removed[low:high] - first
            out[start:stop] = v[start:stop]
            out[place] = u[place]

        in_shares(replace_ends, len(v))
        return out


class SegmentSizes(NamedTuple):
    """The sizes, dtype and checksums of a segment, from a scan."""

    num_edges: int
    num_vertices: int
    weight_dtype: np.dtype[Any] | None
    checksums: tuple[tuple[int, int], ...] = ()
    #: Whether the segment has weights; None if it has no edges.
    is_weighted: bool | None = None


def as_index(ids: NDArray[Any], num_vertices: int) -> NDArray[Any]:
    """Return vertex ids as int32 or int64, without a copy if they have 32 or 64 bits."""
    dtype = np.dtype(np.int32 if num_vertices <= 2**31 else np.int64)
    if ids.itemsize == 8 or ids.itemsize == dtype.itemsize:  # all ids are less than 2^63
        return ids.view(f"i{ids.itemsize}")
    return ids.astype(dtype)


def _read_only(column: Any) -> Any:
    """Return a read-only view of an array, which may belong to the caller."""
    if isinstance(column, np.ndarray):
        column = column.view()
        column.flags.writeable = False
    return column


def check_dtype(first: int, found: np.dtype[Any], known: np.dtype[Any] | None) -> np.dtype[Any]:
    """Check that weights from edge `first` on have the known dtype; return it."""
    if known is None or known == found:  # NumPy would convert None to float64
        return found
    raise GraphError(
        f"edge {first}: weights are {found} from here on and {known} before; a graph that is "
        "streamed needs one dtype"
    )


def _check_weighted(first: int, is_weighted: bool, known: bool | None) -> bool:
    """Check that edges from `first` on have weights if earlier edges have; return whether."""
    if known in (None, is_weighted):
        return is_weighted
    found = "weights" if is_weighted else "no weights"
    raise GraphError(
        f"edge {first}: there are {found} from here on, unlike before; pass weights for all edges, "
        "or weight=None to ignore them"
    )


def _concatenate(blocks: list[tuple[NDArray[Any], ...]]) -> tuple[NDArray[Any], ...]:
    """Concatenate blocks whose weights have one dtype; return a single block as it is.

    The blocks are released column by column, so at most one column is in memory twice.
    """
    if len(blocks) == 1:
        return blocks[0]
    columns, joined = [*map(list, zip(*blocks, strict=True))], []
    blocks.clear()
    for name, column in zip(("u", "v", "weight"), columns, strict=True):
        joined.append(np.concatenate(column) if name == "weight" else join_ids(column))
        column.clear()
    return tuple(joined)
