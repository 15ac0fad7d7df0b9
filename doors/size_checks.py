"""Checks of the number of vertices: memory can hold arrays over them, and most may have edges."""

from __future__ import annotations

import warnings

import numpy as np

from ..errors import GraphWarning, OutOfMemoryError
from ..graphs.segments import Segment
from ..graphs.source import EdgeSource
from ..runtime.device import host_array
from ..runtime.host import available_bytes, show_bytes
from ..runtime.sizes import sizes

#: Arrays of indices over the vertices that any algorithm needs at once.
_VERTEX_ARRAYS = 10
#: The same for the leanest algorithm.
_LEAST_VERTEX_ARRAYS = 3
#: From this number of vertices on, many vertices without edges cause a warning: if the largest id
#: determines it, and if a caller or a file states it (about 1 GB).
_MANY_VERTICES, _MANY_GIVEN_VERTICES = 10**7, 8 * 10**7


def check_vertices(
    source: EdgeSource,
    negligible: int = 10**9,
    available: int | None = None,
    *,
    is_wanted: bool = False,
) -> None:
    """Check that memory can hold arrays over the vertices, before any is made.

    `available` is the memory in bytes, by default that of the system. If the arrays need fewer
    bytes than `negligible`, nothing is checked. If the number of vertices `is_wanted` by the
    caller, only the arrays of the leanest algorithm must fit.
    """
    count = source.num_vertices or 0
    arrays = _LEAST_VERTEX_ARRAYS if is_wanted else _VERTEX_ARRAYS
    needed = count * arrays * (4 if count <= 2**31 else 8)
    if needed < negligible:
        return
    available = available_bytes() if available is None else available
    if available is None or needed <= available:
        return
    cause, remedy = _cause_of_size(source)
    if not is_wanted and "vertex id" in cause:
        remedy += "; if the graph has that number of vertices, pass num_vertices="
    raise OutOfMemoryError(
        f"{cause}not enough memory for {count:,} vertices and {source.num_edges or 0:,} edges "
        f"({show_bytes(needed)}; available are {show_bytes(available)}); {remedy}"
    )


def warn_if_sparse(source: EdgeSource, *, is_wanted: bool = False) -> None:
    """Warn if there are many vertices, and most of them cannot have an edge."""
    count, edges = source.num_vertices or 0, source.num_edges or 0
    least = _MANY_GIVEN_VERTICES if is_wanted else _MANY_VERTICES
    if count < least or count < 4 * edges or source.is_read_once:
        return
    cause, remedy = _cause_of_size(source)
    if "vertex id" in cause or count >= _MANY_GIVEN_VERTICES:
        message = (
            f"{cause}{count:,} vertices for {edges:,} edges, and memory is taken for all of "
            f"them; {remedy}"
        )
        warnings.warn(message, GraphWarning, stacklevel=2)


def _cause_of_size(source: EdgeSource) -> tuple[str, str]:
    """Return the cause of the number of vertices as the start of a message, and a remedy."""
    largest, edge = _find_largest_id(source)
    if largest + 1 == source.num_vertices:
        remedy = "renumber them from 0, or take them as names by ends="
        return f"{edge}: vertex id {largest}: ", f"if vertex ids are sparse, {remedy}"
    cause = f"{source.counted_in}: " if source.counted_in else ""
    return cause, f"the largest vertex id is {largest}; pass a smaller num_vertices="


def _find_largest_id(source: EdgeSource) -> tuple[int, str]:
    """Return the largest vertex id, and the name of its edge for messages, by a scan.

    Without edges the id is -1 and the name is empty.
    """
    largest, name, edge = -1, "", source.first_id
    for segment in source.segments:
        row = 0
        for count, read in segment.reads(sizes().block_edges):
            u, v = (host_array(ids).astype(np.int64) for ids in read()[:2])
            ends = np.maximum(u, v) - source.first_vertex
            if int(ends.max(initial=-1)) > largest:
                at = int(ends.argmax())
                largest, name = int(ends[at]), _edge_name(segment, row + at, edge + at)
            row, edge = row + count, edge + count
    return largest, name


def _edge_name(segment: Segment, row: int, edge: int) -> str:
    """Return the file and row of an edge, or its id without a file."""
    file, first = segment.origin
    for name, count in getattr(segment, "files", ()):
        if row < count:
            file = name
            break
        row -= count
    return f"{file}: edge {first + row}" if file else f"edge {edge}"
