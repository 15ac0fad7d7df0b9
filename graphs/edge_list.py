"""The edge list: a graph whose three columns are in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import GraphError
from ..runtime.columns import Survey, survey
from ..runtime.device import device_array, host_array, is_on_device
from .vertex_names import VertexNames

#: u, v and weight of consecutive edges; the weight None stands for 1 on every edge.
Columns = tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None]
#: Columns by name: u, v, weight, edge_id.
NamedColumns = Mapping[str, NDArray[Any]]

LARGEST_ID = np.iinfo(np.int64).max - 1


@dataclass(frozen=True, init=False, eq=False, repr=False)
class EdgeList:
    """An undirected graph as columns, which are checked on creation and never modified.

    Loops, parallel edges and both arcs of a symmetric graph are ordinary edges. The id of an edge
    is its position. Columns on a GPU stay there. All columns must be on the same device.

    Parameters
    ----------
    u, v : integer arrays of length m
        The two ends of each edge, as 0-based vertex ids.
    weight : bool, integer or floating array of length m, optional
        Edge weights; by default the integer 1 for every edge.
    num_vertices : int, optional
        Number of vertices; by default the largest id plus one.
    names : VertexNames, optional
        The name of each vertex, as `read` with ``ends=`` creates them.

    Raises
    ------
    GraphError
        If the columns differ in length, a dtype is not supported, an id is negative or not less
        than `num_vertices`, a weight is NaN, or the number of names differs from `num_vertices`.
        Names the first invalid edge.
    """

    u: NDArray[Any]
    v: NDArray[Any]
    weight: NDArray[Any]
    num_vertices: int
    names: VertexNames | None = None
    #: The files that the edges were read from, with their numbers of edges; for error messages.
    files: tuple[tuple[str, int], ...] = ()
    #: The file that determined `num_vertices`, or "" if the caller passed it.
    counted_in: str = ""
    #: Whether it is known that no weight has its sign bit set.
    unsigned: bool = False

    def __init__(
        self,
        u: ArrayLike,
        v: ArrayLike,
        weight: ArrayLike | None = None,
        *,
        num_vertices: int | None = None,
        names: VertexNames | None = None,
    ) -> None:
        if num_vertices is None and names is not None:
            num_vertices = len(names)
        u, v, weight, num_vertices, unsigned = check_columns(u, v, weight, num_vertices)
        _check_names(names, num_vertices)
        # A frozen dataclass refuses assignment.
        self.__dict__.update(u=u, v=v, weight=weight, num_vertices=num_vertices)
        self.__dict__.update(names=names, unsigned=unsigned)

    @property
    def num_edges(self) -> int:
        """Number of edges."""
        return len(self.u)

    @property
    def nbytes(self) -> int:
        """Bytes of the columns and the names."""
        columns = int(self.u.nbytes + self.v.nbytes + self.weight.nbytes)
        return columns + (0 if self.names is None else self.names.nbytes)

    @property
    def is_on_device(self) -> bool:
        """Whether the columns are on a GPU."""
        return is_on_device(self.u)

    def to_host(self) -> EdgeList:
        """Return the same graph with its columns in host memory."""
        if not self.is_on_device:
            return self
        u, v, weight = map(host_array, (self.u, self.v, self.weight))
        return self.replaced(u=u, v=v, weight=weight)

    def on(self, num_vertices: int) -> EdgeList:
        """Return the same edges with another number of vertices.

        Raises
        ------
        GraphError
            If an id is not less than `num_vertices`, or the vertices have names. Names the edge.
        """
        _check_names(self.names, num_vertices)
        if (count := checked_num_vertices(num_vertices)) < self.num_vertices:
            check_columns(self.u, self.v, self.weight, count)
        return self.replaced(num_vertices=count, counted_in="")

    def replaced(self, **attributes: Any) -> EdgeList:
        """Return the same graph with other values of attributes, which are not checked."""
        copy = object.__new__(EdgeList)
        copy.__dict__.update(self.__dict__, **attributes)
        return copy

    def take(self, edge_ids: NDArray[np.int64]) -> tuple[NDArray[Any], ...]:
        """Return u, v and weight of the edges `edge_ids`."""
        return self.u[edge_ids], self.v[edge_ids], self.weight[edge_ids]

    def __repr__(self) -> str:
        return (
            f"EdgeList({self.num_vertices} vertices, {self.num_edges} edges, "
            f"ids {self.u.dtype}, weights {self.weight.dtype})"
        )


def unchecked(
    u: Any, v: Any, weight: Any, num_vertices: int, *, unsigned: bool = False
) -> EdgeList:
    """Return the edge list of columns that are known to be valid, without checking them."""
    graph = object.__new__(EdgeList)
    graph.__dict__.update(u=u, v=v, weight=weight, num_vertices=num_vertices, unsigned=unsigned)
    return graph


def check_columns(
    u: Any, v: Any, weight: Any, num_vertices: int | None, first_id: int = 0
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], int, bool]:
    """Check columns as `EdgeList` does; messages count edges from `first_id`.

    Return arrays, the number of vertices, and whether it is known that no sign bit is set.
    """
    u, v = _checked_ids("u", u, first_id), _checked_ids("v", v, first_id)
    weight = checked_column("weight", ones(u) if weight is None else weight)
    if weight.dtype.kind not in "biuf" or weight.dtype.itemsize > 8:
        message = f"weight must be bool, integer or float16/32/64, not {weight.dtype}"
        raise GraphError(f"{message}; convert it to float64, or to int64 if all are whole")
    if not type(u) is type(v) is type(weight):
        devices = [("GPU" if is_on_device(column) else "host") for column in (u, v, weight)]
        message = "all columns must be on one device; u is on the {}, v on the {}, weight on the {}"
        if len(set(devices)) > 1:
            raise GraphError(message.format(*devices))
    if not len(u) == len(v) == len(weight):
        raise GraphError(
            f"columns differ in length: u has {len(u)}, v has {len(v)}, "
            f"weight has {len(weight)} edges"
        )
    extent = survey(u, v, weight)
    if extent.has_nan:
        raise GraphError(f"edge {first_id + int(np.isnan(weight).argmax())}: the weight is NaN")
    count = _checked_num_vertices(u, v, extent, num_vertices, first_id)
    return u, v, weight, count, not extent.may_be_signed


def _check_names(names: VertexNames | None, num_vertices: int) -> None:
    """Check that there is a name for each vertex, if there are names."""
    if names is not None and len(names) != num_vertices:
        raise GraphError(
            f"there are {len(names)} names for {num_vertices} vertices; leave out num_vertices="
        )


def ones(column: NDArray[Any]) -> NDArray[np.int64]:
    """Return an array of integer ones of the length of a column; it uses no memory."""
    one = np.zeros_like(column, np.int64, shape=(1,)) + 1
    return np.broadcast_to(one, column.shape)


def are_ones(weight: Any) -> bool:
    """Return whether weights are None or those of `ones`: then the graph has no weights."""
    return weight is None or weight.strides == (0,)


def join_ids(columns: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Concatenate vertex ids."""
    dtype = np.result_type(*columns)
    if dtype.kind == "f":  # NumPy promotes int64 and uint64 to float64; ids fit either
        dtype = np.dtype(np.int64)
    return np.concatenate([column.astype(dtype, copy=False) for column in columns])


def checked_column(name: str, values: Any) -> NDArray[Any]:
    """Return values as a one-dimensional array in native byte order, without rounding."""
    is_usual = type(values) is np.ndarray and values.ndim == 1 and values.dtype.isnative
    if isinstance(values, np.ndarray) and is_usual and values.dtype.kind != "O":
        return values
    if isinstance(values, np.ma.MaskedArray):
        raise GraphError(f"{name} must not be a masked array; drop the masked edges first")
    array = device_array(values) if is_on_device(values) else _host_array(name, values)
    if array.ndim != 1:
        raise GraphError(f"{name} must be one-dimensional, not of shape {array.shape}")
    is_list = isinstance(values, list | tuple)
    if array.dtype.kind == "O" or (array.dtype.kind == "f" and is_list):
        # NumPy converts lists of large integers, or of integers and floats, to float64.
        integers = [isinstance(value, int | np.integer) for value in values]
        if len(values) and all(integers):
            return _integers(name, list(map(int, values)))
        if array.dtype.kind == "O":
            return array
        for edge, (value, is_integer) in enumerate(zip(values, integers, strict=True)):
            if is_integer and int(value) != int(float(value)):
                raise GraphError(f"edge {edge}: {name} is {value}, which is not exact as float64")
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _integers(name: str, values: list[int]) -> NDArray[Any]:
    """Return integers as an array of int64, or else of uint64."""
    dtype = np.int64 if max(values) < 2**63 else np.uint64
    for edge, value in enumerate(values):
        if not np.iinfo(dtype).min <= value <= np.iinfo(dtype).max:
            raise GraphError(
                f"edge {edge}: {name} is {value}, which is not exact as {dtype.__name__}"
            )
    return np.array(values, dtype)


def _host_array(name: str, values: Any) -> NDArray[Any]:
    try:
        if hasattr(values, "__dlpack__") and not hasattr(values, "__array__"):
            values = np.from_dlpack(values)
        return np.asarray(values)
    except (ValueError, TypeError, BufferError, RuntimeError) as error:
        raise GraphError(f"{name} is not an array: {error}") from error


def _checked_ids(name: str, values: Any, first_edge: int) -> NDArray[Any]:
    """Return vertex ids as an array of integers; accept an empty array of float64."""
    array = checked_column(name, values)
    if array.dtype.kind in "iu":
        return array
    if array.size == 0 and array.dtype == np.float64:  # np.asarray([])
        return array.astype(np.int64)
    if array.dtype.kind == "f":
        _check_whole(name, array, first_edge)
    hint = f"convert it by {name}.astype(int)"
    if array.dtype.kind not in "fb":
        hint = "to use names, pass ends= with their columns, such as ends=('u', 'v')"
    raise GraphError(f"{name} must hold integers, not {array.dtype}; {hint}")


def _check_whole(name: str, ids: NDArray[Any], first_edge: int) -> None:
    """Check that vertex ids of a floating dtype are exact integers."""
    is_whole = (ids == np.floor(ids)) & (abs(ids) < 2**53)
    if is_whole.all():
        return
    edge = int((~is_whole).argmax())
    problem = f"is {ids[edge]}, which is not an exact integer; vertex ids must be integers"
    if np.isnan(ids[edge]):
        problem = "is NaN; drop the edges of which an end is missing"
    raise GraphError(f"edge {first_edge + edge}: {name} {problem}")


def renumbered(name: str, values: Any, first_vertex: int, first_edge: int) -> NDArray[Any]:
    """Subtract the number of the first vertex from ids; messages count edges from `first_edge`."""
    ids = _checked_ids(name, values, first_edge)
    if (is_less := ids < first_vertex).any():
        edge = int(is_less.argmax())
        raise GraphError(
            f"edge {first_edge + edge}: vertex id {ids[edge]} is less than first_id={first_vertex}"
        )
    return ids - first_vertex


def checked_num_vertices(given: Any) -> int:
    """Return a number of vertices as a Python int."""
    is_integer = isinstance(given, int | np.integer) and not isinstance(given, bool)
    if not is_integer or not 0 <= given <= LARGEST_ID + 1:
        raise GraphError(f"num_vertices must be an integer from 0 to 2^63 - 1, not {given!r}")
    return int(given)


def _checked_num_vertices(
    u: NDArray[Any], v: NDArray[Any], extent: Survey, given: int | None, first_id: int
) -> int:
    largest = max(extent.u, extent.v)
    for name, ids, top in (("u", u, extent.u), ("v", v, extent.v)):
        if top > np.iinfo(ids.dtype).max:  # a negative id, viewed as unsigned
            edge = int((ids < 0).argmax())
            raise GraphError(
                f"edge {first_id + edge}: {name} is {ids[edge]}; vertex ids must not be negative"
            )
    if given is None:
        if largest > LARGEST_ID:
            raise GraphError(
                f"vertex id {largest} is too large; ids are at most {LARGEST_ID}; to use names, "
                "pass ends= with their columns, such as ends=('u', 'v')"
            )
        return largest + 1
    given = checked_num_vertices(given)
    if largest >= given:
        # If the dtype cannot represent `given`, all ids are smaller.
        wide = (ids for ids in (u, v) if given <= np.iinfo(ids.dtype).max)
        edge = min(int(hits.argmax()) for ids in wide if (hits := ids >= given).any())
        raise GraphError(
            f"edge {first_id + edge}: joins {u[edge]} and {v[edge]}, but there are {given} vertices"
            + (f" (ids 0 to {given - 1})" if given else "")
        )
    return given
