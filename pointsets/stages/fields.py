"""The types of the fields that the stages for points read and write, besides those of any stage."""

from __future__ import annotations

from typing import Any, NamedTuple


class Neighbors(NamedTuple):
    """The k nearest points of each point outside its fragment, as it was at the last search.

    Attributes
    ----------
    weight : float64 array of length n k
        The weights of the edges to these points, point by point. If fewer than k points are
        outside, the rest is infinity.
    neighbor : index array of length n k
        The positions of these points, in the order of (weight, position). The rest is n.
    reach, last : arrays of length n
        All other points outside the fragment come after (`reach`, `last`) in this order.
    """

    weight: Any
    neighbor: Any
    reach: Any
    last: Any


class Copies(NamedTuple):
    """Points that were dropped, because they equal other points."""

    #: The ids of the dropped points.
    copy: Any
    #: The id of the first point that equals each dropped point.
    first: Any
