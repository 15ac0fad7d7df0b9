"""Spanning forests of a networkx graph, which is converted to columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...doors.libraries.networkx import edges_of
from ...errors import GraphError
from ...solve import minimum_spanning_forest


class ConvertedGraph:
    """A networkx graph as columns; networkx caches it until the graph changes.

    It has the attributes of the nodes and of the graph only if `with_nodes` is true.
    """

    __networkx_backend__ = "mstflow"

    def __init__(self, graph: Any, *, with_nodes: bool) -> None:
        self.kind = graph.__class__
        self.edges = edges_of(graph)
        self.attributes = dict(graph.graph) if with_nodes else {}
        self.node_data = [data for _, data in graph.nodes(data=True)] if with_nodes else None
        self._is_directed = graph.is_directed()
        self._is_multigraph = graph.is_multigraph()
        self._weights: dict[Any, NDArray[Any]] = {}

    def is_directed(self) -> bool:
        """Return whether the graph is directed."""
        return bool(self._is_directed)

    def is_multigraph(self) -> bool:
        """Return whether the graph is a multigraph."""
        return bool(self._is_multigraph)

    def __len__(self) -> int:
        return len(self.edges.nodes)

    def with_edges(self, edge_ids: NDArray[np.int64]) -> Any:
        """Return a networkx graph of the same class, nodes and attributes, with these edges."""
        graph = self.kind()
        graph.graph.update(self.attributes)
        nodes, data = self.edges.nodes, self.node_data or [{}] * len(self)
        graph.add_nodes_from(zip(nodes, data, strict=True))
        graph.add_edges_from(self.edges.tuples(edge_ids))
        return graph

    def to_networkx(self) -> Any:
        """Return a networkx graph with all edges."""
        return self.with_edges(np.arange(len(self.edges.u)))

    def spanning_forest(self, weight: Any, ignore_nan: bool, *, maximum: bool) -> NDArray[np.int64]:
        """Return the ids of a forest's edges in the order of networkx: by weight, then by id."""
        column = self.weights(weight)
        u, v, ids = self.edges.u, self.edges.v, np.arange(len(column))
        if column.dtype.kind == "f" and (is_nan := np.isnan(column)).any():
            if not ignore_nan:
                (edge,) = self.edges.tuples(np.flatnonzero(is_nan)[:1])
                message = f"NaN found as an edge weight. Edge {edge}"
                raise ValueError(message)
            ids = np.flatnonzero(~is_nan)
            u, v, column = u[ids], v[ids], column[ids]
        forest = minimum_spanning_forest(
            (u, v, column), num_vertices=len(self), maximum=maximum, progress=False
        )
        step = -1 if maximum else 1  # reverse, sort and reverse again, so ties stay in their order
        chosen = forest.edge_ids[::step]
        by_weight: NDArray[np.int64] = chosen[np.argsort(column[chosen], kind="stable")[::step]]
        return ids[by_weight]

    def weights(self, weight: Any) -> NDArray[Any]:
        """Return the attribute `weight` of the edges as a column, which may contain NaN.

        A NotImplementedError lets networkx call another backend.
        """
        if weight not in self._weights:
            try:
                column = self.edges.weights(weight)
            except GraphError as error:
                message = f"no dtype represents all values of {weight!r} exactly"
                raise NotImplementedError(message) from error
            if column.dtype.kind not in "biuf" or column.dtype.itemsize > 8:
                message = f"weights must be bool, integer or float16/32/64, not {column.dtype}"
                raise NotImplementedError(message)
            self._weights[weight] = column
        return self._weights[weight]
