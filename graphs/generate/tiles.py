"""Tiles: boxes that divide the vertices of a grid, each with all edges that touch it.

The edges of a tile form a dense table. It has the lines of edges in the order of planes, then of
directions, so edge ids are ascending and can be computed from places in the table. A place without
an edge holds a loop. Tiles of one shape share the columns of their ends.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

Offset = tuple[int, ...]
Box = tuple[range, ...]
Slices = tuple[slice, ...]

#: The approximate number of vertices of a tile. With more vertices, fewer edges remain; with fewer
#: vertices, their edges fit in a smaller cache. `python -m benchmarks record grids` measures it.
VERTICES = 2**16
#: The number of shapes to keep: those of one plane of tiles.
_SHAPES = 9


class Shape:
    """The columns that all tiles of one shape share.

    The box `inside` and the vertices next to it have these `extents`. An offset leads from the
    first to the second end of an edge; there is one for each direction. The columns are int32:
    `u` and `v` are the ends of each edge, each the place of a vertex in the box, or `num_vertices`
    if it is outside; `leaving` are the places of the edges from a vertex inside to one outside.
    """

    def __init__(self, extents: tuple[int, ...], inside: Box, offsets: tuple[Offset, ...]) -> None:
        box = tuple(map(len, inside))
        self.num_vertices = size = math.prod(box)
        vertex = np.full(extents, size, np.int32)
        vertex[slices(inside)] = np.arange(size, dtype=np.int32).reshape(box)
        u, v = np.full((2, *table(extents, offsets)), size, np.int32)
        for direction, offset in enumerate(offsets):
            first, second = ends(extents, offset)
            place = first[0], direction, *first[1:]
            u[place], v[place] = vertex[first], vertex[second]
        self.u, self.v = u.ravel(), v.ravel()
        self.leaving = np.flatnonzero((self.u < size) & (self.v == size)).astype(np.int32)


@dataclass(frozen=True)
class Tile:
    """A box of vertices, and all edges that touch it."""

    #: A `grids.GridSegment`, which imports this module.
    grid: Any
    shape: Shape
    #: The box and the vertices next to it.
    extents: Box
    #: The box, within the planes of the partition.
    box: Slices
    #: The id of the first edge of the grid.
    first_id: int

    def weights(self, dtype: DTypeLike) -> NDArray[Any]:
        """Return the weights of all edges, which must have this dtype."""
        weights: NDArray[Any] = self.grid.weights(self.extents, dtype).ravel()
        return weights

    def edge_ids(self, places: NDArray[Any]) -> NDArray[Any]:
        """Return the ids of edges in the table."""
        return self._places(2, places)

    def ends(self, places: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the ends of edges in the table."""
        return self._places(0, places), self._places(1, places)

    def _places(self, row: int, places: NDArray[Any]) -> NDArray[Any]:
        values: NDArray[Any] = self._lines[row][places // len(self.extents[-1])] + places
        return values

    @cached_property
    def _lines(self) -> NDArray[Any]:
        """Both ends and the id of the first edge of each line, minus its place in the table."""
        lines: NDArray[np.int64] = self.grid.lines(self.extents)
        lines[2] += self.first_id
        lines -= len(self.extents[-1]) * np.arange(lines.shape[1])
        largest = max(self.grid.num_vertices, self.first_id + self.grid.end)
        return lines.astype(np.int32 if largest < 2**31 else np.int64)


def divide(
    vertices: Box, grid: tuple[int, ...], offsets: tuple[Offset, ...]
) -> Iterator[tuple[Shape, Box, Box]]:
    """Divide a range of the vertices of a grid into boxes of about `VERTICES`, cubes if possible.

    Yield the shape of each box, the box with the vertices next to it, and the box.
    """
    shape = functools.lru_cache(_SHAPES)(Shape)
    cuts = (
        [along[at : at + side] for at in range(0, len(along), side)]
        for along, side in zip(vertices, sides(tuple(map(len, vertices))), strict=True)
    )
    for box in itertools.product(*cuts):
        around = tuple(
            range(max(0, each.start - 1), min(size, each.stop + 1))
            for each, size in zip(box, grid, strict=True)
        )
        yield shape(tuple(map(len, around)), moved(box, around), offsets), around, box


def moved(box: Box, around: Box) -> Box:
    """Return a box in coordinates relative to the first vertex of another box."""
    return tuple(
        range(along.start - wide.start, along.stop - wide.start)
        for along, wide in zip(box, around, strict=True)
    )


def table(extents: tuple[int, ...], offsets: tuple[Offset, ...]) -> tuple[int, ...]:
    """Return the extents of a table of edges."""
    return extents[0], len(offsets), *extents[1:]


def ends(extents: tuple[int, ...], offset: Offset) -> tuple[Slices, Slices]:
    """Return the slices of the first and of the second ends of all edges with an offset."""
    first, second = (
        tuple(
            slice(max(0, -move * sign), max(0, size - max(0, move * sign)))
            for size, move in zip(extents, offset, strict=True)
        )
        for sign in (1, -1)
    )
    return first, second


def slices(ranges: Iterable[range]) -> Slices:
    """Return ranges as slices."""
    return tuple(slice(along.start, along.stop) for along in ranges)


def sides(extents: tuple[int, ...]) -> tuple[int, ...]:
    """Return the extents of the boxes of a grid; the last one along each axis may be smaller."""
    left, lengths = VERTICES, [1] * len(extents)
    for rank, axis in enumerate(sorted(range(len(extents)), key=extents.__getitem__)):
        wanted = max(1, round(left ** (1 / (len(extents) - rank))))
        count = max(1, -(-extents[axis] // wanted))
        lengths[axis] = max(1, -(-extents[axis] // count))
        left //= lengths[axis]
    return tuple(lengths)


def most_left(extents: tuple[int, ...], offsets: tuple[Offset, ...]) -> int:
    """Return an upper bound on the edges that remain when the vertices inside tiles are joined.

    All edges between tiles remain. Inside a tile, fewer edges remain than it has vertices next to
    other tiles.
    """
    if not math.prod(extents):
        return 0
    cuts = [-(-size // side) - 1 for size, side in zip(extents, sides(extents), strict=True)]

    def count(taken: Callable[[int, int, int], int]) -> int:
        return sum(math.prod(map(taken, extents, cuts, map(abs, offset))) for offset in offsets)

    between = count(lambda size, _, move: size - move)
    between -= count(lambda size, cuts, move: max(0, size - (cuts + 1) * move))
    inner = math.prod(max(0, size - 2 * cut) for size, cut in zip(extents, cuts, strict=True))
    return between + math.prod(extents) - inner
