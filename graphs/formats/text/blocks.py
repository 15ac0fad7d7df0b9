"""Graphs from text: blocks of columns after a header, concatenated in memory or streamed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....errors import GraphError
from ....progress import set_listener
from ...edge_list import Columns, EdgeList, join_weights
from ...file_checks import FileState, file_errors, unchanged
from ...places.url import Place
from ...segments import ArraySegment, File
from ...source import EdgeSource
from .text_file import check_edges, fail

#: The largest number of vertices that a file may state: a fixed number, and one for each byte.
_FREE_VERTICES, _VERTICES = 2**24, 64


@dataclass(frozen=True)
class Header:
    """The numbers that a text file states before its edges."""

    num_vertices: int | None = None
    num_edges: int | None = None
    #: The line that states the numbers.
    line: int = 1
    #: The smallest number of bytes of an edge.
    size: int = 4
    #: Whether ids may also be numbered from 1; then vertex 0 has no edge.
    is_lenient: bool = False


#: Yields the header, then blocks of columns.
Blocks = Iterator["Header | Columns"]


def join_blocks(path: Place, blocks: Blocks) -> EdgeList:
    """Concatenate the blocks of a text file into one graph."""
    header = _header(path, blocks)
    none: Columns = np.empty(0, np.int64), np.empty(0, np.int64), None
    us, vs, weights = map(list, zip(*(list(blocks) or [none]), strict=True))
    with file_errors(path, GraphError):
        columns: list[Any] = []
        for join, column in ((np.concatenate, us), (np.concatenate, vs), (join_weights, weights)):
            columns.append(None if column[0] is None else join(column))
            column.clear()  # so at most one column is in memory twice
        num_vertices = header.num_vertices
        if header.is_lenient and num_vertices is not None:
            num_vertices = _counted(path, header, columns[:2])
        graph = EdgeList(*columns, num_vertices=num_vertices)
    _check_edges(path, header, graph.num_edges)
    return graph


def stream_blocks(path: Place, name: str, read: Callable[[Place], Blocks]) -> EdgeSource:
    """Return a text file as a source that holds one block at a time; a first pass counts edges.

    `name` is that of the format.
    """
    state, kinds = FileState.of(path), set()
    count, largest, has_zero = 0, 0, False
    with unchanged(path, state):
        blocks = read(path)
        header = _header(path, blocks)
        for u, v, weight in blocks:  # type: ignore[misc]
            count += len(u)
            largest = max(largest, int(u.max(initial=-1)) + 1, int(v.max(initial=-1)) + 1)
            has_zero = has_zero or not (u.all() and v.all())
            kinds |= set() if weight is None else {weight.dtype.kind}
    num_vertices = largest
    if header.num_vertices is not None:
        num_vertices = max(header.num_vertices, largest)
        _check_stated(path, header, num_vertices, has_zero=has_zero)
    _check_edges(path, header, count)
    dtype = np.dtype("float64" if "f" in kinds else "uint64" if "u" in kinds else "int64")
    blocks_again = partial(_blocks, read=read, dtype=dtype)
    file = File(
        path,
        name,
        blocks_again,
        state,
        is_in_blocks=True,
        is_weighted=bool(kinds),
        stop=count,
    )
    return EdgeSource((file,), num_vertices)


def _blocks(
    path: Place, read: Callable[[Place], Blocks], dtype: np.dtype[Any]
) -> Iterator[ArraySegment]:
    """Parse a file; convert the weights of all blocks to one dtype."""
    first, none = 0, np.empty(0, dtype)
    with set_listener(False), file_errors(path, GraphError):  # the scan reports the progress
        blocks = read(path)
        next(blocks)
        for u, v, weight in blocks:  # type: ignore[misc]
            weight = None if weight is None else join_weights([none, weight], first)
            yield ArraySegment(u, v, weight)
            first += len(u)


def _header(path: Place, blocks: Blocks) -> Header:
    header = next(blocks)
    assert isinstance(header, Header)
    if header.num_edges is not None:
        check_edges(path, header.line, header.num_edges, header.size)
    count = header.num_vertices or 0
    if count > _FREE_VERTICES + _VERTICES * path.stat().st_size:
        fail(path, header.line, f"states {count:,} vertices, out of all proportion to the file")
    return header


def _counted(path: Place, header: Header, ends: Sequence[NDArray[Any]]) -> int:
    """Return the stated number of vertices, plus one if ids are numbered from 1."""
    stated = header.num_vertices or 0
    if any(int(ids.max(initial=-1)) >= stated for ids in ends):
        has_zero = not all(ids.all() for ids in ends)
        _check_stated(path, header, stated + 1, has_zero=has_zero)
        return stated + 1
    return stated


def _check_stated(path: Place, header: Header, num_vertices: int, *, has_zero: bool) -> None:
    """Check that ids start from 1 if the largest one is the stated number of vertices."""
    if num_vertices > (header.num_vertices or 0) and has_zero:
        largest = num_vertices - 1
        fail(path, header.line, f"states {largest} vertices, but ids are from 0 to {largest}")


def _check_edges(path: Place, header: Header, num_edges: int) -> None:
    if header.num_edges not in (None, num_edges):
        which = "more" if num_edges > (header.num_edges or 0) else "fewer"
        problem = f"{num_edges} edges, {which} than the {header.num_edges} stated here"
        fail(path, header.line, f"the file holds {problem}")
