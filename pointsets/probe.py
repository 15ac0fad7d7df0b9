"""Choose how to find the tree of points, by estimates from a sample of them.

Boruvka's rounds on the sample give the radius of each search: the lightest edge of its fragment.
The estimates count what searches of this radius meet:

- a search tree: the points of leaves within the radius, with all their axes;
- a search tree on principal axes: the same with fewer axes, and in each round the points whose
  projections are within the radius, of which all axes are read;
- blocks: all pairs.

A sample is less dense than all points, so the searches meet less than estimated.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .distances import ABSOLUTE, METRICS, SQUARES, distance_block
from .primitives.projection import principal_axes, random_sample
from .primitives.searches import tree_depth

Array = NDArray[Any]

#: The largest sample, and the number of points for each of the sample. `_COORDINATES` bounds the
#: coordinates of all pairs if distances do not follow from products.
_SAMPLE, _POINTS, _COORDINATES = 512, 16, 2**22
#: The smallest sample. Fewer points are compared with each other before a probe would end.
_SMALLEST = 64
#: The number of points in a leaf of the tree over the sample.
_LEAF = 16
#: The numbers of principal axes to choose from.
_AXES = 8, 12, 16, 24, 32
#: Nanoseconds on two threads: for an axis of a point in a leaf; for an axis of a distance that is
#: computed again; for a pair in blocks, and for each of its axes, by products and otherwise.
#: `python -m benchmarks record choices` compares the estimates with all alternatives.
_VISIT, _AGAIN, _PAIR, _PRODUCT, _DIFFERENCE = 0.08, 0.65, 0.8, 0.011, 0.1
#: Distances that are computed again for each point, however close the bounds are.
_ALWAYS = 24


class Choice(NamedTuple):
    """A way to find the tree of points."""

    #: Whether to search a tree, instead of comparing all pairs in blocks.
    is_tree: bool
    #: The number of principal axes of the tree; 0 for the axes of the points.
    search_axes: int
    reason: str


def probe(rows: Array, metric: Any, *, may_project: bool = True) -> Choice:
    """Return the fastest way to find the tree of points, by estimates from a sample.

    No estimate is needed if a search tree splits each axis: its boxes are small.
    """
    size, num_axes = rows.shape
    if callable(metric):
        return Choice(False, 0, "a function gives no bounds of distances")
    if num_axes <= tree_depth(size, num_axes):
        return Choice(True, 0, "the tree splits each axis")
    norm = METRICS[metric].norm
    count = min(_SAMPLE, size // _POINTS)
    if norm != SQUARES:
        count = min(count, int((_COORDINATES / num_axes) ** 0.5))
    if count < _SMALLEST:
        return Choice(False, 0, "few points are compared faster than estimates are made")
    sample = random_sample(rows, count)
    # A power of two: estimates are the same at every scale, and no square overflows.
    sample = np.ldexp(sample, -math.frexp(float(abs(sample).max()))[1])
    pairs = 1e-9 * size * size
    per_axis = _PRODUCT if norm == SQUARES else _DIFFERENCE
    seconds = {(False, 0): pairs * (_PAIR + per_axis * num_axes)}
    if norm == SQUARES:
        center, axes = principal_axes(sample)
        sample = sample - center
        lengths = np.einsum("ij,ij->i", sample, sample)
        reduced = np.maximum(lengths[:, None] + lengths - 2.0 * (sample @ sample.T), 0.0)
    else:
        reduced = distance_block(metric, "float64", sample, sample)
    searches = [*_searches(reduced)]
    counts = [k for k in _AXES if may_project and norm == SQUARES and 3 * k <= 2 * num_axes]
    if not counts or num_axes <= 2 * counts[-1]:
        share = _share_of_leaves(sample, norm, searches[0][0])
        seconds[True, 0] = pairs * share * num_axes * _VISIT
    if counts:
        leading = sample @ axes[:, : counts[-1]]
    for k in counts:
        rest = lengths - np.einsum("ij,ij->i", leading[:, :k], leading[:, :k])
        sketch = np.column_stack([leading[:, :k], np.sqrt(np.maximum(rest, 0.0))])
        bounds = lengths[:, None] + lengths - 2.0 * (sketch @ sketch.T)
        again = sum(float((far & (bounds <= radius[:, None])).mean()) for radius, far in searches)
        share = _share_of_leaves(sketch, norm, searches[0][0])
        seconds[True, k] = pairs * (share * (k + 1) * _VISIT + again * num_axes * _AGAIN)
        seconds[True, k] += 1e-9 * size * num_axes * _ALWAYS * _AGAIN
    best, *others = sorted(seconds, key=lambda way: seconds[way])
    estimates = ", ".join(f"{_name(*way)} {seconds[way]:.2g} s" for way in [best, *others[:2]])
    return Choice(*best, f"estimated for two threads: {estimates}")


def _name(is_tree: bool, search_axes: int) -> str:
    tree = f"tree on {search_axes} principal axes" if search_axes else "tree"
    return tree if is_tree else "blocks"


def _searches(reduced: Array) -> Iterator[tuple[Array, Array]]:
    """Run Boruvka's rounds on all pairs of a sample; yield the searches of each round.

    They are the radius of each point, which is the reduced distance of the lightest edge out of its
    fragment, and which pairs of points are in different fragments. Ties may join too few fragments,
    which only affects estimates.
    """
    size = len(reduced)
    label = np.arange(size)
    for _ in range(size.bit_length()):
        count = int(label.max()) + 1
        if count == 1:
            return
        is_outside = label[:, None] != label
        outside = np.where(is_outside, reduced, np.inf)
        nearest, radius = outside.argmin(axis=1), outside.min(axis=1)
        lightest = np.full(count, np.inf)
        np.minimum.at(lightest, label, radius)
        yield lightest[label], is_outside
        fragment = np.arange(count)
        target = fragment.copy()
        chooser = np.flatnonzero(radius == lightest[label])
        target[label[chooser]] = label[nearest[chooser]]
        is_root = (target[target] == fragment) & (fragment < target)
        target[is_root] = fragment[is_root]
        for _ in range(count.bit_length()):
            target = target[target]
        label = np.unique(target[label], return_inverse=True)[1]


def _share_of_leaves(rows: Array, norm: int, limit: Array) -> float:
    """Return the mean share of the leaves of a k-d tree that are within the limit of a point."""
    size, num_axes = rows.shape
    nodes = rows[None, : 1 << (size.bit_length() - 1)]
    while nodes.shape[1] > _LEAF:
        middle = nodes.shape[1] // 2
        widest = np.ptp(nodes, axis=1).argmax(axis=1)
        column = np.take_along_axis(nodes, widest[:, None, None], axis=2)[:, :, 0]
        order = np.argpartition(column, middle, axis=1)
        nodes = np.take_along_axis(nodes, order[:, :, None], axis=1)
        nodes = nodes.reshape(-1, middle, num_axes)
    low, high = nodes.min(axis=1), nodes.max(axis=1)
    gap = np.zeros((size, len(low)))
    for axis in range(num_axes):
        column = rows[:, axis, None]
        step = np.maximum(np.maximum(low[:, axis] - column, column - high[:, axis]), 0.0)
        if norm == SQUARES:
            gap += step * step
        else:
            gap = gap + step if norm == ABSOLUTE else np.maximum(gap, step)
    return float((gap <= limit[:, None]).mean())
