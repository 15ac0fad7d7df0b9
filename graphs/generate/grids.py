"""Grids: images and volumes as graphs whose edges are computed block by block.

Vertices are the pixels or voxels in the order of the array (C order). A *plane* is what one index
of the first axis selects: a row of an image, a slice of a volume. Edges are numbered plane by
plane, those of a plane direction by direction, and those of one direction by their first end. No
edge is stored, so a block of them costs a few additions and differences.
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
from ...runtime.identity import identify
from ..edge_list import Columns
from ..file_checks import digest
from ..segments import Range, Read, rows_of
from ..source import EdgeSource, check_dtype
from .tiles import Box, Tile, divide, ends, most_left, moved, slices, table

Weight = Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]

#: The number of neighbors of an inner vertex, by the number of axes: the most steps to one of them.
_STEPS = {2: {4: 1, 8: 2}, 3: {6: 1, 18: 2, 26: 3}}


def grid(
    values: ArrayLike,
    connectivity: int | None = None,
    *,
    weight: Weight | None = None,
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
        the channels as their last axis. It must be vectorised, and is called in several threads. By
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
    """
    array = np.asarray(values)
    if channel_axis is not None:
        if not -array.ndim <= channel_axis < array.ndim:
            message = f"channel_axis is {channel_axis}, but the array has {array.ndim} axes"
            raise OptionError(message)
        array = np.moveaxis(array, channel_axis, -1)
    axes = array.ndim - (channel_axis is not None)
    if axes not in _STEPS or array.dtype.kind not in "biuf":
        raise OptionError(
            "expected an image of two axes or a volume of three, of bools, integers or floats, got "
            f"{array.dtype} of shape {np.shape(values)}; pass channel_axis= for color channels"
        )
    steps = _STEPS[axes]
    if connectivity is None:
        connectivity = next(iter(steps))
    if connectivity not in steps:
        known = ", ".join(map(str, steps))
        message = f"connectivity must be one of {known} for {axes} axes, not {connectivity!r}"
        raise OptionError(message)
    shape = array.shape[:axes]
    offsets = tuple(
        offset
        for offset in itertools.product((-1, 0, 1), repeat=axes)
        if offset > (0,) * axes
        and np.count_nonzero(offset) <= steps[connectivity]
        and all(size > abs(move) for size, move in zip(shape, offset, strict=True))
    )
    whole = GridSegment(array, shape, offsets, weight or difference, stop=0)
    return EdgeSource((replace(whole, stop=whole.end),), math.prod(shape))


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
    """Edges of a grid."""

    #: The planes that the edges touch; channels are the last axis.
    values: NDArray[Any]
    #: Of the whole grid, without channels.
    shape: tuple[int, ...]
    #: The steps from the first end of an edge to the second, one for each direction that has edges.
    offsets: tuple[tuple[int, ...], ...]
    weight: Weight
    #: The plane that `values` starts with.
    first_plane: int = 0

    @property
    def num_vertices(self) -> int:
        """Number of vertices of the whole grid."""
        return math.prod(self.shape)

    @cached_property
    def directions(self) -> tuple[_Direction, ...]:
        """The directions, with the edges of a plane in each."""
        return tuple(_Direction.of(offset, self.shape[1:]) for offset in self.offsets)

    @property
    def per_plane(self) -> int:
        """Number of edges of each plane but the last."""
        return sum(direction.count for direction in self.directions)

    @property
    def end(self) -> int:
        """Number of edges of the whole grid."""
        inside = sum(direction.count for direction in self.directions if not direction.step)
        return max(0, self.shape[0] - 1) * self.per_plane + (inside if self.shape[0] else 0)

    @property
    def planes(self) -> range:
        """The planes whose first edge is in the range, or that follow the last edge of the grid."""
        per_plane, count = max(1, self.per_plane), self.shape[0]
        stop = count if self.stop == self.end else -(-self.stop // per_plane)
        return range(-(-self.start // per_plane), stop)

    def slice(self, start: int, stop: int) -> GridSegment:
        """Return a range of the edges, with the planes that it and the edges before it touch."""
        start, stop, per_plane = self.start + start, self.start + stop, max(1, self.per_plane)
        low, high = max(0, start - 1) // per_plane, (stop - 1) // per_plane + 2
        values = self.values[low - self.first_plane : high - self.first_plane]
        return replace(self, values=values, first_plane=low, start=start, stop=stop)

    def tiles(self, first_id: int) -> tuple[tuple[int, ...], int, Iterator[Tile]]:
        """Return the extents of `planes`, a bound on the edges that remain, and the tiles.

        The grid's ids start at `first_id`.
        """
        ranges = self.planes, *map(range, self.shape[1:])
        extents = tuple(map(len, ranges))
        most = most_left(extents, self.offsets)
        if self.num_edges < self.end:  # add the vertices and edges next to other partitions
            most += 2 * math.prod(self.shape[1:]) + self.per_plane
        tiles = (
            Tile(self, shape, around, slices(moved(box, ranges)), first_id)
            for shape, around, box in divide(ranges, self.shape, self.offsets)
        )
        return extents, most, tiles

    @property
    def edges_after_tiles(self) -> int | None:
        """The bound that `tiles` returns; None if the range does not include all edges."""
        return most_left(self.shape, self.offsets) if self.num_edges == self.end else None

    def weights(self, extents: Box, dtype: DTypeLike) -> NDArray[Any]:
        """Return the weights of the edges within a box as a table; see `Tile`."""
        planes, *rest = slices(extents)
        values = self.values[planes.start - self.first_plane : planes.stop - self.first_plane]
        values, shape = values[(slice(None), *rest)], tuple(map(len, extents))
        weights = np.zeros(table(shape, self.offsets), dtype)
        for direction, offset in enumerate(self.offsets):
            left, right = ends(shape, offset)
            here: tuple[Any, ...] = (left[0], direction, *left[1:])
            place = weights[here]
            both = (_flat(values[end], len(shape)) for end in (left, right))
            weight = _weights(self.weight, *both)
            check_dtype(self.start, weight.dtype, weights.dtype)
            place[...] = weight.reshape(place.shape)
        return weights

    def lines(self, extents: Box) -> NDArray[np.int64]:
        """Return both ends and the id of the first edge of each line of a table; see `Tile`."""
        planes, *rest = (np.arange(each.start, each.stop) for each in extents)
        rest[-1] = rest[-1][:1]
        size, lines = math.prod(self.shape[1:]), math.prod(map(len, rest))
        found = np.empty((3, len(planes), len(self.directions), lines), np.int64)
        first = self.per_plane * planes
        for direction, each in enumerate(self.directions):
            shifted = [along - left.start for along, left in zip(rest, each.left, strict=True)]
            u, v, edge_id = found[:, :, direction]
            u[:] = np.add.outer(size * planes, _places(self.shape[1:], rest))
            v[:] = u + each.step * size + each.shift
            edge_id[:] = np.add.outer(first, _places(each.extents, shifted))
            first = first + each.count
        return found.reshape(3, -1)

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
        """Yield blocks that cover the range: their first edge, their length and a function."""
        per_plane, last = max(1, self.per_plane), self.shape[0] - 1
        plane = self.start // per_plane
        while plane * per_plane < self.stop:
            wanted = min(size // per_plane, -(-self.stop // per_plane) - plane)
            planes = max(1, min(wanted, last - plane))
            here = [
                direction for direction in self.directions if plane < last or not direction.step
            ]
            first = plane * per_plane
            if planes > 1 or per_plane <= size:
                count = planes * sum(direction.count for direction in here)
                yield first, count, partial(self._edges, plane, planes, here, None)
            else:
                for direction in here:
                    lines = max(1, size * direction.lines // direction.count)
                    for line in range(0, direction.lines, lines):
                        part = range(line, min(line + lines, direction.lines))
                        count = direction.count // direction.lines * (part.stop - line)
                        yield first, count, partial(self._edges, plane, 1, [direction], part)
                        first += count
            plane += planes

    def _edges(
        self, plane: int, planes: int, here: list[_Direction], lines: range | None
    ) -> Columns:
        """Return the edges of some planes in some directions, or of some lines of one plane."""
        dtype = np.int32 if self.num_vertices < 2**31 else np.int64
        size, first = math.prod(self.shape[1:]), plane - self.first_plane
        base: NDArray[Any] = size * np.arange(plane, plane + planes, dtype=dtype)[:, None]
        us, vs, weights = [], [], []
        for direction in here:
            place = direction.places(dtype, lines)
            us.append(base + place)
            vs.append(base + (place + dtype(direction.step * size + direction.shift)))
            left, right = direction.ends(self.values[first : first + planes + 1], planes, lines)
            weights.append(_weights(self.weight, left, right).reshape(planes, -1))
        return tuple(  # type: ignore[return-value]
            np.concatenate(parts, axis=1).ravel() if len(parts) > 1 else parts[0].ravel()
            for parts in (us, vs, weights)
        )


@dataclass(frozen=True)
class _Direction:
    """The edges of one plane that lead in one direction."""

    #: 0 within the plane, 1 to the next.
    step: int
    #: From the place of the first end in its plane to that of the second in its own.
    shift: int
    #: The first and the second ends, along the axes of a plane.
    left: tuple[slice, ...]
    right: tuple[slice, ...]
    #: Of a plane.
    shape: tuple[int, ...]

    @classmethod
    def of(cls, offset: tuple[int, ...], shape: tuple[int, ...]) -> _Direction:
        """Return the edges with an offset; `shape` is that of a plane."""
        step, *rest = offset
        shift = 0
        for size, move in zip(shape, rest, strict=True):
            shift = shift * size + move
        return cls(step, shift, *ends(shape, tuple(rest)), shape)

    @property
    def extents(self) -> tuple[int, ...]:
        """The number of edges along each axis of a plane."""
        return tuple(max(0, along.stop - along.start) for along in self.left)

    @property
    def count(self) -> int:
        """Number of edges."""
        return math.prod(self.extents)

    @property
    def lines(self) -> int:
        """Number of edges along the first axis of a plane."""
        return self.extents[0]

    def places(self, dtype: Any, lines: range | None) -> NDArray[Any]:
        """Return the places of the first ends in their plane."""
        first, *rest = (np.arange(along.start, along.stop, dtype=dtype) for along in self.left)
        return _places(self.shape, [first[lines.start : lines.stop] if lines else first, *rest])

    def ends(
        self, values: NDArray[Any], planes: int, lines: range | None
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the values at both ends, one axis for edges and one for channels."""
        found = []
        for first, part in ((0, self.left), (self.step, self.right)):
            block = values[(slice(first, first + planes), *part)]
            block = block[:, lines.start : lines.stop] if lines else block
            found.append(_flat(block, 1 + len(part)))
        return found[0], found[1]


def _places(extents: tuple[int, ...], points: list[NDArray[Any]]) -> NDArray[Any]:
    """Return the positions in a flat array of all points with these coordinates on each axis."""
    place: NDArray[Any] = points[0]
    for size, along in zip(extents[1:], points[1:], strict=True):
        place = np.add.outer(place * along.dtype.type(size), along)
    return place.ravel()


def _flat(values: NDArray[Any], axes: int) -> NDArray[Any]:
    """Join the first axes of an array to one; the other axes are channels."""
    return values.reshape(-1, *values.shape[axes:])


def _weights(weight: Weight, left: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
    """Return the weights of edges."""
    weights = np.asarray(weight(left, right))
    if weights.shape != (len(left),):
        raise GraphError(
            f"weight= returned an array of shape {weights.shape} for {len(left)} edges"
        )
    return weights
