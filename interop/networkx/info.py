"""The description of the backend, which every import of networkx reads: it imports nothing."""

_SAME_TREE = "Returns the edges that networkx returns with the algorithm 'kruskal', in its order."
#: The functions of the backend, and what its documentation adds to that of networkx.
FUNCTIONS = {
    "minimum_spanning_edges": _SAME_TREE,
    "maximum_spanning_edges": _SAME_TREE,
    "minimum_spanning_tree": _SAME_TREE,
    "maximum_spanning_tree": _SAME_TREE,
}


def info() -> dict[str, object]:
    """Return the description of the backend, for the entry point `networkx.backend_info`."""
    return {
        "backend_name": "mstflow",
        "project": "mstflow",
        "package": "mstflow",
        "short_summary": "Spanning forests of large graphs, on arrays.",
        "functions": {name: {"additional_docs": text} for name, text in FUNCTIONS.items()},
    }
