"""The edge list: the one form in which a graph enters mstflow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import GraphError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

_LARGEST_ID = np.iinfo(np.int64).max - 1


@dataclass(frozen=True, init=False, eq=False, repr=False)
class EdgeList:
    """An undirected graph as columns, checked when it is made and never written to.

    Loops, parallel edges and both arcs of a symmetric graph are ordinary records. The edge id of
    a record is its position.

    Parameters
    ----------
    u, v : integer arrays of length m
        The two ends of each edge, as 0-based vertex ids.
    weight : bool, integer or floating array of length m, optional
        Edge weights; integer 1 each if not given.
    num_vertices : int, optional
        Number of vertices; the largest id plus one if not given.

    Raises
    ------
    GraphError
        On lengths that differ, a dtype that is not supported, an id that is negative or not below
        `num_vertices`, and NaN weights. The first offending edge is named.
    """

    u: NDArray[Any]
    v: NDArray[Any]
    weight: NDArray[Any]
    num_vertices: int

    def __init__(
        self,
        u: ArrayLike,
        v: ArrayLike,
        weight: ArrayLike | None = None,
        *,
        num_vertices: int | None = None,
    ) -> None:
        u, v = _ids("u", u), _ids("v", v)
        # One 1 stands for all of them: a broadcast view takes no memory.
        weight = _weights(np.broadcast_to(np.int64(1), u.shape) if weight is None else weight)
        if not len(u) == len(v) == len(weight):
            message = (
                f"columns differ in length: u has {len(u)}, v has {len(v)}, "
                f"weight has {len(weight)} edges"
            )
            raise GraphError(message)
        num_vertices = _checked_num_vertices(u, v, num_vertices)
        values = {"u": u, "v": v, "weight": weight, "num_vertices": num_vertices}
        self.__dict__.update(values)  # frozen: set once, here

    @property
    def num_edges(self) -> int:
        """Number of records."""
        return len(self.u)

    def __repr__(self) -> str:
        return (
            f"EdgeList({self.num_vertices} vertices, {self.num_edges} edges, "
            f"ids {self.u.dtype}, weights {self.weight.dtype})"
        )


def concatenate(graphs: Sequence[EdgeList]) -> EdgeList:
    """Join edge lists into one graph; edge ids run on in the order given.

    Raises
    ------
    GraphError
        If no common dtype holds all weights exactly.
    """
    if len(graphs) == 1:
        return graphs[0]
    weights = [graph.weight for graph in graphs]
    dtype = np.result_type(*weights)
    for part in weights:
        if not _exact(part, dtype):
            message = f"weights of dtype {part.dtype} cannot be joined with {dtype} exactly"
            raise GraphError(message)
    return EdgeList(
        np.concatenate([graph.u for graph in graphs]),
        np.concatenate([graph.v for graph in graphs]),
        np.concatenate([part.astype(dtype, copy=False) for part in weights]),
        num_vertices=max(graph.num_vertices for graph in graphs),
    )


def _exact(values: NDArray[Any], dtype: np.dtype[Any]) -> bool:
    """Whether casting to `dtype` keeps every value."""
    if np.can_cast(values.dtype, dtype, casting="safe") and not (
        values.dtype.kind in "iu" and dtype.kind == "f" and values.dtype.itemsize == 8
    ):
        return True
    # An integer beyond 2^53 may round to a float that rounds back to another integer.
    return bool(np.all(np.abs(values.astype(np.float64)) <= 2**53))


def _ids(name: str, values: Any) -> NDArray[Any]:
    array = np.asarray(values)
    if array.ndim != 1:
        message = f"{name} must be one-dimensional, not of shape {array.shape}"
        raise GraphError(message)
    if array.size == 0 and array.dtype == np.float64:  # np.asarray([])
        return array.astype(np.int64)
    if array.dtype.kind not in "iu":
        message = f"{name} must hold integers, not {array.dtype}"
        raise GraphError(message)
    return _native(array)


def _weights(values: Any) -> NDArray[Any]:
    array = np.asarray(values)
    if array.ndim != 1:
        message = f"weight must be one-dimensional, not of shape {array.shape}"
        raise GraphError(message)
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        message = f"weight must be bool, integer or float16/32/64, not {array.dtype}"
        raise GraphError(message)
    # The minimum of floats is NaN if one of them is: no mask of length m is made.
    if array.dtype.kind == "f" and array.size and np.isnan(np.min(array)):
        message = f"edge {np.flatnonzero(np.isnan(array))[0]}: the weight is NaN"
        raise GraphError(message)
    return _native(array)


def _native(array: NDArray[Any]) -> NDArray[Any]:
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _checked_num_vertices(u: NDArray[Any], v: NDArray[Any], given: int | None) -> int:
    largest = -1
    for name, ids in (("u", u), ("v", v)):
        if not ids.size:
            continue
        if ids.min() < 0:
            edge = np.flatnonzero(ids < 0)[0]
            message = f"edge {edge}: {name} is {ids[edge]}, but vertex ids are not negative"
            raise GraphError(message)
        largest = max(largest, int(ids.max()))
    if given is None:
        if largest > _LARGEST_ID:
            message = f"vertex id {largest} is too large; ids are at most {_LARGEST_ID}"
            raise GraphError(message)
        return largest + 1
    if isinstance(given, bool) or not isinstance(given, int | np.integer) or given < 0:
        message = f"num_vertices must be a non-negative integer, not {given!r}"
        raise GraphError(message)
    if largest >= given:
        edge = min(int(hits[0]) for ids in (u, v) if (hits := np.flatnonzero(ids >= given)).size)
        message = (
            f"edge {edge}: joins {u[edge]} and {v[edge]}, "
            f"but there are {given} vertices (ids 0 to {given - 1})"
        )
        raise GraphError(message)
    return int(given)
