"""Projections of points on a few orthogonal axes, whose distances bound those of the points.

The distance of two points is at least that of their projections. With the lengths of the rests as
one more axis, it still is: two rests are at least as far apart as their lengths differ. If points
are near a space of few dimensions, their leading principal axes give close bounds.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

#: The number of points from which axes are computed, and of those projected at once.
_SAMPLE, _BLOCK = 256, 4096
#: Powers of two for the least length of the longest centered point and for the largest coordinate:
#: then no square overflows, and underflow is far smaller than the error of rounding.
_SMALLEST, _LARGEST = 2.0**-200, 2.0**200


def random_sample(rows: Array, count: int) -> Array:
    """Return up to `count` different points, the same ones in each call."""
    places = np.unique(np.random.default_rng(0).integers(0, len(rows), count))
    sample: Array = rows[places]
    return sample


def principal_axes(rows: Array) -> tuple[Array, Array]:
    """Return the center and the principal axes of a sample of points.

    The axes are orthonormal columns, the one of the largest variance first.

    Source: Sirovich, "Turbulence and the Dynamics of Coherent Structures", Quarterly of Applied
    Mathematics 45 (1987), for axes from the products of points with each other.
    """
    sample = random_sample(rows, _SAMPLE)
    center = sample.mean(axis=0)
    sample = sample - center
    if len(sample) >= sample.shape[1]:
        return center, np.linalg.eigh(sample.T @ sample)[1][:, ::-1]
    weights = np.linalg.eigh(sample @ sample.T)[1][:, ::-1]
    axes: Array = np.linalg.qr(sample.T @ weights)[0]
    return center, axes


def project(rows: Array, count: int) -> tuple[Array, float] | None:
    """Return the projections of points on `count` axes with the lengths of the rests, and an error.

    The distance of two results exceeds that of the points by at most the error. Return None if the
    squares of centered points overflow, or are so small that the error does not cover underflow.

    The error is the largest length of a centered point, times the sum of

    - the distance from orthonormal columns, ``|Q'Q - I|``, which extends distances by that factor;
    - the rounding of sums of as many products as there are axes. Each sum is wrong by up to its
      number of terms times 2^-53, and a result has `count` of them.
    """
    size, num_axes = rows.shape
    if max(float(rows.max()), -float(rows.min())) > _LARGEST:
        return None
    center, axes = principal_axes(rows)
    axes = axes[:, :count]
    count = axes.shape[1]
    result = np.empty((size, count + 1))
    for start in range(0, size, _BLOCK):
        block = rows[start : start + _BLOCK] - center
        projected = block @ axes
        block -= projected @ axes.T
        result[start : start + _BLOCK, :count] = projected
        result[start : start + _BLOCK, count] = np.sqrt(np.einsum("ij,ij->i", block, block))
    longest = math.sqrt(float(np.einsum("ij,ij->i", result, result).max()))
    if longest < _SMALLEST:
        return None
    skew = float(abs(axes.T @ axes - np.eye(count)).sum(axis=1).max())
    rounding = 16.0 * (num_axes + count) * math.sqrt(num_axes) * 2.0**-53
    return result, longest * (4.0 * skew + rounding)
