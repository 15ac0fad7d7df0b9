"""Components of a networkx graph, found from few of its neighbors.

Reading a neighbor from the dictionaries of networkx takes longer than joining it. So each node is
joined to its first two neighbors. After that, nearly all nodes of most graphs are in one component.
All neighbors are read only for the nodes outside it: an edge that leaves this component is also
listed at its end outside.

Source: Sutton, Ben-Nun and Barak, "Optimizing Parallel Graph Connectivity Computation via Subgraph
Sampling", IPDPS 2018.
"""

from __future__ import annotations

from itertools import chain, islice, repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from ..graphs.libraries.networkx import numbering, rows_of
from ..primitives import array_module, resolve_backend

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

#: The number of neighbors of each node that are read first.
_FIRST = 2


class ConvertedNodes:
    """The nodes of an undirected networkx graph and their components; see `ConvertedGraph`.

    networkx asks for this conversion if a function needs no attributes.
    """

    __networkx_backend__ = "mstflow"

    def __init__(self, graph: Any) -> None:
        self.nodes, rows = rows_of(graph)
        self.labels = _labels(self.nodes, rows)
        self._is_multigraph = graph.is_multigraph()

    def is_directed(self) -> bool:
        """Return False; networkx does not convert directed graphs for these functions."""
        return False

    def is_multigraph(self) -> bool:
        """Return whether the graph is a multigraph."""
        return bool(self._is_multigraph)

    def __len__(self) -> int:
        return len(self.nodes)


def join(u: NDArray[Any], v: NDArray[Any], num_vertices: int) -> NDArray[Any]:
    """Return the component of each vertex; components are numbered by their first vertices."""
    ops = array_module(resolve_backend("auto", len(u)))
    labels: NDArray[Any] = ops.number_roots(ops.join_in_order(u, v, num_vertices)[1])[0]
    return labels


def reaches(adjacency: Mapping[Any, Mapping[Any, Any]], count: int) -> bool:
    """Return whether the component of the first node has at least `count` nodes."""
    queue = list(islice(adjacency, 1))
    reached = set(queue)
    for node in queue:
        new = adjacency[node].keys() - reached
        reached |= new
        queue.extend(new)
        if len(reached) >= count:
            return True
    return False


def _labels(nodes: list[Any], rows: list[dict[Any, Any]]) -> NDArray[Any]:
    """Return the component of each node; `rows` has the neighbors of each node."""
    position, size = numbering(nodes), len(nodes)
    degree = np.fromiter(map(len, rows), np.int64, size)
    count = np.minimum(degree, _FIRST)
    first = chain.from_iterable(map(islice, rows, repeat(_FIRST)))
    u, v = np.repeat(np.arange(size), count), position(first, int(count.sum()))
    labels = join(u, v, size)
    largest = np.bincount(labels, minlength=1).argmax()
    here = np.flatnonzero((labels != largest) & (degree > _FIRST))
    if not len(here):
        return labels
    ends = chain.from_iterable(map(rows.__getitem__, here.tolist()))
    u, v = np.repeat(here, degree[here]), position(ends, int(degree[here].sum()))
    joined: NDArray[Any] = join(labels[u], labels[v], int(labels.max()) + 1)[labels]
    return joined
