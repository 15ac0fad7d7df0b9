"""Components of a networkx graph, found by a search that reads few of its neighbors.

The search from a node proceeds in levels. A small level is read by a loop, as in networkx. For a
larger level, all its neighbors are united by one operation on sets. When only a few nodes are
outside, these are read instead: a node belongs to the next level if one of its neighbors is
reached, and that is usually one of the first ones.

Source: Beamer, Asanovic and Patterson, "Direction-Optimizing Breadth-First Search", SC 2012.
"""

from __future__ import annotations

from itertools import compress
from operator import not_
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

#: The largest level that is read by a loop.
_FEW = 6
#: The number of nodes outside, relative to a level, up to which these are read instead.
_FEW_OUTSIDE = 1


class ConvertedNodes:
    """The components of an undirected networkx graph; see `ConvertedGraph`.

    networkx asks for this conversion if a function needs no attributes.
    """

    __networkx_backend__ = "mstflow"

    def __init__(self, graph: Any) -> None:
        self.components = list(components_of(graph._adj))
        self._is_multigraph = graph.is_multigraph()

    def is_directed(self) -> bool:
        """Return False; networkx does not convert directed graphs for these functions."""
        return False

    def is_multigraph(self) -> bool:
        """Return whether the graph is a multigraph."""
        return bool(self._is_multigraph)

    def __len__(self) -> int:
        return sum(map(len, self.components))


def components_of(adjacency: Mapping[Any, Mapping[Any, Any]]) -> Iterator[set[Any]]:
    """Yield the nodes of each component, in the order of first nodes."""
    outside = set(adjacency)
    for first in filter(outside.__contains__, adjacency):
        yield _component(adjacency, first, outside)


def _component(adjacency: Any, first: Any, outside: set[Any]) -> set[Any]:
    """Return the component of a node, and remove its nodes from `outside`."""
    reached: set[Any] = {first}
    level: Collection[Any] = [first]
    while level and len(reached) < len(outside):
        if len(level) <= _FEW:
            new: list[Any] = []
            for node in level:
                for other in adjacency[node]:
                    if other not in reached:
                        reached.add(other)
                        new.append(other)
            level = new
            continue
        if len(outside) - len(reached) > _FEW_OUTSIDE * len(level):
            level = set().union(*map(adjacency.__getitem__, level)) - reached
        else:
            nodes = outside - reached
            is_apart = map(reached.isdisjoint, map(adjacency.__getitem__, nodes))
            level = set(compress(nodes, map(not_, is_apart)))
        reached |= level
    outside -= reached
    return reached
