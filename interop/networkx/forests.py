"""Spanning forests of a networkx graph, which is converted to columns."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import networkx
import numpy as np

from ...errors import GraphError
from ...graphs.libraries.networkx import Edges, by_address, edges_of
from ...primitives import array_module, resolve_backend
from .info import Waiting, mean_degree
from .labels import labels_of, sets_of, without_collection
from .rows import edges_by_kernels, kernels, numbers_by_kernels

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

#: The edges of graphs that were converted without kernels. Kernels gain 0.4 microseconds an edge,
#: and loading them takes 20 milliseconds.
kernels_wait = Waiting(50_000, 50_000)


class ConvertedGraph:
    """A networkx graph as columns; networkx caches it until the graph changes.

    Parameters
    ----------
    graph : networkx graph
    with_nodes : bool
        Keep the attributes of the nodes and of the graph.
    """

    __networkx_backend__ = "mstflow"

    def __init__(self, graph: Any, *, with_nodes: bool) -> None:
        self.kind = graph.__class__
        self._has_dicts = graph.edge_attr_dict_factory is graph.node_attr_dict_factory is dict
        self.edges = _edges(graph)
        self.attributes = dict(graph.graph) if with_nodes else {}
        self.node_data = list(graph._node.values()) if with_nodes else None
        self._is_directed = graph.is_directed()
        self._is_multigraph = graph.is_multigraph()
        self._weights: dict[Any, NDArray[Any]] = {}

    @cached_property
    def _labels(self) -> NDArray[Any]:
        u, v = self.edges.u, self.edges.v
        return labels_of(len(self), u, v, array_module(resolve_backend("auto", len(u))))

    @property
    def number(self) -> int:
        """The number of components."""
        return int(self._labels.max(initial=-1)) + 1

    def sets(self) -> list[set[Any]]:
        """Return a new set of the nodes of each component, in the order of first nodes."""
        return sets_of(self.edges.nodes, self._labels)

    @property
    def is_connected(self) -> bool:
        """Whether there is one component."""
        return self.number == 1

    def is_directed(self) -> bool:
        """Return whether the graph is directed."""
        return bool(self._is_directed)

    def is_multigraph(self) -> bool:
        """Return whether the graph is a multigraph."""
        return bool(self._is_multigraph)

    def __len__(self) -> int:
        return len(self.edges.nodes)

    def with_edges(self, edge_ids: NDArray[np.int64], *, parallel: bool = False) -> Any:
        """Return a networkx graph of the same class, nodes and attributes, with these edges.

        `parallel` allows more than one edge between two nodes.
        """
        made = self.kind()
        made.graph.update(self.attributes)
        nodes, data = self.edges.nodes, self.node_data or [{}] * len(self)
        with without_collection():
            is_usual = self._has_dicts and self.kind in (networkx.Graph, networkx.MultiGraph)
            if is_usual and not parallel:
                made._node.update(zip(nodes, map(dict.copy, data), strict=True))
                made._adj.update(zip(nodes, _rows(self.edges, edge_ids), strict=True))
            else:
                made.add_nodes_from(zip(nodes, data, strict=True))
                made.add_edges_from(self.edges.tuples(edge_ids))
        return made

    def to_networkx(self) -> Any:
        """Return a networkx graph with all edges."""
        return self.with_edges(np.arange(len(self.edges.u)), parallel=self.is_multigraph())

    def spanning_tree(self, weight: Any, maximum: bool, ignore_nan: bool) -> Any:
        """Return a spanning forest as a networkx graph."""
        return self.with_edges(_chosen(self, weight, maximum, ignore_nan))

    def spanning_edges(
        self, weight: Any, maximum: bool, ignore_nan: bool, *, keys: bool, data: bool
    ) -> Iterator[tuple[Any, ...]]:
        """Return the edges of a spanning forest, the preferred ones first.

        Weights are read at once, so that networkx can call another backend if they are unusual.
        """
        self.weights(weight)
        return self._spanning_edges(weight, maximum, ignore_nan, keys=keys, data=data)

    def _spanning_edges(
        self, weight: Any, maximum: bool, ignore_nan: bool, *, keys: bool, data: bool
    ) -> Iterator[tuple[Any, ...]]:
        edge_ids = _chosen(self, weight, maximum, ignore_nan)
        with without_collection():
            found = list(self.edges.tuples(edge_ids, keys=keys, data=data))
        yield from found

    def weights(self, weight: Any) -> NDArray[Any]:
        """Return the attribute `weight` of the edges as a column, which may contain NaN.

        Raises
        ------
        NotImplementedError
            If they are not numbers, or no dtype represents all of them exactly.
        """
        if weight not in self._weights:
            try:
                column = None
                if kernels.are_loaded():
                    column = numbers_by_kernels(self.edges.data, weight)
                if column is None:
                    column = self.edges.weights(weight)
            except GraphError as error:
                message = f"no dtype represents all values of {weight!r} exactly"
                raise NotImplementedError(message) from error
            if column.dtype.kind not in "biuf" or column.dtype.itemsize > 8:
                message = f"weights must be bool, integer or float16/32/64, not {column.dtype}"
                raise NotImplementedError(message)
            self._weights[weight] = column
        return self._weights[weight]


def _edges(graph: Any) -> Edges:
    """Return the edges of a networkx graph, by kernels if they pay and can read it."""
    size = int(len(graph._adj) * mean_degree(graph._adj) / 2)
    shares = not graph.is_directed() and graph.edge_attr_dict_factory is dict
    by_kernels = shares and (kernels.are_loaded() or kernels_wait.is_over(size))
    return (edges_by_kernels(graph) if by_kernels else None) or edges_of(graph)


def _chosen(graph: ConvertedGraph, weight: Any, maximum: bool, ignore_nan: bool) -> Any:
    """Return the ids of the forest's edges in the order of networkx, which is (weight, edge id).

    Raises
    ------
    ValueError
        If a weight is NaN and `ignore_nan` is False. Names the edge as networkx does.
    """
    edges, column = graph.edges, graph.weights(weight)
    u, v, ids = edges.u, edges.v, np.arange(len(column))
    if column.dtype.kind == "f" and (is_nan := np.isnan(column)).any():
        if not ignore_nan:
            (edge,) = edges.tuples(np.flatnonzero(is_nan)[:1])
            message = f"NaN found as an edge weight. Edge {edge}"
            raise ValueError(message)
        ids = np.flatnonzero(~is_nan)
        u, v, column = u[ids], v[ids], column[ids]
    ops = array_module(resolve_backend("auto", len(u), are_few=True))
    step = -1 if maximum else 1  # reversed before and after a stable sort, ties keep their order
    chosen = ops.join_by_weight(u, v, column, len(graph), descending=maximum)[::step]
    return ids[chosen[np.argsort(column[chosen], kind="stable")[::step]]]


def _rows(edges: Edges, edge_ids: NDArray[np.int64]) -> list[dict[Any, dict[Any, Any]]]:
    """Return the neighbors of each node in a graph of these edges, none of which are parallel."""
    nodes, data = edges.nodes, edges.data[edge_ids]
    order = by_address(data)
    data[order] = list(map(dict.copy, data[order].tolist()))
    values = data.tolist()
    if edges.keys is not None:
        pairs = zip(edges.keys[edge_ids].tolist(), values, strict=True)
        values = [{key: attributes} for key, attributes in pairs]
    rows: list[dict[Any, dict[Any, Any]]] = [{} for _ in nodes]
    u, v = edges.u[edge_ids].tolist(), edges.v[edge_ids].tolist()
    for a, b, value in zip(u, v, values, strict=True):
        rows[a][nodes[b]] = rows[b][nodes[a]] = value
    return rows
