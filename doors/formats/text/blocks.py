"""Graphs from text: blocks of edges after a header, concatenated in memory or streamed."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....errors import FileFormatError, GraphError, file_errors
from ....graphs.edge_list import Columns, EdgeList
from ....graphs.segments import ArraySegment
from ....graphs.source import EdgeSource
from ....progress import set_listener
from ...file_checks import FileState, unchanged
from ...file_segment import File
from ...places.url import Place
from ...weights import join_weights
from .text_file import check_edges, fail

#: A file may state this number of vertices, and this number for each of its bytes.
_FREE_VERTICES, _VERTICES_PER_BYTE = 2**24, 64


@dataclass(frozen=True)
class Header:
    """The numbers of vertices and edges that a text file states before its edges."""

    num_vertices: int | None = None
    num_edges: int | None = None
    #: The line that states the numbers.
    line: int = 1
    #: The smallest number of bytes of an edge.
    size: int = 4
    #: Whether ids may also be from 1 to `num_vertices`. Then the graph has one more vertex: 0,
    #: without edges.
    is_lenient: bool = False


#: Yields the header, then blocks of edges.
Blocks = Iterator["Header | Columns"]


def join_blocks(path: Place, blocks: Blocks) -> EdgeList:
    """Concatenate the blocks of a text file into one graph."""
    header = _header(path, blocks)
    no_edges: Columns = np.empty(0, np.int64), np.empty(0, np.int64), None
    us, vs, weights = map(list, zip(*(list(_edges(path, blocks)) or [no_edges]), strict=True))
    with file_errors(path, GraphError):
        columns: list[Any] = []
        for join, column in ((np.concatenate, us), (np.concatenate, vs), (join_weights, weights)):
            columns.append(None if column[0] is None else join(column))
            column.clear()  # so at most one column is in memory twice
        num_vertices = header.num_vertices
        if header.is_lenient and num_vertices is not None:
            num_vertices = _num_vertices(path, header, *_id_range(*columns[:2]))
        graph = EdgeList(*columns, num_vertices=num_vertices)
    _check_num_edges(path, header, graph.num_edges)
    return graph


def stream_blocks(path: Place, name: str, read: Callable[[Place], Blocks]) -> EdgeSource:
    """Return a text file as a source that parses it in each scan, block by block.

    `name` is the name of the format. A first pass counts the vertices and edges.
    """
    state, weight_kinds = FileState.of(path), set()
    num_edges, largest, has_zero = 0, -1, False
    with unchanged(path, state):
        blocks = read(path)
        header = _header(path, blocks)
        for u, v, weight in _edges(path, blocks):
            num_edges += len(u)
            largest_here, has_zero_here = _id_range(u, v)
            largest, has_zero = max(largest, largest_here), has_zero or has_zero_here
            if weight is not None:
                weight_kinds.add(weight.dtype.kind)
    num_vertices = _num_vertices(path, header, largest, has_zero)
    _check_num_edges(path, header, num_edges)
    kind = "f" if "f" in weight_kinds else "u" if "u" in weight_kinds else "i"
    dtype = np.dtype(f"{kind}8")
    arrays = partial(_arrays, read=read, dtype=dtype)
    file = File(
        path, name, arrays, state, is_in_blocks=True, is_weighted=bool(weight_kinds), stop=num_edges
    )
    return EdgeSource((file,), num_vertices)


def _arrays(
    path: Place, read: Callable[[Place], Blocks], dtype: np.dtype[Any]
) -> Iterator[ArraySegment]:
    """Parse a file; convert the weights of all blocks to one dtype."""
    first, no_weights = 0, np.empty(0, dtype)
    with set_listener(False), file_errors(path, GraphError):  # the scan reports the progress
        blocks = read(path)
        next(blocks)
        for u, v, weight in blocks:  # type: ignore[misc]
            weight = None if weight is None else join_weights([no_weights, weight], first)
            yield ArraySegment(u, v, weight)
            first += len(u)


def _header(path: Place, blocks: Blocks) -> Header:
    """Return the header, after a check that the file can hold what it states."""
    header = next(blocks)
    assert isinstance(header, Header)
    if header.num_edges is not None:
        check_edges(path, header.line, header.num_edges, header.size)
    count = header.num_vertices or 0
    if count > _FREE_VERTICES + _VERTICES_PER_BYTE * path.stat().st_size:
        fail(path, header.line, f"states {count:,} vertices, out of all proportion to the file")
    return header


def _edges(path: Place, blocks: Blocks) -> Iterator[Columns]:
    """Yield the blocks of edges after the header; check that all have weights, or none."""
    first: Any = next(blocks, None)
    for block in () if first is None else itertools.chain([first], blocks):
        if (block[2] is None) != (first[2] is None):
            raise FileFormatError(f"{path}: some blocks have weights, and others have none")
        yield block


def _id_range(u: NDArray[Any], v: NDArray[Any]) -> tuple[int, bool]:
    """Return the largest vertex id, -1 without edges, and whether an id is 0."""
    return max(int(u.max(initial=-1)), int(v.max(initial=-1))), not (u.all() and v.all())


def _num_vertices(path: Place, header: Header, largest: int, has_zero: bool) -> int:
    """Return the number of vertices: the stated one, or one more if ids are numbered from 1."""
    if header.num_vertices is None:
        return largest + 1
    if largest < header.num_vertices:
        return header.num_vertices
    if has_zero:
        fail(path, header.line, f"states {largest} vertices, but ids are from 0 to {largest}")
    return largest + 1


def _check_num_edges(path: Place, header: Header, num_edges: int) -> None:
    stated = header.num_edges
    if stated is not None and num_edges != stated:
        which = "more" if num_edges > stated else "fewer"
        problem = f"the file holds {num_edges} edges, {which} than the {stated} stated here"
        fail(path, header.line, problem)
