"""The distance of two points: one order of operations, the same for every array library.

The *reduced distance* is a norm of the difference: the sum of the squares of its coordinates, the
sum of their absolute values, or the largest absolute value. Coordinates are added in order, in
binary64. The distance is an increasing function of it, made of the operations that IEEE 754 rounds
correctly. So every backend computes the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from ..errors import OptionError

#: The norms of differences.
SQUARES, ABSOLUTE, LARGEST = range(3)
#: The functions that convert a reduced distance to a distance.
SAME, ROOT, HALF, ANGLE = range(4)


class Metric(NamedTuple):
    """A distance: the norm of a difference, and the function that converts it."""

    norm: int
    convert: int


METRICS = {
    "euclidean": Metric(SQUARES, ROOT),
    "sqeuclidean": Metric(SQUARES, SAME),
    "manhattan": Metric(ABSOLUTE, SAME),
    "chebyshev": Metric(LARGEST, SAME),
    "cosine": Metric(SQUARES, HALF),  # of unit vectors
    "haversine": Metric(SQUARES, ANGLE),  # of unit vectors in three dimensions
}

_SMALLEST_NORMAL, _SUBNORMAL = 2.0**-126, 1.5 * 2.0**-97
#: The number of pairs for which a function is called once, if it is the metric. It computes all
#: distances of a block, and those of the pairs are the diagonal.
_PAIRS = 16
#: The number of axes from which rows are accumulated one by one.
_MANY_AXES = 16

#: The arcsine of x is x + x * t * P(t) / Q(t) for t = x^2 up to 1/4, with these coefficients in
#: ascending order. Source: fdlibm, `e_asin.c`.
ASIN_P = (
    1.66666666666666657415e-01,
    -3.25565818622400915405e-01,
    2.01212532134862925881e-01,
    -4.00555345006794114027e-02,
    7.91534994289814532176e-04,
    3.47933107596021167570e-05,
)
ASIN_Q = (
    1.0,
    -2.40339491173441421878e00,
    2.02094576023350569471e00,
    -6.88283971605453293030e-01,
    7.70381505559019352791e-02,
)


def distances(metric: Any, dtype: str, left: Iterable[Any], right: Iterable[Any]) -> Any:
    """Return the distance of each pair of points, in binary64, rounded to a dtype.

    `metric` is a key of `METRICS`, or a function of two blocks of points; see `distance_block`.
    `left` and `right` have the coordinates of both points of each pair, an array for each axis.
    """
    if callable(metric):
        rows = [np.stack([*columns], axis=1) for columns in (left, right)]
        found = [np.empty_like(rows[0][:0, 0])]
        for start in range(0, len(rows[0]), _PAIRS):
            block = distance_block(metric, dtype, *(each[start : start + _PAIRS] for each in rows))
            found.append(block.diagonal())
        return np.concatenate(found)
    norm, convert = METRICS[metric]
    total: Any = 0.0
    for a, b in zip(left, right, strict=True):
        difference = a - b
        if norm == SQUARES:
            total = total + difference * difference
        elif norm == ABSOLUTE:
            total = total + abs(difference)
        else:
            total = np.maximum(total, abs(difference))
    return _converted(total, convert, dtype)


def row_distances(metric: Any, dtype: str, left: Any, right: Any) -> Any:
    """Return the distance of each row of a NumPy array to the same row of another one.

    The result is that of `distances`. With many axes, columns are spread over memory, and rows are
    accumulated instead, in the same order.
    """
    if callable(metric) or left.shape[1] < _MANY_AXES:
        return distances(metric, dtype, left.T, right.T)
    norm, convert = METRICS[metric]
    terms = left - right
    terms = np.multiply(terms, terms, out=terms) if norm == SQUARES else np.abs(terms, out=terms)
    together = np.maximum if norm == LARGEST else np.add
    return _converted(together.accumulate(terms, axis=1, out=terms)[:, -1], convert, dtype)


def _converted(total: Any, convert: int, dtype: str) -> Any:
    """Convert reduced distances to distances."""
    if convert == ROOT:
        total = np.sqrt(total)
    elif convert == HALF:
        total = total * 0.5
    elif convert == ANGLE:
        total = _angle(total)
    return _rounded(total, dtype)


def distance_block(metric: Any, dtype: str, left: Any, right: Any) -> Any:
    """Return the distance of each row of one array to each row of another, rounded to a dtype.

    `metric` is a key of `METRICS`, or a function that returns these distances: for arrays of shape
    (a, d) and (b, d), an array of shape (a, b).
    """
    if not callable(metric):
        return distances(metric, dtype, left.T[:, :, None], right.T[:, None, :])
    block, shape = metric(left, right), (len(left), len(right))
    name = getattr(metric, "__name__", metric)
    if getattr(block, "shape", None) != shape:
        found = getattr(block, "shape", type(block).__name__)
        raise OptionError(
            f"metric {name} must return an array of shape {shape} for blocks of {shape[0]} and "
            f"{shape[1]} points, not {found}"
        )
    if not (block >= 0).all():
        raise OptionError(
            f"metric {name} returned a distance that is negative or NaN; distances must be at "
            "least 0"
        )
    return _rounded(block, dtype)


def _rounded(values: Any, dtype: str) -> Any:
    """Round numbers to a dtype; return them in binary64.

    CuPy's conversions replace subnormal numbers by zero. A sum rounds them instead: the last bit of
    `_SUBNORMAL` is the smallest number of float32.
    """
    values = values.astype("float64", copy=False)
    if dtype == "float64":
        return values
    is_subnormal = values < _SMALLEST_NORMAL
    subnormal = (values + _SUBNORMAL) - _SUBNORMAL
    return np.where(is_subnormal, subnormal, values.astype(dtype).astype("float64"))


def _angle(square: Any) -> Any:
    """Return the angle between unit vectors from the square of the distance between them.

    The sine x of half the angle is half the distance. Up to 1/2, the angle is twice the arcsine of
    x. Beyond, it is pi minus four times the arcsine of the square root of (1 - x) / 2.
    """
    t = square * 0.25
    x = np.sqrt(t)
    is_small = t <= 0.25
    rest = np.maximum((1.0 - x) * 0.5, 0.0)
    t = np.where(is_small, t, rest)
    x = np.where(is_small, x, np.sqrt(rest))
    arc = x + x * (t * _polynomial(ASIN_P, t) / _polynomial(ASIN_Q, t))
    return np.where(is_small, 2.0 * arc, math.pi - 4.0 * arc)


def _polynomial(coefficients: tuple[float, ...], t: Any) -> Any:
    value: Any = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        value = value * t + coefficient
    return value
