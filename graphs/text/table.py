"""Graphs from text: blocks of columns after a header, concatenated in memory or streamed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import FileFormatError, GraphError
from ...progress import set_listener
from ..edge_list import EdgeList, join_weights
from ..files import FileState, check_state, file_fingerprint, unchanged
from ..segments import ArraySegment, Sequential
from ..source import EdgeSource
from .files import check_edges, check_vertices, fail

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from ..edge_list import Columns


@dataclass(frozen=True)
class Header:
    """The numbers that a text file states before its edges."""

    num_vertices: int | None = None
    num_edges: int | None = None
    #: The line that states the numbers.
    line: int = 1
    #: The smallest number of bytes of an edge.
    size: int = 4


#: Yields the header, then blocks of columns.
Blocks = Iterator["Header | Columns"]


def join_blocks(path: Path, blocks: Blocks) -> EdgeList:
    """Concatenate the blocks of a text file into one graph."""
    header = _header(path, blocks)
    columns: list[list[Any]] = [[], [], []]
    for block in blocks:
        for column, values in zip(columns, block, strict=True):  # type: ignore[arg-type]
            column.append(values)
    u, v = (_joined(column) for column in columns[:2])
    weights = columns[2]
    try:
        weight = join_weights(weights) if weights and weights[0] is not None else None
        weights.clear()
        graph = EdgeList(u, v, weight, num_vertices=header.num_vertices)
    except GraphError as error:
        raise FileFormatError(f"{path}: {error}") from error
    _check_edges(path, header, graph.num_edges)
    return graph


def _joined(column: list[NDArray[Any]]) -> NDArray[Any]:
    """Concatenate blocks and drop them, so that at most one column is in memory twice."""
    joined = np.concatenate(column) if column else np.empty(0, np.int64)
    column.clear()
    return joined


def stream_blocks(path: Path, read: Callable[[Path], Blocks], options: str) -> EdgeSource:
    """Return a text file as a source that holds one block at a time; a first pass counts edges.

    The fingerprint of the source contains `options`, which must identify the options of `read`.
    """
    state, dtypes = FileState.of(path), set()
    count = largest = 0
    with unchanged(path, state):
        blocks = read(path)
        header = _header(path, blocks)
        for u, v, weight in blocks:  # type: ignore[misc]
            count += len(u)
            largest = max(largest, int(u.max(initial=-1)) + 1, int(v.max(initial=-1)) + 1)
            dtypes |= set() if weight is None else {weight.dtype}
    num_vertices = largest if header.num_vertices is None else header.num_vertices
    _check_edges(path, header, count)
    kinds = {dtype.kind for dtype in dtypes}
    name = "float64" if "f" in kinds else "uint64" if "u" in kinds else "int64"
    rows = TextRows(path, read, options, np.dtype(name), state).slice(0, count)
    return EdgeSource((rows,), num_vertices)


def _header(path: Path, blocks: Blocks) -> Header:
    header = next(blocks)
    assert isinstance(header, Header)
    if header.num_edges is not None:
        check_edges(path, header.line, header.num_edges, header.size)
    check_vertices(path, header.line, header.num_vertices or 0)
    return header


def _check_edges(path: Path, header: Header, num_edges: int) -> None:
    if header.num_edges not in (None, num_edges):
        which = "more" if num_edges > (header.num_edges or 0) else "fewer"
        problem = f"{num_edges} edges, {which} than the {header.num_edges} stated here"
        fail(path, header.line, f"the file holds {problem}")


@dataclass(frozen=True)
class TextRows(Sequential):
    """A text file that each scan parses again, block by block."""

    path: Path
    read: Callable[[Path], Blocks]
    options: str
    weight_dtype: np.dtype[Any]
    state: FileState
    is_in_blocks = True

    def arrays(self) -> Iterator[ArraySegment]:
        """Parse the file; convert the weights of all blocks to one dtype."""
        first, none = 0, np.empty(0, self.weight_dtype)
        with unchanged(self.path, self.state), set_listener(False):  # the scan reports the progress
            blocks = self.read(self.path)
            next(blocks)
            for u, v, weight in blocks:  # type: ignore[misc]
                if weight is not None:
                    weight = self._converted(weight, none, first)
                check_state(self.path, self.state)  # check here, because a scan may end early
                yield ArraySegment(u, v, weight)
                first += len(u)

    def fingerprint(self) -> str:
        """Return the fingerprint of the file, with the options of its reader."""
        return f"{file_fingerprint(self.path)} {self.options}"

    @property
    def origin(self) -> tuple[str, int]:
        """The file, and row 0."""
        return str(self.path), 0

    def _converted(self, weight: NDArray[Any], none: NDArray[Any], first: int) -> NDArray[Any]:
        try:
            return join_weights([none, weight], first)
        except GraphError as error:
            raise FileFormatError(f"{self.path}: {error}") from error
