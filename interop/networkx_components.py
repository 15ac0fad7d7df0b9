"""Components of a networkx graph, by a search that needs no NumPy, or by labels if it is large.

The search from a node proceeds in levels. A small level is read by a loop, as in networkx. For a
larger level, all its neighbors are united by one operation on sets. When only a few nodes are
outside, these are read instead: a node belongs to the next level if one of its neighbors is
reached, and that is usually one of the first ones.

Source: Beamer, Asanovic and Patterson, "Direction-Optimizing Breadth-First Search", SC 2012.
"""

from __future__ import annotations

import sys
from itertools import compress, filterfalse, islice
from operator import not_
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from numpy.typing import NDArray

#: The largest level that is read by a loop.
_FEW = 6
#: The number of nodes outside, relative to a level, up to which the next level is their majority.
_MANY_OUTSIDE = 8
#: The number of nodes outside, relative to a level, up to which these are read instead.
_FEW_OUTSIDE = 2
#: The number of neighbors of a level, relative to the nodes outside, from which most are reached.
_MANY_ARCS = 16
#: The number of nodes from which labels are found faster than by the search.
LARGE = 5_000
#: The mean degree up to which levels are small, as measured on the first nodes.
SPARSE = 4
_SAMPLE = 64


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


#: The nodes of sparse graphs that were searched. Labels gain 1 microsecond a node. Loading takes
#: 75 milliseconds: 45 for NumPy, 12 for modules of mstflow and 18 for kernels.
labels_wait = Waiting(75_000, 30_000)


class ConvertedNodes:
    """The components of an undirected networkx graph; see `ConvertedGraph`.

    networkx asks for this conversion if a function needs no attributes. The methods call as few
    functions as possible, because networkx finds the components of small graphs in microseconds.
    """

    __slots__ = ("_adjacency", "_is_multigraph", "_labels", "_sets", "_shares")
    __networkx_backend__ = "mstflow"

    def __init__(self, graph: Any) -> None:
        self._adjacency: Mapping[Any, Mapping[Any, Any]] = graph._adj
        self._labels: NDArray[Any] | None = None
        self._sets: list[set[Any]] | None = None
        self._is_multigraph = graph.is_multigraph()
        self._shares = graph.edge_attr_dict_factory is dict  # else edges may share one

    @property
    def number(self) -> int:
        """The number of components."""
        labels = self._find_labels()
        return len(self._search()) if labels is None else int(labels.max()) + 1

    def sets(self) -> list[set[Any]]:
        """Return a new set of the nodes of each component, in the order of first nodes."""
        labels = self._find_labels()
        if labels is None:
            return list(map(set.copy, self._search()))
        from .networkx_labels import sets_of

        return sets_of(self._adjacency, labels)

    @property
    def is_connected(self) -> bool:
        """Whether there is one component; others are not searched for."""
        if self._sets is None and self._labels is None:
            if len(self) >= LARGE and _is_small(self._adjacency, LARGE // 8):
                return False
            if self._find_labels() is None:
                return len(next(components_of(self._adjacency))) == len(self)
        return self.number == 1

    def _find_labels(self) -> NDArray[Any] | None:
        """Return the labels of a large graph; None if a search is faster, or has been made."""
        is_new = self._sets is None and self._labels is None
        if is_new and len(self) >= LARGE and self._shares and labels_wait.is_over(len(self)):
            from .networkx_labels import labels_of_rows

            self._labels = labels_of_rows(self._adjacency, is_sparse=is_sparse(self._adjacency))
        return self._labels

    def _search(self) -> list[set[Any]]:
        if self._sets is None:
            self._sets = list(components_of(self._adjacency))
        return self._sets

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
    size = len(adjacency)
    few = size if is_sparse(adjacency) else _FEW
    outside: Collection[Any] = adjacency
    while True:
        earlier: set[Any] = set()
        for first in filterfalse(earlier.__contains__, outside):
            component, rest = _component(adjacency, first, earlier, outside, size, few)
            yield component
            size -= len(component)
            if not size:
                return
            if rest is not None:
                outside = list(filterfalse(component.__contains__, rest))
                break
            earlier |= component
        else:
            return


def is_sparse(adjacency: Mapping[Any, Mapping[Any, Any]]) -> bool:
    """Return whether the first nodes have few neighbors."""
    return mean_degree(adjacency) < SPARSE


def mean_degree(adjacency: Mapping[Any, Mapping[Any, Any]]) -> float:
    """Return the mean number of neighbors of the first nodes."""
    degrees = list(map(len, islice(adjacency.values(), _SAMPLE)))
    return sum(degrees) / (len(degrees) or 1)


def _is_small(adjacency: Mapping[Any, Mapping[Any, Any]], limit: int) -> bool:
    """Return whether the component of the first node has at most this number of nodes."""
    reached = dict.fromkeys(islice(adjacency, 1))
    unread = list(reached)
    while unread and len(reached) <= limit:
        row = adjacency[unread.pop()]
        unread += filterfalse(reached.__contains__, row)
        reached.update(row)
    return len(reached) <= limit


def _component(
    adjacency: Any, first: Any, earlier: set[Any], outside: Iterable[Any], size: int, few: int
) -> tuple[set[Any], list[Any] | None]:
    """Return the component of a node, and the nodes that were read from outside, if any.

    `outside` has the `size` nodes that are in no component yet, and those of `earlier` components.
    A loop reads levels of up to `few` nodes.
    """
    reached = {first}
    level: Collection[Any] = [first]
    rest: list[Any] | None = None
    while True:
        while 0 < len(level) <= few:
            new: list[Any] = []
            for node in level:
                for other in adjacency[node]:
                    if other not in reached:
                        reached.add(other)
                        new.append(other)
            level = new
        left = size - len(reached)
        if not level or not left:
            return reached, rest
        rows = map(adjacency.__getitem__, level)
        if len(level) * len(adjacency[next(iter(level))]) > _MANY_ARCS * left:
            for row in rows:  # a part of the level may reach all nodes
                reached.update(row)
                if len(reached) == size:
                    return reached, rest
        elif left > _MANY_OUTSIDE * len(level):
            level = set().union(*rows) - reached
            reached |= level
            continue
        elif left > _FEW_OUTSIDE * len(level):
            reached.update(*rows)  # the next level need not be known
        unread = filterfalse(earlier.__contains__, outside) if rest is None else rest
        rest = list(filterfalse(reached.__contains__, unread))
        is_apart = list(map(reached.isdisjoint, map(adjacency.__getitem__, rest)))
        level = list(compress(rest, map(not_, is_apart)))
        rest = list(compress(rest, is_apart))
        reached.update(level)
