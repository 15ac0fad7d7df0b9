"""The networkx backend: the functions that networkx calls for `backend="mstflow"`.

networkx converts a graph by `convert_from_nx`, keeps the result in `G.__networkx_cache__`, and
calls the function of the same name in this module. The results equal those of networkx: the same
edges in the same order, with the same attributes. Both break ties alike, because networkx sorts the
edges by weight with a stable sort.
"""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import networkx
import numpy as np

from ..errors import GraphError
from ..forest.components import component_labels
from ..graphs.edge_list import EdgeList
from ..graphs.libraries.networkx import Edges, as_column, edges_of
from ..primitives import Backend, resolve_backend
from ..solve import minimum_spanning_forest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

#: The number of edges from which a spanning forest is faster here. With 1,000 edges, a whole call
#: takes 1.7 ms, and 2.1 ms in networkx; with 100,000 edges 107 and 473 ms.
FOREST_FROM = 1_000
#: The number of edges from which components of a graph that is already converted are faster here.
#: With 10,000 edges, they take 2.3 ms, and 1.1 ms in networkx; with 100,000 edges 11 and 36 ms.
COMPONENTS_FROM = 50_000
_TREES = ("minimum_spanning_tree", "maximum_spanning_tree")
_SPANNING = (*_TREES, "minimum_spanning_edges", "maximum_spanning_edges")


class ConvertedGraph:
    """A networkx graph as columns; networkx caches it until the graph changes.

    Parameters
    ----------
    graph : networkx graph
    with_data : bool
        Keep the attributes and keys of the edges.
    with_nodes : bool
        Keep the attributes of the nodes and of the graph.
    """

    __networkx_backend__ = "mstflow"

    def __init__(self, graph: Any, *, with_data: bool, with_nodes: bool) -> None:
        self.kind = graph.__class__
        self.edges = edges_of(graph, with_data=with_data)
        self.attributes = dict(graph.graph) if with_nodes else {}
        self.node_data = list(dict(graph.nodes(data=True)).values()) if with_nodes else None
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
        made = self.kind()
        made.graph.update(self.attributes)
        nodes, data = self.edges.nodes, self.node_data or [{}] * len(self)
        with _without_collection():
            if self.kind is networkx.Graph:
                made._node.update(zip(nodes, map(dict.copy, data), strict=True))
                made._adj.update(zip(nodes, _rows(self.edges, edge_ids), strict=True))
            else:
                made.add_nodes_from(zip(nodes, data, strict=True))
                made.add_edges_from(self.edges.tuples(edge_ids, data=bool(self.edges.data)))
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
                column = as_column(self.edges.values(weight))
            except GraphError as error:
                raise NotImplementedError(str(error)) from error
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
    graph = _graph(args, kwargs)
    cache = getattr(graph, "__networkx_cache__", None) or {}
    if name not in _SPANNING and not cache.get("backends", {}).get("mstflow"):
        return "networkx finds components in less time than a conversion takes"
    least = FOREST_FROM if name in _SPANNING else COMPONENTS_FROM
    if sum(len(row) for _, row in graph.adjacency()) < 2 * least:
        return f"networkx is faster below {least} edges"
    return True


def convert_from_nx(
    graph: Any,
    *,
    edge_attrs: dict[Any, Any] | None = None,
    preserve_edge_attrs: bool = False,
    preserve_node_attrs: bool = False,
    **_: Any,
) -> ConvertedGraph:
    """Return a networkx graph as columns."""
    with_data = bool(preserve_edge_attrs or edge_attrs)
    return ConvertedGraph(graph, with_data=with_data, with_nodes=bool(preserve_node_attrs))


def convert_to_nx(result: Any, **_: Any) -> Any:
    """Return a converted graph as a networkx graph; return any other result unchanged."""
    if not isinstance(result, ConvertedGraph):
        return result
    return result.with_edges(np.arange(len(result.edges.u)))


def minimum_spanning_edges(
    G: ConvertedGraph,  # noqa: N803
    algorithm: str = "kruskal",
    weight: Any = "weight",
    keys: bool = True,
    data: bool = True,
    ignore_nan: bool = False,
) -> Iterator[tuple[Any, ...]]:
    """Yield the edges of a minimum spanning forest, lightest first."""
    yield from G.edges.tuples(_chosen(G, weight, False, ignore_nan), keys=keys, data=data)


def maximum_spanning_edges(
    G: ConvertedGraph,  # noqa: N803
    algorithm: str = "kruskal",
    weight: Any = "weight",
    keys: bool = True,
    data: bool = True,
    ignore_nan: bool = False,
) -> Iterator[tuple[Any, ...]]:
    """Yield the edges of a maximum spanning forest, heaviest first."""
    yield from G.edges.tuples(_chosen(G, weight, True, ignore_nan), keys=keys, data=data)


def minimum_spanning_tree(
    G: ConvertedGraph,  # noqa: N803
    weight: Any = "weight",
    algorithm: str = "kruskal",
    ignore_nan: bool = False,
) -> Any:
    """Return a minimum spanning forest as a networkx graph."""
    return G.with_edges(_chosen(G, weight, False, ignore_nan))


def maximum_spanning_tree(
    G: ConvertedGraph,  # noqa: N803
    weight: Any = "weight",
    algorithm: str = "kruskal",
    ignore_nan: bool = False,
) -> Any:
    """Return a maximum spanning forest as a networkx graph."""
    return G.with_edges(_chosen(G, weight, True, ignore_nan))


def connected_components(G: ConvertedGraph) -> Iterator[set[Any]]:  # noqa: N803
    """Yield the nodes of each component, in the order of first nodes."""
    labels = component_labels(G.edges.u, G.edges.v, len(G), _backend(G.edges))
    order = np.argsort(labels, kind="stable")
    ends = np.cumsum(np.bincount(labels)).tolist() if len(G) else []
    nodes = [G.edges.nodes[place] for place in order.tolist()]
    start = 0
    for end in ends:
        yield set(nodes[start:end])
        start = end


def number_connected_components(G: ConvertedGraph) -> int:  # noqa: N803
    """Return the number of components."""
    edges = EdgeList(G.edges.u, G.edges.v, num_vertices=len(G))
    return minimum_spanning_forest(edges, progress=False).num_components


def is_connected(G: ConvertedGraph) -> bool:  # noqa: N803
    """Return whether there is exactly one component.

    Raises
    ------
    NetworkXPointlessConcept
        If the graph has no nodes.
    """
    if not len(G):
        message = "Connectivity is undefined for the null graph."
        raise networkx.NetworkXPointlessConcept(message)
    return number_connected_components(G) == 1


def _graph(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return args[0] if args else kwargs["G"]


def _backend(edges: Edges) -> Backend:
    return Backend(resolve_backend("auto", len(edges.u)))


def _chosen(graph: ConvertedGraph, weight: Any, maximum: bool, ignore_nan: bool) -> Any:
    """Return the ids of the forest's edges in the order of networkx, which is (weight, edge id).

    Raises
    ------
    ValueError
        If a weight is NaN and `ignore_nan` is False. Names the edge as networkx does.
    """
    edges, column = graph.edges, graph.weights(weight)
    ids = np.arange(len(column))
    if column.dtype.kind == "f" and (is_nan := np.isnan(column)).any():
        if not ignore_nan:
            (edge,) = edges.tuples(np.flatnonzero(is_nan)[:1])
            message = f"NaN found as an edge weight. Edge {edge}"
            raise ValueError(message)
        ids = np.flatnonzero(~is_nan)
    listed = EdgeList(edges.u[ids], edges.v[ids], column[ids], num_vertices=len(graph))
    forest = minimum_spanning_forest(listed, maximum=maximum, progress=False)
    if maximum:  # a stable sort of the reversed column keeps ties in order when read backwards
        return ids[forest.edge_ids[::-1][np.argsort(forest.weight[::-1], kind="stable")[::-1]]]
    return ids[forest.edge_ids[np.argsort(forest.weight, kind="stable")]]


def _rows(edges: Edges, edge_ids: NDArray[np.int64]) -> list[dict[Any, dict[Any, Any]]]:
    """Return the neighbors of each node in a `networkx.Graph` of these edges, with attributes."""
    rows: list[dict[Any, dict[Any, Any]]] = [{} for _ in edges.nodes]
    nodes, ids = edges.nodes, edge_ids.tolist()
    data: list[Any] = [edges.data[edge] for edge in ids] if edges.data else [{}] * len(ids)
    u, v = edges.u[edge_ids].tolist(), edges.v[edge_ids].tolist()
    for a, b, attributes in zip(u, v, map(dict.copy, data), strict=True):
        rows[a][nodes[b]] = rows[b][nodes[a]] = attributes
    return rows


@contextmanager
def _without_collection() -> Iterator[None]:
    """Pause the garbage collector, which would visit all dictionaries of a graph repeatedly."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
