"""The description of the backend, and what decides whether loading its code pays.

Every import of networkx reads this module, so it imports only modules that are loaded already.
"""

from __future__ import annotations

import sys
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

#: The typical degree below which a search in levels is no faster than that of networkx. It includes
#: grids of two and three dimensions, whose levels are small.
SPARSE = 6
#: The degree from which kernels unite each node with its first neighbors, and read few others.
DENSE = 12
#: The least number of words for each node that kernels need for this.
SPACE = 13
#: The number of nodes from which labels are faster than any search, and compiling kernels may pay.
LARGE = 5_000
#: The number of nodes from which the labels of sparse graphs gain more, because the graph does not
#: fit in the caches of the processor.
_UNCACHED = 50_000
_SAMPLE = 32
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


class Waiting:
    """The total size of the graphs for which code was not loaded yet.

    Loading pays as soon as the graphs together would have gained the time that it takes.

    Parameters
    ----------
    pays_from : int
        The total size from which loading the code and NumPy pays.
    with_numpy : int
        The same if NumPy is loaded.
    """

    def __init__(self, pays_from: int, with_numpy: int) -> None:
        self._pays_from, self._with_numpy = pays_from, with_numpy
        self._total = 0

    def is_over(self, size: int) -> bool:
        """Return whether loading pays; call it for each graph."""
        self._total += size
        return self._total >= (self._with_numpy if "numpy" in sys.modules else self._pays_from)


#: The nodes of graphs that were searched, a quarter of those that are sparse and fit in caches.
#: Labels gain 1 microsecond a node, or a quarter of it. Loading takes 75 milliseconds: 45 for
#: NumPy, 12 for modules of mstflow and 18 for kernels.
labels_wait = Waiting(75_000, 30_000)


def are_kernels_loaded() -> bool:
    """Return whether this process uses the kernels that read graphs of networkx."""
    rows = sys.modules.get(f"{__package__}.rows")
    return rows is not None and rows.kernels.are_loaded()


def labels_pay(size: int, degree: int) -> bool:
    """Return whether loading the code for labels pays; call it for each graph."""
    gains_less = degree < SPARSE and size < _UNCACHED
    return labels_wait.is_over(size // 4 if gains_less else size)


def mean_degree(adjacency: Mapping[Any, Mapping[Any, Any]]) -> float:
    """Return the mean number of neighbors of the first nodes."""
    degrees = _first_degrees(adjacency)
    return sum(degrees) / (len(degrees) or 1)


def typical_degree(adjacency: Mapping[Any, Mapping[Any, Any]]) -> int:
    """Return the median number of neighbors of the first nodes, which a few hubs do not change."""
    degrees = _first_degrees(adjacency)
    return degrees[len(degrees) // 2] if degrees else 0


def _first_degrees(adjacency: Mapping[Any, Mapping[Any, Any]]) -> list[int]:
    return sorted(map(len, islice(adjacency.values(), _SAMPLE)))
