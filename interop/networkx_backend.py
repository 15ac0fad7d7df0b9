"""The networkx backend: the functions that networkx calls for `backend="mstflow"`.

networkx converts a graph by `convert_from_nx`, keeps the result in `G.__networkx_cache__`, and
calls the function of the same name in this module. The results equal those of networkx: the same
edges in the same order, with the same attributes. Both break ties alike, because networkx sorts the
edges by weight with a stable sort.
"""

from __future__ import annotations

from functools import cached_property, partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import networkx
import numpy as np

from ..errors import GraphError
from ..graphs.libraries.networkx import Edges, by_address, edges_of
from ..primitives import array_module, resolve_backend
from .networkx_components import (
    LARGE,
    ConvertedNodes,
    is_sparse,
    labels_of,
    sets_of,
    without_collection,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

#: The number of edges from which a spanning forest is faster here, conversion included.
FOREST_FROM = 1_000
#: The same for components, which networkx finds in less time than it takes to call a backend.
COMPONENTS_FROM = 5_000
_TREES = ("minimum_spanning_tree", "maximum_spanning_tree")
_SPANNING = (*_TREES, "minimum_spanning_edges", "maximum_spanning_edges")


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
        self.edges = edges_of(graph)
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
            if self.kind in (networkx.Graph, networkx.MultiGraph) and not parallel:
                made._node.update(zip(nodes, map(dict.copy, data), strict=True))
                made._adj.update(zip(nodes, _rows(self.edges, edge_ids), strict=True))
            else:
                made.add_nodes_from(zip(nodes, data, strict=True))
                made.add_edges_from(self.edges.tuples(edge_ids))
        return made

    def weights(self, weight: Any) -> NDArray[Any]:
        """Return the attribute `weight` of the edges as a column, which may contain NaN.

        Raises
        ------
        NotImplementedError
            If they are not numbers, or no dtype represents all of them exactly.
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


def can_run(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool | str:
    """Return True, or the reason why a function of networkx cannot run here."""
    if name not in _SPANNING:
        return True
    place = 2 if name in _TREES else 1
    algorithm = args[place] if len(args) > place else kwargs.get("algorithm", "kruskal")
    if algorithm != "kruskal":
        return "the other algorithms of networkx return edges in another order"
    if _graph(args, kwargs).is_directed():
        return "spanning trees are defined only for undirected graphs"
    return True


def should_run(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool | str:
    """Return True, or the reason why networkx is faster at a call."""
    adjacency = _graph(args, kwargs)._adj
    least = FOREST_FROM if name in _SPANNING else COMPONENTS_FROM
    rows = islice(adjacency.values(), 2 * least)  # counting all takes time
    if sum(map(len, rows)) < 2 * least:
        return f"networkx is faster below {least} edges"
    if name not in _SPANNING and len(adjacency) < LARGE and is_sparse(adjacency):
        return f"networkx is as fast below {LARGE} nodes if these have few neighbors"
    return True


def convert_from_nx(
    graph: Any,
    *,
    edge_attrs: dict[Any, Any] | None = None,
    preserve_edge_attrs: bool = False,
    preserve_node_attrs: bool = False,
    **_: Any,
) -> ConvertedGraph | ConvertedNodes:
    """Return a networkx graph as columns, or only its components if attributes are not needed."""
    if preserve_edge_attrs or edge_attrs or preserve_node_attrs or graph.is_directed():
        return ConvertedGraph(graph, with_nodes=bool(preserve_node_attrs))
    return ConvertedNodes(graph)


def convert_to_nx(result: Any, **_: Any) -> Any:
    """Return a converted graph as a networkx graph; return any other result unchanged.

    Raises
    ------
    NotImplementedError
        If the graph was converted without its edges.
    """
    if isinstance(result, ConvertedNodes):
        message = "this graph was converted for its components only, without its edges"
        raise NotImplementedError(message)
    if not isinstance(result, ConvertedGraph):
        return result
    return result.with_edges(np.arange(len(result.edges.u)), parallel=result.is_multigraph())


def _spanning_edges(
    G: ConvertedGraph,  # noqa: N803
    algorithm: str = "kruskal",
    weight: Any = "weight",
    keys: bool = True,
    data: bool = True,
    ignore_nan: bool = False,
    *,
    maximum: bool,
) -> Iterator[tuple[Any, ...]]:
    """Yield the edges of a spanning forest, the preferred ones first."""
    edge_ids = _chosen(G, weight, maximum, ignore_nan)
    with without_collection():
        found = list(G.edges.tuples(edge_ids, keys=keys, data=data))
    yield from found


def _spanning_tree(
    G: ConvertedGraph,  # noqa: N803
    weight: Any = "weight",
    algorithm: str = "kruskal",
    ignore_nan: bool = False,
    *,
    maximum: bool,
) -> Any:
    """Return a spanning forest as a networkx graph."""
    return G.with_edges(_chosen(G, weight, maximum, ignore_nan))


minimum_spanning_edges = partial(_spanning_edges, maximum=False)
maximum_spanning_edges = partial(_spanning_edges, maximum=True)
minimum_spanning_tree = partial(_spanning_tree, maximum=False)
maximum_spanning_tree = partial(_spanning_tree, maximum=True)


def connected_components(G: ConvertedGraph | ConvertedNodes) -> Iterator[set[Any]]:  # noqa: N803
    """Return the nodes of each component, in the order of first nodes."""
    return iter(G.sets())


def number_connected_components(G: ConvertedGraph | ConvertedNodes) -> int:  # noqa: N803
    """Return the number of components."""
    return G.number


def is_connected(G: ConvertedGraph | ConvertedNodes) -> bool:  # noqa: N803
    """Return whether there is exactly one component.

    Raises
    ------
    NetworkXPointlessConcept
        If the graph has no nodes.
    """
    if not len(G):
        message = "Connectivity is undefined for the null graph."
        raise networkx.NetworkXPointlessConcept(message)
    return G.is_connected


def _graph(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return args[0] if args else kwargs["G"]


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
