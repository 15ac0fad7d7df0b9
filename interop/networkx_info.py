"""The description of the backend. Every import of networkx reads it, so it imports nothing."""

from __future__ import annotations

from typing import Any

_SAME_TREE = "Returns the edges that networkx returns with the algorithm 'kruskal', in its order."
_SAME_NODES = "Returns what networkx returns, and keeps the components for later calls on a graph."
#: The functions of the backend, and what its documentation adds to that of networkx.
FUNCTIONS = {
    "minimum_spanning_edges": _SAME_TREE,
    "maximum_spanning_edges": _SAME_TREE,
    "minimum_spanning_tree": _SAME_TREE,
    "maximum_spanning_tree": _SAME_TREE,
    "connected_components": _SAME_NODES,
    "number_connected_components": _SAME_NODES,
    "is_connected": _SAME_NODES,
}


def info() -> dict[str, Any]:
    """Return the description of the backend, for the entry point `networkx.backend_info`."""
    return {
        "backend_name": "mstflow",
        "project": "mstflow",
        "package": "mstflow",
        "short_summary": "Spanning forests and components of large graphs, on arrays.",
        "functions": {name: {"additional_docs": text} for name, text in FUNCTIONS.items()},
    }
