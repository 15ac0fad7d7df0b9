"""Grids: images and volumes as graphs whose edges are computed block by block.

Vertices are the pixels or voxels in the order of the array (C order). A *plane* is the part of the
array at one index of the first axis: a row of an image, a slice of a volume. Edges are in the order
of the plane of their first end, then of their direction, then of their first end. No edge is
stored: a block of edges costs a few additions and differences.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from ...errors import GraphError, OptionError
from ...graphs.edge_list import Columns
from ...graphs.segments import Range, Read, rows_of
from ...graphs.source import EdgeSource, check_dtype
from ...runtime.identity import digest, identify
from .tiles import (
    Box,
    Tile,
    bound_edges_after_tiles,
    box_slices,
    end_slices,
    relative_box,
    table_extents,
    tile_boxes,
)

WeightFunction = Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]

#: For each number of axes: the numbers of neighbors that an inner vertex may have, each with the
#: number of axes along which a neighbor may differ.
_CONNECTIVITIES = {2: {4: 1, 8: 2}, 3: {6: 1, 18: 2, 26: 3}}


def grid(
    values: ArrayLike,
    connectivity: int | None = None,
    *,
    weight: WeightFunction | None = None,
    channel_axis: int | None = None,
) -> EdgeSource:
    """Return the graph of an image or a volume, whose edges are computed as they are read.

    Parameters
    ----------
    values : array of two or three axes, and one more for channels
        Only views of it are taken.
    connectivity : {4, 8, 6, 18, 26}, optional
        The number of neighbors of an inner vertex: 4 or 8 in an image, 6, 18 or 26 in a volume.
        By default 4 or 6.
    weight : callable, optional
        Computes the weights of edges from the values at both ends, two arrays of equal shape with
        the channels as their last axis. It must be vectorised, and is called in several threads.
        The arrays have the dtype of `values`, in which integers wrap around: the difference of the
        uint8 values 3 and 5 is 254. Convert them first, as in ``a.astype(int) - b.astype(int)``. By
        default the absolute difference, summed over channels. It is exact: of integers it is
        unsigned, and of bools it is whether they differ.
    channel_axis : int, optional
        The axis of color channels; by default there is none.

    Returns
    -------
    EdgeSource
        Any function of mstflow takes it as a graph. A vertex is a position in the flat array.

    Raises
    ------
    OptionError
        If the number of axes, the connectivity or the channel axis are invalid.
    GraphError
        If `values` is a masked array.
    """
    if isinstance(values, np.ma.MaskedArray):
        message = "values must not be a masked array; fill the masked places, as with inf"
        raise GraphError(message)
    array = np.asarray(values)
    if channel_axis is not None:
        if not -array.ndim <= channel_axis < array.ndim:
            message = f"channel_axis is {channel_axis}, but the array has {array.ndim} axes"
            raise OptionError(message)
        array = np.moveaxis(array, channel_axis, -1)
    axes = array.ndim - (channel_axis is not None)
    if axes not in _CONNECTIVITIES or array.dtype.kind not in "biuf":
        raise OptionError(
            "expected an image of two axes or a volume of three, of bools, integers or floats, got "
            f"{array.dtype} of shape {np.shape(values)}; pass channel_axis= for color channels"
        )
    connectivities = _CONNECTIVITIES[axes]
    if connectivity is None:
        connectivity = next(iter(connectivities))
    if connectivity not in connectivities:
        known = ", ".join(map(str, connectivities))
        message = f"connectivity must be one of {known} for {axes} axes, not {connectivity!r}"
        raise OptionError(message)
    shape = array.shape[:axes]
    offsets = tuple(
        offset
        for offset in itertools.product((-1, 0, 1), repeat=axes)
        if offset > (0,) * axes
        and np.count_nonzero(offset) <= connectivities[connectivity]
        and all(size > abs(move) for size, move in zip(shape, offset, strict=True))
    )
    empty = GridSegment(array, shape, offsets, weight or difference, stop=0)
    return EdgeSource((replace(empty, stop=empty.num_grid_edges),), math.prod(shape))


def difference(left: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
    """Return the absolute differences, exact for integers; channels are summed."""
    distance: NDArray[Any]
    if left.dtype.kind == "b":
        distance = left != right
    else:
        with np.errstate(invalid="ignore"):
            distance = np.maximum(left, right) - np.minimum(left, right)
        if left.dtype.kind == "f" and np.isnan(distance.max(initial=0)):
            distance[left == right] = 0  # equal infinities
    if left.dtype.kind == "i":  # the difference wraps around, which unsigned integers undo
        distance = distance.view(f"u{distance.itemsize}")
    return np.asarray(distance.sum(axis=-1)) if distance.ndim > 1 else distance


@dataclass(frozen=True)
class GridSegment(Range):
    """A range of the edges of a grid."""

    #: The planes of the ends of the edges; channels are the last axis.
    values: NDArray[Any]
    #: The shape of the whole grid, without channels.
    shape: tuple[int, ...]
    #: The difference of both ends of an edge along each axis, for each direction that has edges.
    offsets: tuple[tuple[int, ...], ...]
    weight: WeightFunction
    #: The first plane of `values`.
    first_plane: int = 0

    @property
    def num_vertices(self) -> int:
        """Number of vertices of the whole grid."""
        return math.prod(self.shape)

    @cached_property
    def directions(self) -> tuple[_Direction, ...]:
        """The edges of a plane in each direction."""
        return tuple(_Direction.of(offset, self.shape[1:]) for offset in self.offsets)

    @property
    def edges_per_plane(self) -> int:
        """Number of edges of each plane except the last."""
        return sum(direction.num_edges for direction in self.directions)

    @property
    def num_grid_edges(self) -> int:
        """Number of edges of the whole grid."""
        inside = sum(d.num_edges for d in self.directions if not d.leads_to_next_plane)
        return max(0, self.shape[0] - 1) * self.edges_per_plane + (inside if self.shape[0] else 0)

    @property
    def planes(self) -> range:
        """The planes whose first edge is in the range; at the end, also planes without edges."""
        per_plane, count = max(1, self.edges_per_plane), self.shape[0]
        stop = count if self.stop == self.num_grid_edges else -(-self.stop // per_plane)
        return range(-(-self.start // per_plane), stop)

    def slice(self, start: int, stop: int) -> GridSegment:
        """Return a range of these edges, with the planes of their ends and of the edge before."""
        start, stop, per_plane = self.start + start, self.start + stop, max(1, self.edges_per_plane)
        low, high = max(0, start - 1) // per_plane, (stop - 1) // per_plane + 2
        values = self.values[low - self.first_plane : high - self.first_plane]
        return replace(self, values=values, first_plane=low, start=start, stop=stop)

    def tiles(self, first_id: int) -> tuple[tuple[int, ...], int, Iterator[Tile]]:
        """Divide `planes` into tiles; the ids of the grid start at `first_id`.

        Return the extents of `planes`, an upper bound on the edges that remain when the vertices
        inside tiles are joined, and the tiles.
        """
        vertices = self.planes, *map(range, self.shape[1:])
        extents = tuple(map(len, vertices))
        max_edges = bound_edges_after_tiles(extents, self.offsets)
        if self.num_edges < self.num_grid_edges:  # add those next to other partitions
            max_edges += 2 * math.prod(self.shape[1:]) + self.edges_per_plane
        tiles = (
            Tile(self, shape, wide_box, box_slices(relative_box(box, vertices)), first_id)
            for shape, wide_box, box in tile_boxes(vertices, self.shape, self.offsets)
        )
        return extents, max_edges, tiles

    @property
    def edges_after_tiles(self) -> int | None:
        """The bound that `tiles` returns; None if the range does not include all edges."""
        is_whole = self.num_edges == self.num_grid_edges
        return bound_edges_after_tiles(self.shape, self.offsets) if is_whole else None

    def weights(self, box: Box, dtype: DTypeLike) -> NDArray[Any]:
        """Return the weights of the edges within a box as the table of a `Tile`."""
        planes, *rest = box_slices(box)
        values = self.values[planes.start - self.first_plane : planes.stop - self.first_plane]
        values, extents = values[(slice(None), *rest)], tuple(map(len, box))
        weights = np.zeros(table_extents(extents, self.offsets), dtype)
        for direction, offset in enumerate(self.offsets):
            first, second = end_slices(extents, offset)
            entries: tuple[Any, ...] = (first[0], direction, *first[1:])
            ends = (_with_one_axis(values[end], len(extents)) for end in (first, second))
            weight = _weights(self.weight, *ends)
            check_dtype(self.start, weight.dtype, weights.dtype)
            weights[entries] = weight.reshape(weights[entries].shape)
        return weights

    def lines(self, box: Box) -> NDArray[np.int64]:
        """Return u, v and edge id of the first edge of each line of the table of a `Tile`."""
        planes, *rest = (np.arange(axis.start, axis.stop) for axis in box)
        rest[-1] = rest[-1][:1]
        size, num_lines = math.prod(self.shape[1:]), math.prod(map(len, rest))
        lines = np.empty((3, len(planes), len(self.directions), num_lines), np.int64)
        first_id = self.edges_per_plane * planes
        for number, direction in enumerate(self.directions):
            relative = [
                axis - first.start for axis, first in zip(rest, direction.first_ends, strict=True)
            ]
            u, v, edge_id = lines[:, :, number]
            u[:] = np.add.outer(size * planes, _flat_positions(self.shape[1:], rest))
            v[:] = u + direction.shift
            edge_id[:] = np.add.outer(first_id, _flat_positions(direction.extents, relative))
            first_id = first_id + direction.num_edges
        return lines.reshape(3, -1)

    def fingerprint(self) -> str:
        """Return a digest of the values, the directions and the function of the weights."""
        weight = identify(self.weight)
        facts = self.shape, self.offsets, weight, self.start, self.stop, self.values.dtype.str
        return digest(repr(facts).encode(), np.ascontiguousarray(self.values).data)

    def reads(self, size: int) -> Iterator[Read]:
        """Yield functions that compute blocks of about `size` edges."""
        for first, count, compute in self._blocks(max(1, size)):
            low, high = max(self.start - first, 0), min(self.stop - first, count)
            if low < high:
                yield high - low, partial(rows_of, compute, low, high)

    def _blocks(self, size: int) -> Iterator[tuple[int, int, Callable[[], Columns]]]:
        """Yield the first edge, the length and a function for each block of the range's planes.

        A block is several planes, one plane, or some rows of one plane in one direction.
        """
        per_plane, last = max(1, self.edges_per_plane), self.shape[0] - 1
        plane = self.start // per_plane
        while plane * per_plane < self.stop:
            wanted = min(size // per_plane, -(-self.stop // per_plane) - plane)
            planes = range(plane, plane + max(1, min(wanted, last - plane)))
            directions = [d for d in self.directions if plane < last or not d.leads_to_next_plane]
            first = plane * per_plane
            if len(planes) > 1 or per_plane <= size:
                count = len(planes) * sum(direction.num_edges for direction in directions)
                yield first, count, partial(self._edges, planes, directions, None)
            else:
                for direction in directions:
                    num_rows = direction.extents[0]
                    step = max(1, size * num_rows // direction.num_edges)
                    for row in range(0, num_rows, step):
                        rows = range(row, min(row + step, num_rows))
                        count = direction.num_edges // num_rows * len(rows)
                        yield first, count, partial(self._edges, planes, [direction], rows)
                        first += count
            plane = planes.stop

    def _edges(self, planes: range, directions: list[_Direction], rows: range | None) -> Columns:
        """Return the edges of some planes in some directions, or only `rows` of each plane."""
        dtype = np.int32 if self.num_vertices < 2**31 else np.int64
        first_vertex: NDArray[Any] = np.arange(planes.start, planes.stop, dtype=dtype)[:, None]
        first_vertex *= math.prod(self.shape[1:])
        values = self.values[planes.start - self.first_plane : planes.stop + 1 - self.first_plane]
        us, vs, weights = [], [], []
        for direction in directions:
            positions = direction.positions(dtype, rows)
            us.append(first_vertex + positions)
            vs.append(first_vertex + (positions + dtype(direction.shift)))
            ends = direction.end_values(values, len(planes), rows)
            weights.append(_weights(self.weight, *ends).reshape(len(planes), -1))
        return tuple(  # type: ignore[return-value]
            np.concatenate(parts, axis=1).ravel() if len(parts) > 1 else parts[0].ravel()
            for parts in (us, vs, weights)
        )


@dataclass(frozen=True)
class _Direction:
    """The edges of one plane that lead in one direction."""

    leads_to_next_plane: bool
    #: The difference of the vertex ids of both ends.
    shift: int
    #: The first and the second ends, along the axes of a plane.
    first_ends: tuple[slice, ...]
    second_ends: tuple[slice, ...]
    #: The shape of a plane.
    shape: tuple[int, ...]

    @classmethod
    def of(cls, offset: tuple[int, ...], shape: tuple[int, ...]) -> _Direction:
        """Return the edges with an offset; `shape` is the shape of a plane."""
        shift, *rest = offset
        for size, move in zip(shape, rest, strict=True):
            shift = shift * size + move
        return cls(offset[0] == 1, shift, *end_slices(shape, tuple(rest)), shape)

    @property
    def extents(self) -> tuple[int, ...]:
        """The number of edges along each axis of a plane."""
        return tuple(max(0, axis.stop - axis.start) for axis in self.first_ends)

    @property
    def num_edges(self) -> int:
        """Number of edges."""
        return math.prod(self.extents)

    def positions(self, dtype: Any, rows: range | None) -> NDArray[Any]:
        """Return the positions of the first ends in their plane; `rows` of them if given."""
        first, *rest = (np.arange(axis.start, axis.stop, dtype=dtype) for axis in self.first_ends)
        return _flat_positions(
            self.shape, [first[rows.start : rows.stop] if rows else first, *rest]
        )

    def end_values(
        self, values: NDArray[Any], num_planes: int, rows: range | None
    ) -> Iterator[NDArray[Any]]:
        """Yield the values at the first and at the second ends, with an axis for channels."""
        second_plane = int(self.leads_to_next_plane)
        for plane, ends in ((0, self.first_ends), (second_plane, self.second_ends)):
            block = values[(slice(plane, plane + num_planes), *ends)]
            block = block[:, rows.start : rows.stop] if rows else block
            yield _with_one_axis(block, 1 + len(ends))


def _flat_positions(extents: tuple[int, ...], coordinates: list[NDArray[Any]]) -> NDArray[Any]:
    """Return the positions in a flat array of all points with these coordinates on each axis."""
    positions = coordinates[0]
    for size, axis in zip(extents[1:], coordinates[1:], strict=True):
        positions = np.add.outer(positions * axis.dtype.type(size), axis)
    return positions.ravel()


def _with_one_axis(values: NDArray[Any], num_axes: int) -> NDArray[Any]:
    """Join the first axes of an array to one; the other axes are channels."""
    return values.reshape(-1, *values.shape[num_axes:])


def _weights(weight: WeightFunction, left: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
    """Return the weights of edges."""
    weights = np.asarray(weight(left, right))
    if weights.shape != (len(left),):
        raise GraphError(
            f"weight= returned an array of shape {weights.shape} for {len(left)} edges"
        )
    return weights
