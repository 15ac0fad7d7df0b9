"""The edge list: the one form in which a graph enters mstflow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import GraphError
from ..runtime.device import device_array, host_array, is_on_device
from ..runtime.team import extreme

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    #: u, v and weight (None for 1 each) of some consecutive edges.
    Columns = tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None]
    #: Columns of edges by name: u, v, weight, edge_id.
    NamedColumns = Mapping[str, NDArray[Any]]

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
        Edge weights; integer 1 each if not given. Columns that lie on a GPU stay there: all of
        them, or none.
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
        u, v, weight, num_vertices = checked(u, v, weight, num_vertices)
        values = {"u": u, "v": v, "weight": weight, "num_vertices": num_vertices}
        self.__dict__.update(values)  # frozen: set once, here

    @property
    def num_edges(self) -> int:
        """Number of records."""
        return len(self.u)

    @property
    def is_on_device(self) -> bool:
        """Whether the columns lie on a GPU."""
        return is_on_device(self.u)

    def to_host(self) -> EdgeList:
        """Return the same graph with its columns in the memory of the host."""
        if not self.is_on_device:
            return self
        columns = map(host_array, (self.u, self.v, self.weight))
        return EdgeList(*columns, num_vertices=self.num_vertices)

    def on(self, num_vertices: int) -> EdgeList:
        """Return the same edges on another number of vertices.

        Raises
        ------
        GraphError
            If there are ends beyond them. Names the edge.
        """
        if _checked_num_vertices(self.u[:0], self.v[:0], num_vertices, 0) < self.num_vertices:
            return EdgeList(self.u, self.v, self.weight, num_vertices=num_vertices)
        larger = object.__new__(EdgeList)  # its ids need no second look
        larger.__dict__.update(self.__dict__, num_vertices=int(num_vertices))
        return larger

    def take(self, edge_ids: NDArray[np.int64]) -> tuple[NDArray[Any], ...]:
        """Return u, v and weight of the edges `edge_ids`."""
        return self.u[edge_ids], self.v[edge_ids], self.weight[edge_ids]

    def __repr__(self) -> str:
        return (
            f"EdgeList({self.num_vertices} vertices, {self.num_edges} edges, "
            f"ids {self.u.dtype}, weights {self.weight.dtype})"
        )


def checked(
    u: Any, v: Any, weight: Any, num_vertices: int | None, first_id: int = 0
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], int]:
    """Return columns as arrays and the number of vertices, if they make an edge list.

    `first_id` is the id of the first edge, for messages; otherwise see `EdgeList`.
    """
    u, v = _ids("u", u), _ids("v", v)
    weight = _weights(ones(u) if weight is None else weight, first_id)
    where = [("on the GPU" if is_on_device(column) else "not") for column in (u, v, weight)]
    if len(set(where)) > 1:
        message = "all columns must lie on the GPU or none; u is {}, v is {}, weight is {}"
        raise GraphError(message.format(*where))
    if not len(u) == len(v) == len(weight):
        message = (
            f"columns differ in length: u has {len(u)}, v has {len(v)}, "
            f"weight has {len(weight)} edges"
        )
        raise GraphError(message)
    return u, v, weight, _checked_num_vertices(u, v, num_vertices, first_id)


def ones(column: NDArray[Any]) -> NDArray[np.int64]:
    """Return integer 1 for each entry of a column: one that stands for all, in no memory."""
    one = np.zeros_like(column, np.int64, shape=(1,)) + 1
    return np.broadcast_to(one, column.shape)


def concatenate(graphs: Sequence[EdgeList]) -> EdgeList:
    """Join edge lists into one graph; edge ids run on in the order given.

    Raises
    ------
    GraphError
        If no common dtype holds all weights exactly.
    """
    if len(graphs) == 1:
        return graphs[0]
    return EdgeList(
        join_ids([graph.u for graph in graphs]),
        join_ids([graph.v for graph in graphs]),
        join_weights([graph.weight for graph in graphs]),
        num_vertices=max(graph.num_vertices for graph in graphs),
    )


def join_ids(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Concatenate vertex ids, which fit in any integer dtype that holds those of one part."""
    dtype = np.result_type(*parts)
    if dtype.kind == "f":  # of int64 and uint64: checked ids fit either
        dtype = np.dtype(np.int64)
    return np.concatenate([part.astype(dtype, copy=False) for part in parts])


def join_weights(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Concatenate weights in a dtype that holds all of them exactly.

    Raises
    ------
    GraphError
        If there is none; names the first edge whose weight would be rounded.
    """
    dtype = np.result_type(*parts)
    if dtype.kind == "f" and all(part.dtype.kind != "f" for part in parts):
        dtype = np.dtype(np.uint64)  # beside int64: holds them unless one is negative
    lowest, largest = (0, 2**64 - 1) if dtype.kind == "u" else (-(2**53), 2**53)
    start = 0
    for part in parts:
        if part.dtype != dtype and part.dtype.kind in "iu" and not _holds(dtype, part.dtype):
            inexact = (part < lowest) | (part > largest)
            if inexact.any():
                edge = int(inexact.argmax())
                message = (
                    f"edge {start + edge}: weight {part[edge]} is not exact as {dtype}, "
                    "which other weights need"
                )
                raise GraphError(message)
        start += len(part)
    return np.concatenate([part.astype(dtype, copy=False) for part in parts])


def _holds(wide: np.dtype[Any], narrow: np.dtype[Any]) -> bool:
    """Whether every integer of `narrow` is one of `wide`; NumPy calls int64 to float64 safe."""
    return np.can_cast(narrow, wide) and not (wide.kind == "f" and narrow.itemsize == 8)


def checked_column(name: str, values: Any) -> NDArray[Any]:
    """Return values as a column of numbers in the machine's order of bytes, none of them rounded.

    Raises
    ------
    GraphError
        If that cannot be; names the column.
    """
    if isinstance(values, np.ma.MaskedArray):
        message = f"{name} must not be a masked array; leave out what is masked"
        raise GraphError(message)
    array = device_array(values) if is_on_device(values) else _host_array(name, values)
    if array.ndim != 1:
        message = f"{name} must be one-dimensional, not of shape {array.shape}"
        raise GraphError(message)
    if array.dtype.kind == "f" and isinstance(values, list | tuple):
        # NumPy turns a list of large or mixed integers into floats.
        integers = [isinstance(value, int | np.integer) for value in values]
        if values and all(integers) and min(map(int, values)) >= 0:
            return np.array(values, np.uint64)
        for edge, (value, is_integer) in enumerate(zip(values, integers, strict=True)):
            if is_integer and int(value) != int(float(value)):
                message = f"edge {edge}: {name} is {value}, which is not exact as float64"
                raise GraphError(message)
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _host_array(name: str, values: Any) -> NDArray[Any]:
    try:
        if hasattr(values, "__dlpack__") and not hasattr(values, "__array__"):
            values = np.from_dlpack(values)
        return np.asarray(values)
    except (ValueError, TypeError, BufferError, RuntimeError) as error:
        message = f"{name} is not an array: {error}"
        raise GraphError(message) from error


def _ids(name: str, values: Any) -> NDArray[Any]:
    array = checked_column(name, values)
    if array.size == 0 and array.dtype == np.float64:  # np.asarray([])
        return array.astype(np.int64)
    if array.dtype.kind not in "iu":
        message = f"{name} must hold integers, not {array.dtype}"
        raise GraphError(message)
    return array


def _weights(values: Any, first_id: int) -> NDArray[Any]:
    array = checked_column("weight", values)
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        message = f"weight must be bool, integer or float16/32/64, not {array.dtype}"
        raise GraphError(message)
    # The minimum of floats is NaN if one of them is: no mask of length m is made.
    if array.dtype.kind == "f" and array.size and np.isnan(extreme("min", array)):
        message = f"edge {first_id + int(np.isnan(array).argmax())}: the weight is NaN"
        raise GraphError(message)
    return array


def checked_num_vertices(given: Any) -> int:
    """Return a number of vertices, of Python or NumPy, as Python's.

    Raises
    ------
    GraphError
        If it is none.
    """
    is_integer = isinstance(given, int | np.integer) and not isinstance(given, bool)
    if not is_integer or not 0 <= given <= _LARGEST_ID + 1:
        message = f"num_vertices must be an integer from 0 to 2^63 - 1, not {given!r}"
        raise GraphError(message)
    return int(given)


def _checked_num_vertices(
    u: NDArray[Any], v: NDArray[Any], given: int | None, first_id: int
) -> int:
    largest = -1
    for name, ids in (("u", u), ("v", v)):
        if not ids.size:
            continue
        # Read without a sign, a negative id is larger than any other: one pass finds both.
        top = int(extreme("max", ids.view(f"u{ids.itemsize}")))
        if top > np.iinfo(ids.dtype).max:
            edge = int((ids < 0).argmax())
            message = (
                f"edge {first_id + edge}: {name} is {ids[edge]}, but vertex ids are not negative"
            )
            raise GraphError(message)
        largest = max(largest, top)
    if given is None:
        if largest > _LARGEST_ID:
            message = f"vertex id {largest} is too large; ids are at most {_LARGEST_ID}"
            raise GraphError(message)
        return largest + 1
    given = checked_num_vertices(given)
    if largest >= given:
        # A dtype that does not hold `given` holds no id beyond it.
        wide = (ids for ids in (u, v) if given <= np.iinfo(ids.dtype).max)
        edge = min(int(hits.argmax()) for ids in wide if (hits := ids >= given).any())
        message = (
            f"edge {first_id + edge}: joins {u[edge]} and {v[edge]}, "
            f"but there are {given} vertices (ids 0 to {given - 1})"
        )
        raise GraphError(message)
    return int(given)
