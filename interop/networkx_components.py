"""Components of a networkx graph: by kernels or arrays if the graph is large, else by a search.

The kernels pair the arcs of each edge by the address of the dictionary that both ends share. So
they look up no node. Arrays do the same in several passes, which pays if there are few arcs.

The search from a node proceeds in levels. A small level is read by a loop, as in networkx. For a
larger level, all its neighbors are united by one operation on sets. When only a few nodes are
outside, these are read instead: a node belongs to the next level if one of its neighbors is
reached, and that is usually one of the first ones.

Source: Beamer, Asanovic and Patterson, "Direction-Optimizing Breadth-First Search", SC 2012.
"""

from __future__ import annotations

import ctypes
import gc
import sysconfig
from contextlib import contextmanager
from functools import cache
from itertools import compress, filterfalse, islice, repeat
from operator import not_
from typing import TYPE_CHECKING, Any

import numpy as np

from ..graphs.libraries.networkx import ends_of
from ..primitives import array_module, why_not
from ..runtime.native import Kernels

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from ..primitives.vocabulary import ArrayModule

#: The largest level that is read by a loop.
_FEW = 6
#: The number of nodes outside, relative to a level, up to which the next level is their majority.
_MANY_OUTSIDE = 8
#: The number of nodes outside, relative to a level, up to which these are read instead.
_FEW_OUTSIDE = 2
#: The number of nodes from which kernels are faster than the search, also if degrees are large.
LARGE = 30_000
#: The assumed number of edges of a node if kernels are in the cache; counting them takes time.
_EDGES = 6
#: The mean degree up to which levels are small, as measured on the first nodes.
_SPARSE = 4
_SAMPLE = 200

#: The number of full collections when objects were last moved to the oldest generation.
_moved_after = [-1]

kernels = Kernels(f"{__package__}.row_kernels")


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
        is_large = len(self) >= LARGE and self._shares
        if is_large and self._sets is None and self._labels is None:
            self._labels = _by_kernels(self._adjacency)
            if self._labels is None and is_sparse(self._adjacency):
                u, v = ends_of(self._adjacency)
                self._labels = labels_of(len(self), u, v, array_module("numpy"))
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


def labels_of(size: int, u: NDArray[Any], v: NDArray[Any], ops: ArrayModule) -> NDArray[Any]:
    """Return the number of each node's component, in the order of first nodes."""
    labels, _ = ops.number_roots(ops.join_in_order(u, v, size)[1])
    return np.asarray(labels)


def sets_of(nodes: Collection[Any], labels: NDArray[Any]) -> list[set[Any]]:
    """Return a new set of the nodes of each component.

    The largest component is what the others leave. So its nodes are not grouped.
    """
    if not nodes:
        return []
    sizes = np.bincount(labels)
    largest = int(sizes.argmax())
    sizes[largest] = 0
    others: list[Any] = []
    if len(sizes) > 1:
        is_other = labels != largest
        others = list(compress(nodes, is_other.tobytes()))
        order = np.argsort(labels[is_other], kind="stable")
        others = list(map(others.__getitem__, order.tolist()))
    with without_collection():
        grouped = repeat(iter(others))
        sets = list(map(set, map(islice, grouped, sizes.tolist())))
        sets[largest] = set(nodes)
        sets[largest].difference_update(others)
    return sets


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
    degrees = list(map(len, islice(adjacency.values(), _SAMPLE)))
    return sum(degrees) < _SPARSE * len(degrees)


def _is_small(adjacency: Mapping[Any, Mapping[Any, Any]], limit: int) -> bool:
    """Return whether the component of the first node has at most this number of nodes."""
    reached = dict.fromkeys(islice(adjacency, 1))
    unread = list(reached)
    while unread and len(reached) <= limit:
        row = adjacency[unread.pop()]
        unread += filterfalse(reached.__contains__, row)
        reached.update(row)
    return len(reached) <= limit


@contextmanager
def without_collection() -> Iterator[None]:
    """Pause the garbage collector, which would visit all dictionaries of a graph repeatedly.

    Freezing and unfreezing at the end moves new objects to the oldest generation, so the next
    collection of the youngest one does not visit them. As it also delays the next full collection,
    it is done once before each: otherwise frequent calls would keep all cyclic garbage.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        full = gc.get_stats()[-1]["collections"]
        # Unfreezing would also change what the caller has frozen.
        if full != _moved_after[0] and not gc.get_freeze_count():
            _moved_after[0] = full
            gc.freeze()
            gc.unfreeze()
        gc.enable()


def _by_kernels(adjacency: Any) -> NDArray[Any] | None:
    """Return the labels; None if kernels do not pay, or if rows do not share dictionaries."""
    edges_of_node = _EDGES if kernels.are_cached() else 1
    if why_not("numba") or not kernels.pay_after(edges_of_node * len(adjacency)):
        return None
    if type(adjacency) is not dict or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return None  # a view, or another thread could change a dictionary while a kernel reads it
    rows, none = np.empty(len(adjacency), np.int64), np.empty(0, np.int64)
    graph = (_functions(), id(adjacency), id(dict), rows)
    count = kernels.read_rows(*graph, none.astype(np.int32), none)
    if count < 0:
        return None
    row_of, value = np.empty(count, np.int32), np.empty(count, np.int64)
    if kernels.read_rows(*graph, row_of, value) != count:
        return None  # another thread changed the graph
    bits = count.bit_length()
    seen, edge_at = np.zeros(2**bits, np.int64), np.empty(2**bits, np.int32)
    u, v = np.empty((2, count // 2 + len(rows)), np.int32)  # a row has at most one loop
    count = kernels.pair_arcs(row_of, value, seen, edge_at, 64 - bits, u, v)
    if count < 0:
        return None
    u, v = u[:count], v[:count]
    if (u == v).any() and not _are_loops(adjacency, u[u == v]):
        return None
    return labels_of(len(adjacency), u, v, array_module("numba"))


def _are_loops(adjacency: Any, rows: NDArray[np.int32]) -> bool:
    """Return whether these rows differ, and each has its own node as a neighbor."""
    nodes = list(adjacency)
    return len(set(rows.tolist())) == len(rows) and all(
        node in adjacency[node] for node in map(nodes.__getitem__, rows.tolist())
    )


@cache
def _functions() -> NDArray[np.uint64]:
    """Return the addresses of the functions that the kernels call."""
    names = ("PyGILState_Ensure", "PyGILState_Release", "PyDict_Next", "PyDict_Size")
    pointers = [ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p) for name in names]
    return np.array([pointer.value for pointer in pointers], np.uint64)


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
        if left > _MANY_OUTSIDE * len(level):
            level = set().union(*rows) - reached
            reached |= level
            continue
        if left > _FEW_OUTSIDE * len(level):
            reached.update(*rows)  # the next level need not be known
        unread = filterfalse(earlier.__contains__, outside) if rest is None else rest
        rest = list(filterfalse(reached.__contains__, unread))
        is_apart = list(map(reached.isdisjoint, map(adjacency.__getitem__, rest)))
        level = list(compress(rest, map(not_, is_apart)))
        rest = list(compress(rest, is_apart))
        reached.update(level)
