"""The description of the backend; it imports nothing, because each import of networkx reads it."""

FUNCTIONS = (
    "minimum_spanning_edges",
    "maximum_spanning_edges",
    "minimum_spanning_tree",
    "maximum_spanning_tree",
)
#: Text that networkx adds to the documentation of each function.
_NOTE = "Returns the edges that networkx returns with the algorithm 'kruskal', in its order."


def info() -> dict[str, object]:
    """Return the description of the backend, for the entry point `networkx.backend_info`."""
    return {
        "backend_name": "mstflow",
        "project": "mstflow",
        "package": "mstflow",
        "short_summary": "Spanning forests of large graphs, on arrays.",
        "functions": {name: {"additional_docs": _NOTE} for name in FUNCTIONS},
    }
