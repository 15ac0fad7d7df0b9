"""Graphs whose vertices are numbered from 1 or another id: renumber them, and hint at them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from ..errors import GraphError, GraphWarning, OptionError
from .edge_list import EdgeList
from .segments import Chunks, Segment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .edge_list import Columns
    from .segments import Read
    from .source import EdgeSource

#: Number of edges to search at once; most graphs have vertex 0 in the first of these.
_BLOCK = 2**18


@overload
def renumbered(graph: EdgeList, first_id: Any) -> EdgeList: ...
@overload
def renumbered(graph: EdgeList | EdgeSource, first_id: Any) -> EdgeList | EdgeSource: ...
def renumbered(graph: EdgeList | EdgeSource, first_id: Any) -> EdgeList | EdgeSource:
    """Return a graph with `first_id` subtracted from all vertex ids."""
    is_integer = isinstance(first_id, int | np.integer) and not isinstance(first_id, bool)
    if not is_integer or first_id < 0:
        raise OptionError(f"first_id must be an integer of at least 0, not {first_id!r}")
    if not first_id:
        return graph
    if graph.names is not None:
        raise OptionError("first_id= is for vertices with numbers; these have names")
    count = graph.num_vertices
    count = None if count is None else max(0, count - first_id)
    if isinstance(graph, EdgeList):
        whole = graph.u, graph.v, graph.weight
        columns = _shifted(lambda: whole, first_id)
        return EdgeList(*columns, num_vertices=count)._changed(files=graph.files)
    if any(isinstance(segment, Chunks) for segment in graph.segments):
        raise OptionError("first_id= is for tables in memory and files; subtract it in each chunk")
    segments = tuple(Renumbered(segment, first_id) for segment in graph.segments)
    least = max(0, graph.least_vertices - first_id)
    return replace(
        graph, segments=segments, num_vertices=count, least_vertices=least, is_checked=False
    )


def hint_at_first_id(graph: EdgeList, place: str) -> None:
    """Warn if the vertices of a file or table seem to be numbered from 1."""
    least = 2
    for start in range(0, graph.num_edges, _BLOCK):
        for ids in (graph.u, graph.v):
            least = min(least, int(ids[start : start + _BLOCK].min()))
            if least == 0:
                return
    if least == 1:
        message = (
            f"{place}: vertex ids start at 1, so vertex 0 has no edge; pass first_id=1 if vertices "
            "are numbered from 1, or first_id=0 to keep it"
        )
        warnings.warn(message, GraphWarning, stacklevel=2)


@dataclass(frozen=True)
class Renumbered(Segment):
    """Edges of another segment with smaller vertex ids."""

    segment: Segment
    first_id: int

    @property
    def num_edges(self) -> int | None:
        """Number of edges."""
        return self.segment.num_edges

    @property
    def is_direct(self) -> bool:
        """Whether the segment is direct."""
        return self.segment.is_direct

    @property
    def edges_at_once(self) -> int:
        """Number of edges that a read loads."""
        return self.segment.edges_at_once

    @property
    def num_vertices(self) -> int:
        """Number of vertices that the segment states."""
        return max(0, self.segment.num_vertices - self.first_id)

    @property
    def is_weighted(self) -> bool:
        """Whether the segment has weights."""
        return self.segment.is_weighted

    @property
    def origin(self) -> tuple[str, int]:
        """The file of the edges, and the row of the first edge."""
        return self.segment.origin

    def slice(self, start: int, stop: int) -> Segment:
        """Return some of the edges."""
        return replace(self, segment=self.segment.slice(start, stop))

    def reads(self, size: int) -> Iterator[Read]:
        """Yield functions that read blocks and renumber them."""
        for count, read in self.segment.reads(size):
            yield count, partial(_shifted, read, self.first_id)

    def fingerprint(self) -> str:
        """Return the fingerprint of the segment, and the first id."""
        return f"{self.segment.fingerprint()} - {self.first_id}"


def _shifted(read: Callable[[], Columns], first_id: int) -> Columns:
    u, v, weight = read()
    for ids in (u, v):
        if (is_less := ids < first_id).any():
            row = int(is_less.argmax())
            raise GraphError(f"edge {row}: vertex id {ids[row]} is less than first_id={first_id}")
    return u - first_id, v - first_id, weight
