"""Graphs that are streamed: segments of an edge list that are read in order, as often as needed.

Nothing here holds more than a block of edges. Edge ids run through the segments in order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import GraphError
from ..progress import report_progress
from ..runtime.device import host_array, is_on_device
from .edge_list import checked, join_ids, ones
from .segments import ArraySegment, Chunks, Rows, Sequential, digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from .edge_list import Columns, EdgeList
    from .segments import Segment

#: Edges of a block that stays in cache while it is looked at.
BLOCK_EDGES = 2**19
#: Of so many places, so many weights are looked at.
_SAMPLES, _SAMPLE_EDGES = 64, 512

_NO_EDGES = (np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64))


@dataclass(frozen=True)
class EdgeSource:
    """A graph that is streamed, never held.

    Parameters
    ----------
    segments : sequence of Segment
        Its edges, in order.
    num_vertices : int, optional
        Number of vertices; if not given, the largest id plus one, which a scan finds, or the
        largest number that a chunk states.
    first_id : int
        The id of the first edge; the others follow.
    unweighted : bool
        Take every weight as integer 1.
    is_checked : bool
        Whether ids and weights are known to be right.
    weight_dtype : dtype, optional
        Of all weights: keys of two dtypes do not compare. `with_sizes` finds it.
    least_vertices : int
        Number of vertices that some of the segments are known to have, where others are not.
    """

    segments: tuple[Segment, ...]
    num_vertices: int | None = None
    first_id: int = 0
    unweighted: bool = False
    is_checked: bool = False
    weight_dtype: np.dtype[Any] | None = None
    least_vertices: int = 0

    @classmethod
    def of(cls, graph: EdgeList) -> EdgeSource:
        """Return an edge list as a source."""
        segment = ArraySegment(graph.u, graph.v, graph.weight)
        return cls((segment,), graph.num_vertices, is_checked=True)

    @property
    def num_edges(self) -> int | None:
        """Number of edges, or None where only reading can tell."""
        counts = [segment.num_edges for segment in self.segments]
        return None if None in counts else sum(counts)  # type: ignore[arg-type]

    @property
    def edges_at_once(self) -> int:
        """How many edges a segment may read at once, beyond a block."""
        return max((segment.edges_at_once for segment in self.segments), default=0)

    @property
    def is_on_device(self) -> bool:
        """Whether its edges lie on a GPU; then all of them do."""
        segments = (segment for segment in self.segments if isinstance(segment, ArraySegment))
        return any(is_on_device(segment.u) for segment in segments)

    @property
    def is_read_once(self) -> bool:
        """Whether a second reading would find nothing."""
        return any(isinstance(segment, Chunks) and segment.is_iterator for segment in self.segments)

    def slice(self, start: int, stop: int) -> EdgeSource:
        """Return the source of the edges at positions `start` to `stop`, whose number is known."""
        segments, first = [], 0
        for segment in self.segments:
            size = segment.num_edges or 0
            low, high = max(start - first, 0), min(stop - first, size)
            if low < high:
                segments.append(segment if high - low == size else segment.slice(low, high))
            first += size
        return replace(self, segments=tuple(segments), first_id=self.first_id + start)

    def blocks(
        self, size: int = BLOCK_EDGES
    ) -> Iterator[tuple[int, int, Callable[[], tuple[NDArray[Any], ...]]]]:
        """Yield for block after block its first edge id, its length and what reads and checks it.

        The functions may be called in any thread, in any order.
        """
        first = self.first_id
        for segment in self.segments:
            for count, read in segment.reads(size):
                yield first, count, partial(self._checked, first, read)
                first += count

    def with_sizes(self) -> EdgeSource:
        """Return this source with its numbers of vertices and edges and the dtype of its weights.

        Where nothing else tells the numbers, a scan does. One that can be read but once tells
        neither its number of edges nor a dtype.

        Raises
        ------
        GraphError
            If it can be read but once, and does not tell its number of vertices.
        """
        if self.is_read_once:
            if self.num_vertices is None:
                message = "a graph that can be read but once needs num_vertices="
                raise GraphError(message)
            return self
        if self.num_vertices is not None and self.num_edges is not None:
            return replace(self, weight_dtype=self.first_columns()[2].dtype)
        segments, largest, first, dtype = [], self.least_vertices, self.first_id, None
        for segment in self.segments:
            begin = first
            for part in segment.arrays() if isinstance(segment, Sequential) else (segment,):
                largest = max(largest, part.num_vertices)  # a chunk may state it
                for count, read in part.reads(BLOCK_EDGES):
                    u, v, given = read()
                    given = None if self.unweighted else given
                    *_, weight, size = checked(u, v, given, None, first)
                    dtype = check_dtype(first, weight.dtype, dtype)
                    largest, first = max(largest, size), first + count
                    report_progress("count edges", first - self.first_id, self.num_edges or 0)
            is_known = segment.num_edges is not None
            segments.append(segment if is_known else Rows(segment, 0, first - begin))
        known = largest if self.num_vertices is None else self.num_vertices
        return replace(self, segments=tuple(segments), num_vertices=known, weight_dtype=dtype)

    def of_sizes(self, sizes: Sequence[tuple[int, int, np.dtype[Any] | None]]) -> EdgeSource:
        """Return this source with its sizes, where others have counted each segment.

        Parameters
        ----------
        sizes : sequence of (int, int, dtype)
            Number of edges, number of vertices, and dtype of the weights of each segment.

        Raises
        ------
        GraphError
            If the dtypes differ. Names the edge.
        """
        first, dtype, segments = self.first_id, self.weight_dtype, []
        for segment, (count, _, found) in zip(self.segments, sizes, strict=True):
            dtype = check_dtype(first, found, dtype) if count and found is not None else dtype
            segments.append(segment if segment.num_edges is not None else Rows(segment, 0, count))
            first += count
        largest = max((vertices for _, vertices, _ in sizes), default=0)
        known = self.num_vertices if self.num_vertices is not None else largest
        return replace(self, segments=tuple(segments), num_vertices=known, weight_dtype=dtype)

    def fingerprint(self) -> str:
        """Return what tells this graph from others."""
        parts = [segment.fingerprint() for segment in self.segments]
        return digest(repr((self.first_id, self.unweighted, parts)).encode())

    def columns(self) -> tuple[NDArray[Any], ...]:
        """Return u, v and weight of all edges, in memory."""
        reads = [read for *_, read in self.blocks(max(1, self.num_edges or BLOCK_EDGES))]
        if len(reads) == 1:
            return reads[0]()
        if not reads:  # an empty part must not change the dtype of what it is joined with
            *ends, weight = _NO_EDGES
            return *ends, weight.astype(self.weight_dtype or weight.dtype)
        return _joined([read() for read in reads])

    def sample_weights(self, shares: int = 1) -> NDArray[Any]:
        """Return the weights of a few thousand edges from all over; none if that takes a scan.

        Of `shares` sources that share a graph each takes its part of them; for 0, none.
        """
        count = self.num_edges
        if not count or not shares or not all(segment.is_direct for segment in self.segments):
            return np.empty(0, self.weight_dtype or np.int64)
        places = max(1, _SAMPLES // shares)
        starts = {count * place // places for place in range(places)}
        parts = (self.slice(start, min(start + _SAMPLE_EDGES, count)) for start in sorted(starts))
        return np.concatenate([part.columns()[2] for part in parts])

    def take(self, edge_ids: NDArray[np.int64]) -> tuple[NDArray[Any], ...]:
        """Return u, v and weight of the edges of ascending `edge_ids`: one scan."""
        found, low, known = [], 0, host_array(edge_ids)
        for first, count, read in self.blocks():
            high = int(np.searchsorted(known, first + count))
            if low < high:
                found.append(tuple(column[edge_ids[low:high] - first] for column in read()))
            low = high
        return _joined(found or [tuple(column[:0] for column in self.first_columns())])

    def first_columns(self) -> tuple[NDArray[Any], ...]:
        """Return u, v and weight of the first edge, if there is one: for their dtypes."""
        return next((read() for *_, read in self.blocks(1)), _NO_EDGES)

    def _checked(self, first: int, read: Callable[[], Columns]) -> tuple[NDArray[Any], ...]:
        u, v, weight = read()
        if self.unweighted or weight is None:
            weight = ones(u)
        if not self.is_checked:
            u, v, weight, _ = checked(u, v, weight, self.num_vertices, first)
        check_dtype(first, weight.dtype, self.weight_dtype)
        return u, v, weight


def check_dtype(first: int, found: np.dtype[Any], known: np.dtype[Any] | None) -> np.dtype[Any]:
    """Return the dtype of the weights from the edge `first` on, if it is what is known.

    Raises
    ------
    GraphError
        If it is not. Names the edge.
    """
    if known is None or known == found:  # None equals float64, says NumPy
        return found
    message = (
        f"edge {first}: weights are {found} from here on, but {known} before; all segments of "
        "a graph that is streamed need one dtype"
    )
    raise GraphError(message)


def _joined(columns: Sequence[tuple[NDArray[Any], ...]]) -> tuple[NDArray[Any], ...]:
    """Return u, v and weight (of one dtype) of several blocks in one."""
    u, v, weight = zip(*columns, strict=True)
    return join_ids(u), join_ids(v), np.concatenate(weight)
