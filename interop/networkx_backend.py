"""The networkx backend: the functions that networkx calls for `backend="mstflow"`.

networkx converts a graph by `convert_from_nx`, keeps the result in `G.__networkx_cache__`, and
calls the function of the same name in this module. The results equal those of networkx: the same
edges in the same order, with the same attributes. Both break ties alike, because networkx sorts the
edges by weight with a stable sort.

networkx imports this module for every call that may run here, so it does not import NumPy.
"""

from __future__ import annotations

import sys
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from .networkx_components import LARGE, SPARSE, ConvertedNodes, Waiting, labels_wait, mean_degree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .networkx_forests import ConvertedGraph

#: The number of edges from which a spanning forest is faster here, conversion included.
FOREST_FROM = 500
#: The same for components, which networkx finds in less time than it takes to call a backend.
COMPONENTS_FROM = 5_000
_TREES = ("minimum_spanning_tree", "maximum_spanning_tree")
_SPANNING = (*_TREES, "minimum_spanning_edges", "maximum_spanning_edges")

#: The edges of graphs that networkx solved. A forest gains 2 to 4 microseconds an edge. Loading the
#: code takes 55 milliseconds, of which NumPy takes 43.
forests_wait = Waiting(30_000, 10_000)


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
    """Return True, or the reason why networkx is faster at a call.

    The first nodes tell whether a graph is small, because counting all edges takes time.
    """
    adjacency = _graph(args, kwargs)._adj
    degree = mean_degree(adjacency)
    num_edges = len(adjacency) * degree / 2
    least = FOREST_FROM if name in _SPANNING else COMPONENTS_FROM
    rows = islice(adjacency.values(), 2 * least)
    if num_edges < least / 2 or sum(map(len, rows)) < 2 * least:
        return f"networkx is faster below {least} edges"
    if name in _SPANNING:
        is_loaded = f"{__package__}.networkx_forests" in sys.modules
        if not is_loaded and not forests_wait.is_over(int(num_edges)):
            return "loading NumPy would take longer than networkx"
    elif degree < SPARSE:
        if len(adjacency) < LARGE:
            return f"networkx is as fast below {LARGE} nodes if these have few neighbors"
        if not labels_wait.is_over(len(adjacency)):
            return "loading NumPy and kernels would take longer than networkx"
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
        from .networkx_forests import ConvertedGraph

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
    is_converted = getattr(result, "__networkx_backend__", None) == "mstflow"
    return result.to_networkx() if is_converted else result


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
    """Return the edges of a spanning forest, the preferred ones first."""
    return G.spanning_edges(weight, maximum, ignore_nan, keys=keys, data=data)


def _spanning_tree(
    G: ConvertedGraph,  # noqa: N803
    weight: Any = "weight",
    algorithm: str = "kruskal",
    ignore_nan: bool = False,
    *,
    maximum: bool,
) -> Any:
    """Return a spanning forest as a networkx graph."""
    return G.spanning_tree(weight, maximum, ignore_nan)


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
        from networkx import NetworkXPointlessConcept

        message = "Connectivity is undefined for the null graph."
        raise NetworkXPointlessConcept(message)
    return G.is_connected


def _graph(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return args[0] if args else kwargs["G"]
