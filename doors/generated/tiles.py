"""Tiles: boxes that divide the vertices of a grid, each with all edges that touch it.

The edges of a tile are the entries of a dense table, whose axes are planes, directions and the
other axes of the box. The entries along the last axis are a *line*: their ids and ends are
consecutive. So an id can be computed from a position in the table. An entry without an edge is a
loop. Tiles of one shape share the columns of their ends.
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
#: The number of shapes in the cache: a plane of tiles has at most this number.
_CACHED_SHAPES = 9


class TileTemplate:
    """The columns that all tiles of one shape share.

    `extents` are those of the box `inside` with the vertices next to it. There is an offset for
    each direction, from the first to the second end of an edge. The columns are int32. `u` and `v`
    are the ends of each edge: positions of vertices in the box, or `num_vertices` for a vertex
    outside. `leaving` are the positions of the edges from a vertex inside to one outside.
    """

    def __init__(self, extents: tuple[int, ...], inside: Box, offsets: tuple[Offset, ...]) -> None:
        box = tuple(map(len, inside))
        self.num_vertices = size = math.prod(box)
        vertex = np.full(extents, size, np.int32)
        vertex[box_slices(inside)] = np.arange(size, dtype=np.int32).reshape(box)
        u, v = np.full((2, *table_extents(extents, offsets)), size, np.int32)
        for direction, offset in enumerate(offsets):
            first, second = end_slices(extents, offset)
            entries = first[0], direction, *first[1:]
            u[entries], v[entries] = vertex[first], vertex[second]
        self.u, self.v = u.ravel(), v.ravel()
        self.leaving = np.flatnonzero((self.u < size) & (self.v == size)).astype(np.int32)


@dataclass(frozen=True)
class Tile:
    """A box of vertices, and all edges that touch it."""

    #: A `grids.GridSegment`, which imports this module.
    grid: Any
    template: TileTemplate
    #: The box with the vertices next to it.
    wide_box: Box
    #: The box, relative to the first plane of the partition.
    box: Slices
    #: The id of the first edge of the grid.
    first_id: int

    def weights(self, dtype: DTypeLike) -> NDArray[Any]:
        """Return the weights of all entries of the table; the edges must have this dtype."""
        weights: NDArray[Any] = self.grid.weights(self.wide_box, dtype).ravel()
        return weights

    def edge_ids(self, positions: NDArray[Any]) -> NDArray[Any]:
        """Return the ids of the edges at these positions in the table."""
        return self._column(2, positions)

    def ends(self, positions: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the ends of the edges at these positions in the table."""
        return self._column(0, positions), self._column(1, positions)

    def _column(self, column: int, positions: NDArray[Any]) -> NDArray[Any]:
        line = positions // len(self.wide_box[-1])
        values: NDArray[Any] = self._lines[column][line] + positions
        return values

    @cached_property
    def _lines(self) -> NDArray[Any]:
        """The u, v and edge id of the first edge of each line, minus its position in the table."""
        lines: NDArray[np.int64] = self.grid.lines(self.wide_box)
        lines[2] += self.first_id
        lines -= len(self.wide_box[-1]) * np.arange(lines.shape[1])
        largest = max(self.grid.num_vertices, self.first_id + self.grid.num_grid_edges)
        return lines.astype(np.int32 if largest < 2**31 else np.int64)


def tile_boxes(
    vertices: Box, grid: tuple[int, ...], offsets: tuple[Offset, ...]
) -> Iterator[tuple[TileTemplate, Box, Box]]:
    """Divide a box of the vertices of a grid into tiles of about `VERTICES`, cubes if possible.

    Yield for each tile its template, its box with the vertices next to it, and its box.
    """
    template_of = functools.lru_cache(_CACHED_SHAPES)(TileTemplate)
    cuts = (
        [axis[at : at + side] for at in range(0, len(axis), side)]
        for axis, side in zip(vertices, tile_sides(tuple(map(len, vertices))), strict=True)
    )
    for box in itertools.product(*cuts):
        wide_box = tuple(
            range(max(0, axis.start - 1), min(size, axis.stop + 1))
            for axis, size in zip(box, grid, strict=True)
        )
        extents = tuple(map(len, wide_box))
        yield template_of(extents, relative_box(box, wide_box), offsets), wide_box, box


def relative_box(box: Box, wide_box: Box) -> Box:
    """Return a box in coordinates relative to the first vertex of a box that contains it."""
    return tuple(
        range(axis.start - wide.start, axis.stop - wide.start)
        for axis, wide in zip(box, wide_box, strict=True)
    )


def table_extents(extents: tuple[int, ...], offsets: tuple[Offset, ...]) -> tuple[int, ...]:
    """Return the extents of the table of the edges in a box."""
    return extents[0], len(offsets), *extents[1:]


def end_slices(extents: tuple[int, ...], offset: Offset) -> tuple[Slices, Slices]:
    """Return the slices of the first and of the second ends of all edges with an offset."""
    first, second = (
        tuple(
            slice(max(0, -move * sign), max(0, size - max(0, move * sign)))
            for size, move in zip(extents, offset, strict=True)
        )
        for sign in (1, -1)
    )
    return first, second


def box_slices(box: Iterable[range]) -> Slices:
    """Return the slices of a box."""
    return tuple(slice(axis.start, axis.stop) for axis in box)


def tile_sides(extents: tuple[int, ...]) -> tuple[int, ...]:
    """Return the extents of the tiles of a box; the last tile along each axis may be smaller."""
    num_vertices, sides = VERTICES, [1] * len(extents)
    for rank, axis in enumerate(sorted(range(len(extents)), key=extents.__getitem__)):
        cube_side = max(1, round(num_vertices ** (1 / (len(extents) - rank))))
        num_tiles = max(1, -(-extents[axis] // cube_side))
        sides[axis] = max(1, -(-extents[axis] // num_tiles))
        num_vertices //= sides[axis]
    return tuple(sides)


def bound_edges_after_tiles(extents: tuple[int, ...], offsets: tuple[Offset, ...]) -> int:
    """Return an upper bound on the edges that remain when the vertices inside tiles are joined.

    All edges between tiles remain. Inside a tile, fewer edges remain than it has vertices next to
    other tiles.
    """
    if not math.prod(extents):
        return 0
    num_tiles = [-(-size // side) for size, side in zip(extents, tile_sides(extents), strict=True)]

    def count(along_axis: Callable[[int, int, int], int]) -> int:
        lengths = (map(along_axis, extents, num_tiles, map(abs, offset)) for offset in offsets)
        return sum(map(math.prod, lengths))

    edges = count(lambda size, _, move: size - move)
    edges_in_tiles = count(lambda size, tiles, move: max(0, size - tiles * move))
    inner_vertices = math.prod(
        max(0, size - 2 * (tiles - 1)) for size, tiles in zip(extents, num_tiles, strict=True)
    )
    return edges - edges_in_tiles + math.prod(extents) - inner_vertices
