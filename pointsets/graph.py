"""Points: a graph of all pairs, whose edges are computed from the points as they are read.

The edges are the entries of the matrix of all distances, row by row: edge ``i * n + j`` joins the
points i and j. So each pair occurs twice, of which the entry with i < j has the smaller id, and
each point has a loop. No entry is stored.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import GraphError, OptionError
from ..graphs.edge_list import Columns
from ..graphs.segments import Range, Read
from ..graphs.source import EdgeSource
from ..runtime.identity import digest, identify
from ..runtime.team import in_shares
from .coordinates import as_floats
from .distances import METRICS, SQUARES, distance_block, row_distances
from .memory import check_available

_MAX_POINTS = math.isqrt(2**63 - 1)  # edge ids are less than 2^63
#: The number of distances that a thread computes at a time for core distances.
_BLOCK_DISTANCES = 2**18


def points(
    X: ArrayLike,  # noqa: N803
    *,
    metric: str | Callable[[Any, Any], Any] = "euclidean",
    min_samples: int = 1,
) -> EdgeSource:
    """Return the graph of all pairs of points, whose edges are computed as they are needed.

    `minimum_spanning_forest` finds the tree of points by a search tree over them
    ("boruvka-points"), which does not compute all distances, or it computes all distances, a block
    at a time ("boruvka-blocks"). By default, a sample of the points decides. If few of their
    principal axes suffice to compare most points, the tree is searched on these axes. Without
    kernels, and if the metric is a function, all distances are computed. The algorithms take memory
    in proportion to `X`, and the report has the choice. Pass `algorithm` to choose one.

    Parameters
    ----------
    X : array of shape (n, d), list of points or table
        One row for each point. float32 and float64 are used as they are. float16 becomes float32,
        and other numbers become float64; integers and times that are not exact as float64 are
        refused. float64 arrays in C order, such as memory maps, are not copied. A Dask array is
        computed.
    metric : str or callable
        "euclidean", "sqeuclidean", "manhattan", "chebyshev", "cosine", "haversine", or a function.
        The distance of two points. "sqeuclidean" is the square of the Euclidean distance. "cosine"
        is 1 minus the cosine of the angle, computed from the squared distance of unit vectors.
        "haversine" is the angle in radians between two points on a sphere, given by latitude and
        longitude in radians; multiply it by the radius. It is computed from unit vectors in three
        dimensions, with an error of about 1e-16 radians. A function gets two float64 arrays of
        shape (a, d) and (b, d), and returns the distances of all their pairs of rows, of shape
        (a, b). They must be symmetric, at least 0, and not depend on other rows of the arrays.
    min_samples : int
        If larger than 1, weights are mutual reachability distances, as in HDBSCAN: the largest of
        the distance and the core distances of both points. The core distance of a point is the
        distance to its nearest point of this rank, counting the point itself.

    Returns
    -------
    EdgeSource
        Any function of mstflow takes it as a graph. A vertex is a row of `X`. The edge between rows
        i < j has the id ``i * n + j`` and the dtype of `X`, float32 or float64.

    Raises
    ------
    GraphError
        If `X` is empty, not two-dimensional, sparse or complex, or has a value that is missing,
        infinite, too large or not exact as float64. Names the row and the column.
    OutOfMemoryError
        If the tree takes more memory than is available. No point is read before.
    OptionError
        If the metric is unknown or does not suit `X`, or `min_samples` is out of range.
    """
    if not callable(metric) and metric not in METRICS:
        known = ", ".join(METRICS)
        raise OptionError(f"metric {metric!r} is not known; choose from: {known}")
    shape: Any = getattr(X, "shape", ())
    if len(shape) == 2 and 0 < shape[0] <= _MAX_POINTS:  # the rows of a Dask array may be unknown
        check_available(*shape)
    values = as_floats(X)
    count = len(values)
    if not values.size:
        raise GraphError(f"X has shape {values.shape}; pass at least one point with one coordinate")
    if count > _MAX_POINTS:
        raise GraphError(
            f"{count:,} points have {count**2:,} pairs, more than edge ids can number; pass at "
            f"most {_MAX_POINTS:,} points"
        )
    _check_values(values, metric)
    if isinstance(min_samples, bool) or not isinstance(min_samples, int | np.integer):
        raise OptionError(f"min_samples must be an integer, not {min_samples!r}")
    if not 1 <= min_samples <= count:
        raise OptionError(f"min_samples must be from 1 to the {count} points, not {min_samples}")
    rows = np.ascontiguousarray(_transformed(values, metric), np.float64)
    dtype = str(values.dtype)
    segment = PointSegment(rows, metric, int(min_samples), dtype, stop=count * count)
    return EdgeSource((segment,), count, is_checked=True, weight_dtype=values.dtype, unsigned=True)


def _check_values(values: NDArray[Any], metric: Any) -> None:
    """Check that all distances are finite, and that points suit the metric."""
    largest = np.max(in_shares(lambda start, stop: abs(values[start:stop]).max(), len(values)))
    if not np.isfinite(largest):
        row, column = np.argwhere(~np.isfinite(values))[0].tolist()
        name = "NaN" if np.isnan(values[row, column]) else "infinite"
        raise GraphError(f"X is {name} in row {row}, column {column}; drop or fill such points")
    if metric == "haversine":
        if values.shape[1] != 2:
            raise OptionError(
                "metric 'haversine' needs two columns, latitude and longitude in radians, not "
                f"{values.shape[1]}"
            )
        latitude = float(abs(values[:, 0]).max())
        if latitude > math.pi / 2 + 1e-6 or largest > 2 * math.pi + 1e-6:
            raise OptionError(
                f"metric 'haversine' needs latitude and longitude in radians, but X has values up "
                f"to {largest:.6g}; convert degrees by numpy.radians(X)"
            )
    elif metric == "cosine":
        is_zero = ~values.any(axis=1)
        if is_zero.any():
            row = int(is_zero.argmax())
            raise GraphError(f"X is zero in row {row}, so it has no direction; drop such points")
    elif not callable(metric):
        max_distance = np.finfo(values.dtype).max
        power = 2 if METRICS[metric].norm == SQUARES else 1
        if values.shape[1] * (2.0 * float(largest) / max_distance ** (1 / power)) ** power >= 1:
            row, column = np.argwhere(abs(values) == largest)[0].tolist()
            raise GraphError(
                f"X is {values[row, column]:.6g} in row {row}, column {column}; distances would "
                f"exceed {values.dtype}; scale X"
            )


def _transformed(values: NDArray[Any], metric: Any) -> NDArray[Any]:
    """Return points as unit vectors if the metric is an angle; otherwise return them unchanged."""
    if metric == "cosine":
        rows = values.astype(np.float64)
        rows /= abs(rows).max(axis=1, keepdims=True)  # squares must not overflow
        rows /= np.sqrt((rows * rows).sum(axis=1, keepdims=True))
        return rows
    if metric == "haversine":
        latitude, longitude = values.astype(np.float64).T
        radius = np.cos(latitude)
        columns = radius * np.cos(longitude), radius * np.sin(longitude), np.sin(latitude)
        return np.stack(columns, axis=1)
    return values


@dataclass(frozen=True)
class PointSegment(Range):
    """Entries `start` to `stop` - 1 of the matrix of all distances."""

    #: The points, of shape (n, d).
    rows: NDArray[np.float64]
    #: A key of `distances.METRICS`, or a function of two blocks of rows.
    metric: Any
    min_samples: int
    #: The dtype of the weights.
    dtype: str
    #: The core distance of each point; None if it is not known yet.
    known_core: NDArray[np.float64] | None = None

    @property
    def wing(self) -> str:
        """The wing for points, if these are all pairs."""
        return "pointsets" if self.num_edges == self.num_vertices**2 else ""

    @property
    def num_vertices(self) -> int:
        """Number of points."""
        return len(self.rows)

    @cached_property
    def core(self) -> NDArray[np.float64]:
        """The core distance of each point; computes all distances unless it is known."""
        if self.known_core is not None:
            return self.known_core
        count, rank = len(self.rows), self.min_samples - 1
        core = np.empty(count)

        def fill(start: int, stop: int) -> None:
            step = max(1, _BLOCK_DISTANCES // count)
            for first in range(start, stop, step):
                last = min(first + step, stop)
                block = distance_block(self.metric, self.dtype, self.rows[first:last], self.rows)
                core[first:last] = np.partition(block, rank, axis=1)[:, rank]

        in_shares(fill, count, per_place=count)
        return core

    def pairs(self, edge_ids: NDArray[np.int64]) -> Columns:
        """Return u, v and weight of edges."""
        u, v = np.divmod(edge_ids, len(self.rows))
        weight = row_distances(self.metric, self.dtype, self.rows[u], self.rows[v])
        if self.min_samples > 1:
            weight = np.maximum(weight, np.maximum(self.core[u], self.core[v]))
        return u, v, weight.astype(self.dtype)

    def reads(self, size: int) -> Iterator[Read]:
        """Yield functions that compute blocks of `size` edges."""
        for start in range(self.start, self.stop, size):
            stop = min(start + size, self.stop)
            yield stop - start, partial(self._block, start, stop)

    def _block(self, start: int, stop: int) -> Columns:
        return self.pairs(np.arange(start, stop))

    def fingerprint(self) -> str:
        """Return a digest of the points and the metric."""
        metric = identify(self.metric)
        facts = self.rows.shape, metric, self.min_samples, self.dtype, self.start, self.stop
        return digest(repr(facts).encode(), self.rows.data)


def with_core(source: EdgeSource, core: NDArray[np.float64]) -> EdgeSource:
    """Return a graph of points with its core distances."""
    segment: Any = source.segments[0]
    return replace(source, segments=(replace(segment, known_core=core),))
