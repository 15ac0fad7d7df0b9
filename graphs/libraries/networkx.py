"""Convert graphs of networkx to columns in one pass, without a tuple for each edge."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import GraphError
from ..edge_list import EdgeList, checked_column
from . import no_weights

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

#: Addresses divided by 64 are places. A region has 2 to this power of them, which is a megabyte.
_REGION = 14
#: The largest place, which limits the number of regions.
_FARTHEST = 2**34
#: The largest number of places for each address, unless there are few places.
_PLACES, _FEW = 32, 2**17


@dataclass(frozen=True)
class Edges:
    """The edges of a networkx graph, in the order of `G.edges`."""

    #: The nodes in the order of `G.nodes`.
    nodes: list[Any]
    #: Positions of both ends in `nodes`.
    u: NDArray[np.int64]
    v: NDArray[np.int64]
    #: An object array with the keys of a multigraph's edges.
    keys: NDArray[Any] | None
    #: An object array with the attributes of each edge: the dictionaries of the graph, not copies.
    data: NDArray[Any]

    def tuples(
        self, edge_ids: NDArray[np.int64], *, keys: bool = True, data: bool = True
    ) -> Iterator[tuple[Any, ...]]:
        """Yield edges as `G.edges(keys=keys, data=data)` does; other graphs have no keys."""
        node = self.nodes.__getitem__
        columns: list[Iterable[Any]] = [map(node, at[edge_ids].tolist()) for at in (self.u, self.v)]
        if self.keys is not None and keys:
            columns.append(self.keys[edge_ids].tolist())
        if data:
            columns.append(self.data[edge_ids].tolist())
        return zip(*columns, strict=True)

    def weights(self, weight: Any) -> NDArray[Any]:
        """Return the attribute `weight` of each edge as `as_column` does; 1 if it is missing."""
        order = by_address(self.data)
        data = self.data[order].tolist()
        try:
            values = list(map(dict.get, data, repeat(weight), repeat(1)))
        except TypeError:  # other mappings
            values = [each.get(weight, 1) for each in data]
        column = as_column(values)
        column[order] = column.copy()
        return column


def edges_of(graph: Any) -> Edges:
    """Return the edges of a networkx graph or multigraph, directed or not."""
    nodes, rows = list(graph._adj), _rows(graph._adj.values())
    shares = not graph.is_directed() and graph.edge_attr_dict_factory is dict
    u, v, values = _arcs(nodes, rows, shares=shares)
    if not graph.is_directed():  # each edge is stored at both ends; the first end lists it
        first = np.flatnonzero(u <= v)
        u, v, values = u[first], v[first], values[first]
    if not graph.is_multigraph():
        return Edges(nodes, u, v, None, values)
    return _of_multigraph(nodes, u, v, values)


def ends_of(adjacency: Any) -> tuple[int, NDArray[np.int64], NDArray[np.int64]]:
    """Return the number of nodes, and the positions of both ends of each pair of neighbors."""
    nodes = list(adjacency)
    u, v, _ = _arcs(nodes, _rows(adjacency.values()), shares=True)
    first = u <= v  # each pair is stored at both ends
    return len(nodes), u[first], v[first]


def object_addresses(objects: NDArray[Any]) -> NDArray[np.intp]:
    """Return the addresses of the objects of an array, which shares its memory with the result."""
    return np.ndarray(len(objects), np.intp, objects)


def by_address(objects: NDArray[Any]) -> NDArray[np.intp]:
    """Return the order of objects in memory, in which they are read several times as fast.

    The objects are dictionaries. If they differ, the order follows from their places, without
    comparisons.
    """
    address = object_addresses(objects)
    place = _places(address)
    if place is not None:
        at = np.full(place.max(initial=0) + 1, -1)
        at[place] = np.arange(len(place))
        order = at[at >= 0]
        if len(order) == len(objects):
            return order
    return np.argsort(address)


def as_column(weights: list[Any]) -> NDArray[Any]:
    """Return weights as an array, without rounding."""
    if set(map(type, weights)) == {float}:  # the usual case needs no check of each weight
        return np.array(weights)
    return checked_column("weight", weights)


def from_networkx(graph: Any, weight: str | Callable[..., Any] | None) -> EdgeList:
    """Convert a networkx graph; `weight` is an attribute or a function of (u, v, attributes)."""
    edges = edges_of(graph)
    column, values = None, None
    try:
        if callable(weight):
            values = [weight(*edge) for edge in edges.tuples(np.arange(len(edges.u)), keys=False)]
            column = as_column(values)
        elif weight is not None:
            data = edges.data.tolist() if weight != "weight" else []
            if data and not any(weight in each for each in data):
                raise no_weights(weight, {name for each in data for name in each})
            column = edges.weights(weight)
        return EdgeList(edges.u, edges.v, column, num_vertices=len(edges.nodes))
    except GraphError as error:
        found = _first_invalid(values or [each.get(weight, 1) for each in edges.data])
        if found is None:
            raise
        edge, problem = found
        (name,) = edges.tuples(np.array([edge]), data=False)
        raise GraphError(f"edge {edge}, {name}: the weight {problem}") from error


def _places(address: NDArray[np.intp]) -> NDArray[np.intp] | None:
    """Return small integers in the order of the addresses of dictionaries, one for each address.

    Return None if they are too far from each other, so that a table of all places is too large.
    """
    place: NDArray[np.intp] = address - address.min(initial=2**62)
    place >>= 6  # a dictionary takes at least 64 bytes
    if place.max(initial=0) > _FARTHEST:
        return None
    region = place >> _REGION
    is_empty = np.bincount(region) == 0
    if is_empty.any():
        place -= (np.cumsum(is_empty) << _REGION)[region]
    return place if place.max(initial=0) <= max(_FEW, _PLACES * len(place)) else None


def _rows(mappings: Iterable[Any]) -> list[dict[Any, Any]]:
    """Return mappings as dictionaries, whose order, length and values can be read directly.

    The length of a view may include items that it hides, and a subclass may have another order.
    """
    rows = list(mappings)
    return rows if {*map(type, rows)} <= {dict} else list(map(dict, rows))


def _arcs(
    nodes: list[Any], rows: list[dict[Any, Any]], *, shares: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any]]:
    """Return both ends and the value of each item of rows.

    `shares` allows to pair items by their values, which no two edges may have in common.
    """
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    u = np.repeat(np.arange(len(nodes)), lengths)  # raises if another thread changed the graph
    values = np.fromiter(chain.from_iterable(map(dict.values, rows)), object, len(u))
    v = _other_ends(nodes, rows, u, values) if shares else None
    if v is None:
        position_of = dict(zip(nodes, range(len(nodes)), strict=True)).__getitem__
        v = np.fromiter(map(position_of, chain.from_iterable(rows)), np.int64, len(u))
    return u, v, values


def _other_ends(
    nodes: list[Any], rows: list[dict[Any, Any]], u: NDArray[np.int64], values: NDArray[Any]
) -> NDArray[np.int64] | None:
    """Return the other end of each arc of an undirected graph, without looking up any node.

    The rows of both ends of an edge hold the same dictionary of attributes, which has the same
    address in both. A loop is stored once. Return None if the rows do not share dictionaries, as in
    some views and subclasses.
    """
    address = object_addresses(values)
    place = _places(address)
    if place is None:
        return None
    arcs = np.arange(len(u))
    arc_at = np.empty(place.max(initial=0) + 1, np.int64)
    arc_at[place] = arcs  # of the two arcs of an edge, one remains
    one = np.flatnonzero(arc_at[place] != arcs)
    other = arc_at[place[one]]
    is_single = np.ones(len(u), bool)
    is_single[one] = is_single[other] = False
    loops = u[is_single]
    if (
        len(loops) != len(u) - 2 * len(one)
        or (address[one] != address[other]).any()
        or (np.diff(loops) == 0).any()
        or not all(nodes[row] in rows[row] for row in loops.tolist())
    ):
        return None
    v = u.copy()
    v[one], v[other] = u[other], u[one]
    return v


def _of_multigraph(
    nodes: list[Any], u: NDArray[np.int64], v: NDArray[np.int64], values: NDArray[Any]
) -> Edges:
    """Return the edges of the pairs (u, v), whose `values` map keys to attributes."""
    order = by_address(values)
    rows = _rows(values[order].tolist())
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    count = int(lengths.sum())
    keys = np.fromiter(chain.from_iterable(rows), object, count)
    data = np.fromiter(chain.from_iterable(map(dict.values, rows)), object, count)
    parallel = np.empty_like(lengths)
    parallel[order] = lengths
    shift = (np.cumsum(parallel) - parallel)[order] - (np.cumsum(lengths) - lengths)
    place = np.repeat(shift, lengths) + np.arange(count)
    keys[place], data[place] = keys.copy(), data.copy()
    return Edges(nodes, np.repeat(u, parallel), np.repeat(v, parallel), keys, data)


def _first_invalid(weights: list[Any]) -> tuple[int, str] | None:
    """Return the first edge with an invalid weight and the problem; None if all are valid."""
    integers = [value for value in weights if isinstance(value, int | np.integer)]
    has_floats = any(isinstance(value, float | np.floating) for value in weights)
    # No integer dtype holds negative and large numbers; NumPy converts both to float64.
    is_float = has_floats or (min(integers, default=0) < 0 and max(integers) >= 2**63)
    for edge, value in enumerate(weights):
        try:
            column = checked_column("weight", [value])
        except GraphError:
            return edge, f"is not a number: {value!r}"
        if column.dtype.kind not in "biuf" or column.dtype.itemsize > 8:
            return edge, f"must be bool, integer or float16/32/64, not {value!r}"
        if value != value:
            return edge, "is NaN"
        if is_float and column.dtype.kind in "iu" and int(float(value)) != value:
            return edge, f"is {value}, which is not exact as float64"
    return None
