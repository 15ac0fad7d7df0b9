"""Components of a networkx graph, by a search that needs no NumPy, or by labels if it is large.

The search from a node proceeds in levels. A small level is read by a loop, as in networkx. For a
larger level, all its neighbors are united by one operation on sets. When only a few nodes are
outside, these are read instead: a node belongs to the next level if one of its neighbors is
reached, and that is usually one of the first ones.

Source: Beamer, Asanovic and Patterson, "Direction-Optimizing Breadth-First Search", SC 2012.
"""

from __future__ import annotations

from itertools import compress, filterfalse, islice
from operator import not_
from typing import TYPE_CHECKING, Any

from .info import SPARSE, are_kernels_loaded, labels_pay, typical_degree

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
#: The number of components after which all are expected to be small if these have few nodes.
_FIRST = 2
#: The number of nodes from which labels are found faster than by the search. If a graph is sparse,
#: half as many.
LABELS_FROM = 500


class ConvertedNodes:
    """The components of an undirected networkx graph; see `ConvertedGraph`.

    networkx asks for this conversion if a function needs no attributes. The methods call as few
    functions as possible, because networkx finds the components of small graphs in microseconds.
    """

    __slots__ = (
        "_adjacency",
        "_degree",
        "_is_multigraph",
        "_labels",
        "_number",
        "_sets",
        "_shares",
    )
    __networkx_backend__ = "mstflow"

    def __init__(self, graph: Any) -> None:
        self._adjacency: Mapping[Any, Mapping[Any, Any]] = graph._adj
        self._degree = typical_degree(graph._adj)
        self._labels: NDArray[Any] | None = None
        self._number = 0
        self._sets: list[set[Any]] | None = None
        self._is_multigraph = graph.is_multigraph()
        self._shares = graph.edge_attr_dict_factory is dict  # else edges may share one

    @property
    def number(self) -> int:
        """The number of components."""
        return len(self._search()) if self._find_labels() is None else self._number

    def sets(self) -> list[set[Any]]:
        """Return a new set of the nodes of each component, in the order of first nodes."""
        labels = self._find_labels()
        if labels is None:
            return list(map(set.copy, self._search()))
        from .labels import sets_of

        return sets_of(self._adjacency, labels)

    @property
    def is_connected(self) -> bool:
        """Whether there is one component; others are not searched for."""
        if self._sets is None and self._labels is None:
            few = min(16, len(self) // 4) + len(self) // 64
            if len(self) >= LABELS_FROM and _is_small(self._adjacency, few):
                return False
            if self._find_labels() is None:
                return len(next(components_of(self._adjacency, self._degree))) == len(self)
        return self.number == 1

    def _find_labels(self) -> NDArray[Any] | None:
        """Return the labels of the nodes; None if a search is faster, or has been made."""
        size, is_new = len(self), self._sets is None and self._labels is None
        least = LABELS_FROM // 2 if self._degree < SPARSE else LABELS_FROM
        if not is_new or size < least or not self._shares:
            return self._labels
        if are_kernels_loaded() or labels_pay(size, self._degree):
            from .labels import labels_of_rows

            self._labels, self._number = labels_of_rows(self._adjacency, self._degree)
        return self._labels

    def _search(self) -> list[set[Any]]:
        if self._sets is None:
            self._sets = list(components_of(self._adjacency, self._degree))
        return self._sets

    def to_networkx(self) -> Any:
        """Raise an error, because the edges were not converted.

        Raises
        ------
        NotImplementedError
            Always.
        """
        message = "this graph was converted for its components only, without its edges"
        raise NotImplementedError(message)

    def is_directed(self) -> bool:
        """Return False; networkx does not convert directed graphs for these functions."""
        return False

    def is_multigraph(self) -> bool:
        """Return whether the graph is a multigraph."""
        return bool(self._is_multigraph)

    def __len__(self) -> int:
        return len(self._adjacency)


def components_of(adjacency: Mapping[Any, Mapping[Any, Any]], degree: int) -> Iterator[set[Any]]:
    """Yield the nodes of each component, in the order of first nodes.

    `degree` is the typical degree.
    """
    size = len(adjacency)
    few = size if degree < SPARSE else _FEW
    outside: Collection[Any] = adjacency
    count = 0
    while size:
        earlier: set[Any] = set()
        for first in filterfalse(earlier.__contains__, outside):
            component, rest = _component(adjacency, first, earlier, outside, size, few)
            yield component
            count += 1
            size -= len(component)
            if rest is None:
                earlier |= component
            else:
                earlier, outside = set(), list(filterfalse(component.__contains__, rest))
            if count == _FIRST and size > len(adjacency) / 2:
                yield from _small_components(adjacency, outside, earlier)
                return
            if rest is not None or not size:
                break
        else:
            return


def _small_components(
    adjacency: Mapping[Any, Mapping[Any, Any]], outside: Collection[Any], seen: set[Any]
) -> Iterator[set[Any]]:
    """Yield the components of the nodes outside, by the loop that is fastest if these are small."""
    for first in outside:
        if first not in seen:
            seen.add(first)
            reached = [first]
            for node in reached:
                for other in adjacency[node]:
                    if other not in seen:
                        seen.add(other)
                        reached.append(other)
            yield set(reached)


def _is_small(adjacency: Mapping[Any, Mapping[Any, Any]], limit: int) -> bool:
    """Return whether the component of the first node has at most this number of nodes."""
    reached = dict.fromkeys(islice(adjacency, 1))
    unread = list(reached)
    while unread and len(reached) <= limit:
        row = adjacency[unread.pop()]
        if len(row) > limit:
            return False
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
    reached = {first}.union(adjacency[first])
    level: Collection[Any] = [node for node in adjacency[first] if node != first]
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
