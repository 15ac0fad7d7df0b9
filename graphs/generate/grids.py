"""Grids: images and volumes as graphs whose edges are computed block by block.

Vertices are the pixels or voxels in the order of the array (C order). A *plane* is what one index
of the first axis selects: a row of an image, a slice of a volume. Edges are numbered plane by
plane, those of a plane direction by direction, and those of one direction by their first end. No
edge is stored, so a block of them costs a few additions and differences.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import GraphError, OptionError
from ..files import digest
from ..source import EdgeSource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import ArrayLike, NDArray

    from ..edge_list import Columns
    from ..segments import Read

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
        message = (
            "expected an image of two axes or a volume of three, of bools, integers or floats, got "
            f"{array.dtype} of shape {np.shape(values)}; pass channel_axis= for color channels"
        )
        raise OptionError(message)
    steps = _STEPS[axes]
    if connectivity is None:
        connectivity = next(iter(steps))
    if connectivity not in steps:
        known = ", ".join(map(str, steps))
        message = f"connectivity must be one of {known} for {axes} axes, not {connectivity!r}"
        raise OptionError(message)
    offsets = tuple(
        offset
        for offset in itertools.product((-1, 0, 1), repeat=axes)
        if offset > (0,) * axes and np.count_nonzero(offset) <= steps[connectivity]
    )
    whole = GridSegment(array, array.shape[:axes], offsets, weight or difference)
    segment = replace(whole, stop=whole.end)
    return EdgeSource((segment,), math.prod(segment.shape))


def difference(left: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
    """Return the absolute differences, exact for integers; channels are summed."""
    found: NDArray[Any]
    if left.dtype.kind == "b":
        found = left != right
    else:
        found = np.maximum(left, right) - np.minimum(left, right)
    if left.dtype.kind == "i":  # the difference wraps around, which unsigned integers undo
        found = found.view(f"u{found.itemsize}")
    return np.asarray(found.sum(axis=-1)) if found.ndim > 1 else found


@dataclass(frozen=True)
class GridSegment:
    """Edges `start` to `stop` - 1 of a grid.

    Attributes
    ----------
    values : array
        The planes that the edges touch; channels are the last axis.
    shape : tuple of int
        Of the whole grid, without channels.
    offsets : tuple of tuples of int
        The steps from the first end of an edge to the second, one for each direction.
    weight : callable
    first_plane : int
        The plane that `values` starts with.
    start, stop : int
    """

    values: NDArray[Any]
    shape: tuple[int, ...]
    offsets: tuple[tuple[int, ...], ...]
    weight: Weight
    first_plane: int = 0
    start: int = 0
    stop: int = 0
    is_direct = True
    edges_at_once = 0
    origin = ("", 0)

    @property
    def num_edges(self) -> int:
        """Number of edges."""
        return self.stop - self.start

    @property
    def num_vertices(self) -> int:
        """Number of vertices of the whole grid."""
        return math.prod(self.shape)

    @cached_property
    def directions(self) -> tuple[_Direction, ...]:
        """The directions, with the edges of a plane in each."""
        found = (_Direction.of(offset, self.shape[1:]) for offset in self.offsets)
        return tuple(each for each in found if each.count)

    @property
    def per_plane(self) -> int:
        """Number of edges of each plane but the last."""
        return sum(each.count for each in self.directions)

    @property
    def end(self) -> int:
        """Number of edges of the whole grid."""
        inside = sum(each.count for each in self.directions if not each.step)
        return max(0, self.shape[0] - 1) * self.per_plane + (inside if self.shape[0] else 0)

    def slice(self, start: int, stop: int) -> GridSegment:
        """Return a range of the edges, with the planes that it touches."""
        start, stop, per_plane = self.start + start, self.start + stop, max(1, self.per_plane)
        low, high = start // per_plane, (stop - 1) // per_plane + 2
        values = self.values[low - self.first_plane : high - self.first_plane]
        return replace(self, values=values, first_plane=low, start=start, stop=stop)

    def fingerprint(self) -> str:
        """Return a digest of the values, the directions and the name of the weights."""
        name = f"{self.weight.__module__}.{getattr(self.weight, '__qualname__', self.weight)}"
        facts = self.shape, self.offsets, name, self.start, self.stop, self.values.dtype.str
        return digest(repr(facts).encode(), np.ascontiguousarray(self.values).data)

    def reads(self, size: int) -> Iterator[Read]:
        """Yield functions that compute blocks of about `size` edges."""
        for first, count, compute in self._blocks(max(1, size)):
            low, high = max(self.start - first, 0), min(self.stop - first, count)
            if low < high:
                yield high - low, partial(_part, compute, low, high)

    def _blocks(self, size: int) -> Iterator[tuple[int, int, Callable[[], Columns]]]:
        """Yield blocks that cover the range: their first edge, their length and a function."""
        per_plane, last = max(1, self.per_plane), self.shape[0] - 1
        plane = self.start // per_plane
        while plane * per_plane < self.stop:
            wanted = min(size // per_plane, -(-self.stop // per_plane) - plane)
            planes = max(1, min(wanted, last - plane))
            here = [each for each in self.directions if plane < last or not each.step]
            first = plane * per_plane
            if planes > 1 or per_plane <= size:
                count = planes * sum(each.count for each in here)
                yield first, count, partial(self._edges, plane, planes, here, None)
            else:
                for each in here:
                    lines = max(1, size * each.lines // each.count)
                    for line in range(0, each.lines, lines):
                        part = range(line, min(line + lines, each.lines))
                        count = each.count // each.lines * (part.stop - line)
                        yield first, count, partial(self._edges, plane, 1, [each], part)
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
        for each in here:
            place = each.places(dtype, lines)
            us.append(base + place)
            vs.append(base + (place + dtype(each.step * size + each.shift)))
            left, right = each.ends(self.values[first : first + planes + 1], planes, lines)
            weights.append(_weights(self.weight, left, right).reshape(planes, -1))
        return tuple(  # type: ignore[return-value]
            np.concatenate(parts, axis=1).ravel() if len(parts) > 1 else parts[0].ravel()
            for parts in (us, vs, weights)
        )


@dataclass(frozen=True)
class _Direction:
    """The edges of one plane that lead in one direction.

    Attributes
    ----------
    step : int
        0 within the plane, 1 to the next.
    shift : int
        From the place of the first end in its plane to that of the second in its own.
    left, right : tuples of slices
        The first and the second ends, along the axes of a plane.
    shape : tuple of int
        Of a plane.
    """

    step: int
    shift: int
    left: tuple[slice, ...]
    right: tuple[slice, ...]
    shape: tuple[int, ...]

    @classmethod
    def of(cls, offset: tuple[int, ...], shape: tuple[int, ...]) -> _Direction:
        """Return the edges with an offset; `shape` is that of a plane."""
        step, *rest = offset
        shift = 0
        for size, move in zip(shape, rest, strict=True):
            shift = shift * size + move
        ends = [
            tuple(slice(max(0, -move * sign), size - max(0, move * sign))
                  for size, move in zip(shape, rest, strict=True))
            for sign in (1, -1)
        ]  # fmt: skip
        return cls(step, shift, ends[0], ends[1], shape)

    @property
    def extents(self) -> tuple[int, ...]:
        """The number of edges along each axis of a plane."""
        return tuple(max(0, each.stop - each.start) for each in self.left)

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
        place: NDArray[Any] = np.zeros((), dtype)
        for axis, (size, range_) in enumerate(zip(self.shape, self.left, strict=True)):
            along = np.arange(range_.start, max(range_.start, range_.stop), dtype=dtype)
            along = along[lines.start : lines.stop] if axis == 0 and lines else along
            place = place[..., None] * dtype(size) + along
        return place.ravel()

    def ends(
        self, values: NDArray[Any], planes: int, lines: range | None
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the values at both ends, one axis for edges and one for channels."""
        found = []
        for first, part in ((0, self.left), (self.step, self.right)):
            block = values[(slice(first, first + planes), *part)]
            block = block[:, lines.start : lines.stop] if lines else block
            axes = block.shape[1 + len(part) :]
            found.append(block.reshape(-1, *axes))
        return found[0], found[1]


def _weights(weight: Weight, left: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
    """Return the weights of edges.

    Raises
    ------
    GraphError
        If the function does not return a weight for each edge.
    """
    found = np.asarray(weight(left, right))
    if found.shape != (len(left),):
        message = f"weight= returned an array of shape {found.shape} for {len(left)} edges"
        raise GraphError(message)
    return found


def _part(compute: Callable[[], Columns], low: int, high: int) -> Columns:
    u, v, weight = compute()
    return u[low:high], v[low:high], weight[low:high]  # type: ignore[index]
