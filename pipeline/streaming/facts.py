"""The facts about a graph on which a plan and its memory depend."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Self

from ...graphs.source import EdgeSource

#: Bytes on a device per edge (edge ids, keys and positions of light edges, without the columns) and
#: per vertex (records and the fields of rounds) if it holds the whole graph. Not yet measured.
_DEVICE_EDGE, _DEVICE_VERTEX = 16, 64
#: Edges that a device sorts and joins at once, and the bytes of each meanwhile. Not yet measured.
_SORTED, _SORTED_EDGE = 2**22, 48


@dataclass(slots=True)  # creating a frozen one takes three times as long
class GraphFacts:
    """The facts about a graph on which a plan and its memory depend."""

    num_vertices: int
    num_edges: int
    #: Bytes of a weight.
    weight: int = 4
    #: Number of edges of the largest segment that cannot be read in blocks.
    at_once: int = 0
    is_in_memory: bool = False
    is_read_once: bool = False
    is_on_device: bool = False
    #: If the graph is a grid, the largest number of edges that remain after its tiles are joined.
    max_edges_after_tiles: int | None = None
    #: Number of chunks that Dask computes; 0 for other graphs.
    num_chunks: int = 0
    #: Whether every read computes these chunks again.
    is_computed_again: bool = False

    @classmethod
    def of(
        cls, source: EdgeSource, num_chunks: int = 0, *, is_computed_again: bool = False
    ) -> Self:
        """Return the facts about a source; an iterator may have any number of edges."""
        return cls(
            source.num_vertices or 0,
            sys.maxsize if source.num_edges is None else source.num_edges,
            8 if source.weight_dtype is None else source.weight_dtype.itemsize,
            source.edges_at_once,
            source.is_in_memory,
            source.is_read_once,
            source.is_on_device,
            source.max_edges_after_tiles,
            num_chunks,
            is_computed_again,
        )

    @property
    def index(self) -> int:
        """Bytes of a vertex id."""
        return 4 if self.num_vertices <= 2**31 else 8

    @property
    def edge_id(self) -> int:
        """Bytes of an edge id, if it is not held with its edge."""
        return 4 if self.num_edges < 2**31 else 8

    @property
    def held_edge(self) -> int:
        """Bytes of an edge in a buffer: two ends, weight and id."""
        return 2 * self.index + self.weight + 8


def device_bytes(source: EdgeSource) -> int:
    """Return the bytes of device memory that the whole graph and its solution need.

    Reading the first edge of an iterator would consume it, so its size is unknown.
    """
    if source.is_read_once:
        return sys.maxsize
    graph = GraphFacts.of(source)
    u, v, weight = (column.itemsize for column in source.first_columns())
    index = graph.index
    columns = 0 if source.is_on_device else max(u, index) + max(v, index) + weight
    held = graph.num_edges * (columns + _DEVICE_EDGE) + graph.num_vertices * _DEVICE_VERTEX
    return held + min(graph.num_edges, _SORTED) * _SORTED_EDGE
