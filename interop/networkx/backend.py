"""The networkx backend: the functions that networkx calls for `backend="mstflow"`.

networkx converts a graph by `convert_from_nx`, keeps the result in `G.__networkx_cache__`, and
calls the function of the same name in this module. The results equal those of networkx: the same
edges in the same order, with the same attributes. Both break ties alike, because networkx sorts the
edges by weight with a stable sort.

networkx imports this module for every call that may run here, and asks `should_run` before each. So
the module imports no code that is needed only to run a function.
"""

from __future__ import annotations

import sys
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from .info import (
    SPARSE,
    Waiting,
    are_kernels_loaded,
    labels_pay,
    mean_degree,
    typical_degree,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .components import ConvertedNodes
    from .forests import ConvertedGraph

#: The number of edges from which a spanning forest is faster here, conversion included.
FOREST_FROM = 500
#: The number of nodes from which components are. networkx takes 0.2 to 0.5 microseconds a node, and
#: 10 to 30 microseconds more to call a backend than to call its own function.
COMPONENTS_FROM = 500
#: networkx reads a few neighbors of each node of a dense graph. So components of a graph that has
#: fewer nodes than `DENSE_FROM`, and than this many for each neighbor of one, are faster there too.
_NODES_A_NEIGHBOR = 30
DENSE_FROM = 1500
_TREES = ("minimum_spanning_tree", "maximum_spanning_tree")
_SPANNING = (*_TREES, "minimum_spanning_edges", "maximum_spanning_edges")

#: The edges of graphs that networkx solved. A forest gains 2 to 4 microseconds an edge. Loading the
#: code takes 55 milliseconds, of which NumPy takes 43.
forests_wait = Waiting(30_000, 10_000)
#: The nodes of graphs that were not sparse. A search gains 0.1 microseconds a node, and loading it
#: takes 0.2 milliseconds.
search_wait = Waiting(2_000, 2_000)


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
    return (_may_span if name in _SPANNING else _may_label)(adjacency)


def _may_span(adjacency: Mapping[Any, Mapping[Any, Any]]) -> bool | str:
    """Return True, or why networkx is faster at a spanning forest.

    The first nodes tell whether a graph is small, because counting all edges takes time.
    """
    num_edges = len(adjacency) * mean_degree(adjacency) / 2
    rows = islice(adjacency.values(), 2 * FOREST_FROM)
    if num_edges < FOREST_FROM / 2 or sum(map(len, rows)) < 2 * FOREST_FROM:
        return f"networkx is faster below {FOREST_FROM} edges"
    is_loaded = f"{__package__}.forests" in sys.modules
    if not is_loaded and not forests_wait.is_over(int(num_edges)):
        return "loading NumPy would take longer than networkx"
    return True


def _may_label(adjacency: Mapping[Any, Mapping[Any, Any]]) -> bool | str:
    """Return True, or why networkx is faster at components."""
    size = len(adjacency)
    if size < COMPONENTS_FROM:
        return f"networkx is faster below {COMPONENTS_FROM} nodes"
    if are_kernels_loaded():
        return True
    degree = typical_degree(adjacency)
    if size < min(_NODES_A_NEIGHBOR * degree, DENSE_FROM):
        return f"networkx is faster on dense graphs below {DENSE_FROM} nodes"
    if degree >= SPARSE:
        is_loaded = f"{__package__}.components" in sys.modules
        return is_loaded or search_wait.is_over(size) or "loading a search would take longer"
    if not labels_pay(size, degree):
        return "loading NumPy and kernels would take longer than networkx"
    from .labels import ARRAYS_FROM
    from .rows import are_ready

    return are_ready() or size >= ARRAYS_FROM or "networkx is as fast without kernels"


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
        from .forests import ConvertedGraph

        return ConvertedGraph(graph, with_nodes=bool(preserve_node_attrs))
    from .components import ConvertedNodes

    return ConvertedNodes(graph)


def convert_to_nx(result: Any, **_: Any) -> Any:
    """Return a converted graph as a networkx graph; return any other result unchanged.

    Raises
    ------
    NotImplementedError
        If the graph was converted without its edges.
    """
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
