"""The networkx backend: the functions that networkx calls for `backend="mstflow"`.

networkx converts a graph by `convert_from_nx`, keeps the result in `G.__networkx_cache__`, and
calls the function of the same name in this module. The results equal those of networkx: the same
edges in the same order, with the same attributes. Both break ties alike, because networkx sorts the
edges by weight with a stable sort.

networkx imports this module and calls `should_run` even if another backend then runs the function.
So the module imports no code that is needed only to run a function.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import Any

#: The number of edges from which a spanning forest is faster here, conversion included.
FOREST_FROM = 500
#: The same if NumPy must be loaded first.
LOADING_FROM = 30_000


def can_run(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool | str:
    """Return True, or the reason why a function of networkx cannot run here."""
    position = 2 if name.endswith("_tree") else 1
    algorithm = args[position] if len(args) > position else kwargs.get("algorithm", "kruskal")
    if algorithm != "kruskal":
        return "the other algorithms of networkx return edges in another order"
    if _graph(args, kwargs).is_directed():
        return "spanning trees are defined only for undirected graphs"
    return True


def should_run(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool | str:
    """Return True, or the reason why networkx is faster at a call."""
    min_edges = FOREST_FROM if "numpy" in sys.modules else LOADING_FROM
    # Each edge is in two rows. Counting all rows would take time.
    rows = islice(_graph(args, kwargs).adj.values(), 2 * min_edges)
    if sum(map(len, rows)) < 2 * min_edges:
        return f"networkx is faster below {min_edges} edges"
    return True


def convert_from_nx(graph: Any, *, preserve_node_attrs: bool = False, **_: Any) -> Any:
    """Return a networkx graph as columns."""
    from .forests import ConvertedGraph

    return ConvertedGraph(graph, with_nodes=bool(preserve_node_attrs))


def convert_to_nx(result: Any, **_: Any) -> Any:
    """Return a converted graph as a networkx graph; return any other result unchanged."""
    is_converted = getattr(result, "__networkx_backend__", None) == "mstflow"
    return result.to_networkx() if is_converted else result


def _spanning_edges(
    G: Any,  # noqa: N803  # a `ConvertedGraph`
    algorithm: str = "kruskal",
    weight: Any = "weight",
    keys: bool = True,
    data: bool = True,
    ignore_nan: bool = False,
    *,
    maximum: bool,
) -> Iterator[tuple[Any, ...]]:
    """Return an iterator over the edges of a spanning forest, which is solved on first use."""

    def edges() -> Iterator[tuple[Any, ...]]:
        edge_ids = G.spanning_forest(weight, ignore_nan, maximum=maximum)
        yield from G.edges.tuples(edge_ids, keys=keys, data=data)

    G.weights(weight)  # raise NotImplementedError now, so that networkx calls another backend
    return edges()


def _spanning_tree(
    G: Any,  # noqa: N803  # a `ConvertedGraph`
    weight: Any = "weight",
    algorithm: str = "kruskal",
    ignore_nan: bool = False,
    *,
    maximum: bool,
) -> Any:
    """Return a spanning forest as a networkx graph."""
    return G.with_edges(G.spanning_forest(weight, ignore_nan, maximum=maximum))


minimum_spanning_edges = partial(_spanning_edges, maximum=False)
maximum_spanning_edges = partial(_spanning_edges, maximum=True)
minimum_spanning_tree = partial(_spanning_tree, maximum=False)
maximum_spanning_tree = partial(_spanning_tree, maximum=True)


def _graph(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return args[0] if args else kwargs["G"]
