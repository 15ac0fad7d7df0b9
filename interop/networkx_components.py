"""Components of a networkx graph, found by a search that reads few of its neighbors.

The search from a node proceeds in levels. A small level is read by a loop, as in networkx. For a
larger level, all its neighbors are united by one operation on sets. When only a few nodes are
outside, these are read instead: a node belongs to the next level if one of its neighbors is
reached, and that is usually one of the first ones.

Source: Beamer, Asanovic and Patterson, "Direction-Optimizing Breadth-First Search", SC 2012.
"""

from __future__ import annotations

from functools import cached_property
from itertools import compress, filterfalse
from operator import not_
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

#: The largest level that is read by a loop.
_FEW = 6
#: The number of nodes outside, relative to a level, up to which these are read instead.
_FEW_OUTSIDE = 2


class ConvertedNodes:
    """The components of an undirected networkx graph; see `ConvertedGraph`.

    networkx asks for this conversion if a function needs no attributes.
    """

    __networkx_backend__ = "mstflow"

    def __init__(self, graph: Any) -> None:
        self._adjacency = graph._adj
        self._is_multigraph = graph.is_multigraph()

    @cached_property
    def components(self) -> list[set[Any]]:
        """The nodes of each component, in the order of first nodes."""
        return list(components_of(self._adjacency))

    @cached_property
    def is_connected(self) -> bool:
        """Whether the component of the first node has all nodes; no other is searched for."""
        return len(next(components_of(self._adjacency))) == len(self)

    def is_directed(self) -> bool:
        """Return False; networkx does not convert directed graphs for these functions."""
        return False

    def is_multigraph(self) -> bool:
        """Return whether the graph is a multigraph."""
        return bool(self._is_multigraph)

    def __len__(self) -> int:
        return len(self._adjacency)


def components_of(adjacency: Mapping[Any, Mapping[Any, Any]]) -> Iterator[set[Any]]:
    """Yield the nodes of each component, in the order of first nodes."""
    earlier: set[Any] = set()
    size = len(adjacency)
    for first in filterfalse(earlier.__contains__, adjacency):
        component = _component(adjacency, first, earlier, size)
        yield component
        size -= len(component)
        if not size:
            return
        earlier |= component


def _component(adjacency: Any, first: Any, earlier: set[Any], size: int) -> set[Any]:
    """Return the component of a node; all but `size` nodes are in `earlier` components."""
    reached = {first}
    level: Collection[Any] = [first]
    outside: Iterable[Any] = adjacency  # and nodes that were reached since
    while True:
        while 0 < len(level) <= _FEW:
            new: list[Any] = []
            for node in level:
                for other in adjacency[node]:
                    if other not in reached:
                        reached.add(other)
                        new.append(other)
            level = new
        if not level or len(reached) == size:
            return reached
        if size - len(reached) > _FEW_OUTSIDE * len(level):
            level = set().union(*map(adjacency.__getitem__, level)) - reached
        else:
            if earlier and outside is adjacency:
                outside = filterfalse(earlier.__contains__, outside)
            outside = list(filterfalse(reached.__contains__, outside))
            is_apart = list(map(reached.isdisjoint, map(adjacency.__getitem__, outside)))
            level = set(compress(outside, map(not_, is_apart)))
            outside = list(compress(outside, is_apart))
        reached |= level
