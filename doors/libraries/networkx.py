"""Convert graphs of networkx to columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import GraphError
from ...graphs.edge_list import EdgeList, checked_column
from ..names.stored import names_of
from . import check_no_weights


@dataclass(frozen=True)
class Edges:
    """The edges of a networkx graph, in the order of `G.edges`."""

    #: The nodes in the order of `G.nodes`.
    nodes: list[Any]
    #: The ends of each edge, as positions in `nodes`.
    u: NDArray[np.int64]
    v: NDArray[np.int64]
    #: An object array with the keys of a multigraph's edges.
    keys: NDArray[Any] | None
    #: An object array with the attributes of each edge: the dictionaries of the graph, not copies.
    data: NDArray[Any]

    def tuples(
        self, edge_ids: NDArray[np.int64], *, keys: bool = True, data: bool = True
    ) -> Iterator[tuple[Any, ...]]:
        """Yield edges as `G.edges(keys=keys, data=data)` does; only multigraphs have keys."""
        node = self.nodes.__getitem__
        ends = (end[edge_ids].tolist() for end in (self.u, self.v))
        columns: list[Iterable[Any]] = [map(node, positions) for positions in ends]
        if self.keys is not None and keys:
            columns.append(self.keys[edge_ids].tolist())
        if data:
            columns.append(self.data[edge_ids].tolist())
        return zip(*columns, strict=True)

    def weights(self, weight: Any) -> NDArray[Any]:
        """Return the attribute `weight` of each edge as `as_column` does; 1 if it is missing."""
        return as_column([data.get(weight, 1) for data in self.data.tolist()])


def edges_of(graph: Any) -> Edges:
    """Return the edges of a networkx graph or multigraph, directed or not."""
    nodes = list(graph)
    position_of = dict(zip(nodes, range(len(nodes)), strict=True)).__getitem__
    has_keys = graph.is_multigraph()
    edges = graph.edges(data=True, keys=True) if has_keys else graph.edges(data=True)
    # One flat array instead of a list of tuples, which the garbage collector would visit.
    width, flat = 3 + has_keys, np.fromiter(chain.from_iterable(edges), object)
    count = len(flat) // width
    u, v = (np.fromiter(map(position_of, flat[place::width]), np.int64, count) for place in (0, 1))
    keys = flat[2::width].copy() if has_keys else None
    return Edges(nodes, u, v, keys, flat[width - 1 :: width].copy())


def as_column(weights: list[Any]) -> NDArray[Any]:
    """Return weights as an array, without rounding."""
    if set(map(type, weights)) == {float}:  # the usual case needs no check of each weight
        return np.array(weights)
    return checked_column("weight", weights)


def from_networkx(graph: Any, weight: str | Callable[..., Any] | None) -> EdgeList:
    """Convert a networkx graph; `weight` is an attribute or a function of (u, v, attributes)."""
    edges = edges_of(graph)
    column, values, size = None, None, len(edges.nodes)
    try:
        if callable(weight):
            values = [weight(*edge) for edge in edges.tuples(np.arange(len(edges.u)), keys=False)]
            column = as_column(values)
        elif weight is not None:
            data = edges.data.tolist()
            if data and not any(weight in attributes for attributes in data):
                check_no_weights(weight, chain.from_iterable(each.items() for each in data))
            column = edges.weights(weight)
        return EdgeList(edges.u, edges.v, column, num_vertices=size, names=names_of(edges.nodes))
    except GraphError as error:
        invalid = _first_invalid(values or [attributes.get(weight, 1) for attributes in edges.data])
        if invalid is None:
            raise
        edge, problem = invalid
        (name,) = edges.tuples(np.array([edge]), data=False)
        raise GraphError(f"edge {edge}, {name}: the weight {problem}") from error


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
            column = None
        if column is None and not isinstance(value, int | np.integer):
            return edge, f"is not a number: {value!r}"
        if column is None or column.dtype.kind not in "biuf" or column.dtype.itemsize > 8:
            return edge, f"must be bool, integer or float16/32/64, not {value!r}"
        if value != value:
            return edge, "is NaN"
        if is_float and column.dtype.kind in "iu" and int(float(value)) != value:
            return edge, f"is {value}, which is not exact as float64"
    return None
