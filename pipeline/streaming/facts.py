"""The facts about a graph on which a plan and its memory depend."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Self

from ...graphs.segments import Sequential
from ...graphs.source import EdgeSource
from ..partitions import is_persisted, num_chunks

#: Bytes that a device needs to solve a whole graph: per edge, without the columns (edge ids, keys
#: and positions of light edges), and per vertex (records and the fields of rounds). Not measured
#: yet.
_DEVICE_EDGE, _DEVICE_VERTEX = 16, 64
#: The number of edges that a device sorts and joins at once, and the bytes for each of them
#: meanwhile. Not measured yet.
_SORTED_EDGES, _SORTED_EDGE = 2**22, 48

#: Bytes per edge of a segment that cannot be read in blocks: twice its columns.
SEGMENT_EDGE = 48


@dataclass(slots=True)  # creating a frozen one takes three times as long
class GraphFacts:
    """The facts about a graph on which a plan and its memory depend."""

    num_vertices: int
    num_edges: int
    weight_bytes: int = 4
    #: The number of edges of the largest segment that cannot be read in blocks.
    edges_at_once: int = 0
    #: The number of these segments that a scan loads at once; 0 if each thread loads its own.
    segments_at_once: int = 0
    is_in_memory: bool = False
    is_read_once: bool = False
    is_on_device: bool = False
    #: If the graph is a grid, the largest number of edges that remain after its tiles are joined.
    edges_after_tiles: int | None = None
    #: The number of chunks that Dask computes; 0 for other graphs.
    num_chunks: int = 0
    #: Whether every read computes these chunks again.
    is_computed_again: bool = False
    #: Whether weights can be sampled without a scan.
    can_sample: bool = True
    #: The number of edges of the largest segment, which no block exceeds; None if unknown.
    largest_segment: int | None = None
    #: The format of the files, and the bytes of them that a scan reads; empty and 0 without files.
    format_name: str = ""
    file_bytes: int = 0

    @classmethod
    def of(cls, source: EdgeSource) -> Self:
        """Return the facts about a source; an iterator may have any number of edges."""
        segments, count, chunks = source.segments, source.num_edges, num_chunks(source)
        whole = [segment for segment in segments if segment.edges_at_once]
        # Threads share a segment that is read from its beginning. While the next one is loaded,
        # they may still use it.
        are_shared = all(isinstance(segment, Sequential) for segment in whole)
        return cls(
            source.num_vertices or 0,
            sys.maxsize if count is None else count,
            8 if source.weight_dtype is None else source.weight_dtype.itemsize,
            max((segment.edges_at_once for segment in whole), default=0),
            min(2, len(whole)) if are_shared else 0,
            source.is_in_memory,
            source.is_read_once,
            source.is_on_device,
            source.edges_after_tiles,
            chunks,
            chunks > 0 and not is_persisted(source),
            source.can_sample,
            None if count is None else max((each.num_edges or 0 for each in segments), default=0),
            next(filter(None, (segment.format_name for segment in segments)), ""),
            sum(segment.file_bytes for segment in segments),
        )

    @property
    def index_bytes(self) -> int:
        """Bytes of a vertex id."""
        return 4 if self.num_vertices <= 2**31 else 8

    @property
    def edge_id_bytes(self) -> int:
        """Bytes of an edge id outside a buffer."""
        return 4 if self.num_edges < 2**31 else 8

    def segment_bytes(self, threads: int) -> int:
        """Return the bytes of segments that cannot be read in blocks, in a scan by threads.

        Reading a segment takes twice the bytes of its columns.
        """
        return (self.segments_at_once or threads) * self.edges_at_once * SEGMENT_EDGE

    @property
    def columns_bytes(self) -> int:
        """Bytes of the two ends and the weight of an edge."""
        return 2 * self.index_bytes + self.weight_bytes

    @property
    def scanned_bytes(self) -> int:
        """Bytes that a scan reads; without files, the bytes of the columns."""
        return self.file_bytes or self.num_edges * self.columns_bytes

    @property
    def edge_bytes(self) -> int:
        """Bytes of an edge in a buffer: two ends, weight and id."""
        return self.columns_bytes + 8

    @property
    def keyed_edge_bytes(self) -> int:
        """Bytes of an edge outside a buffer: two ends, key and id."""
        return self.columns_bytes + self.edge_id_bytes


def device_bytes(source: EdgeSource) -> int:
    """Return the bytes of device memory that the whole graph and its solution need.

    Reading the first edge of an iterator would consume it, so its size is unknown.
    """
    if source.is_read_once:
        return sys.maxsize
    graph = GraphFacts.of(source)
    u, v, weight = (column.itemsize for column in source.first_columns())
    index = graph.index_bytes
    columns = 0 if source.is_on_device else max(u, index) + max(v, index) + weight
    needed = graph.num_edges * (columns + _DEVICE_EDGE) + graph.num_vertices * _DEVICE_VERTEX
    return needed + min(graph.num_edges, _SORTED_EDGES) * _SORTED_EDGE
