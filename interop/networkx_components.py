"""Components of a networkx graph: by kernels if the graph is large, else by a search.

The kernels pair the arcs of each edge by the address of the dictionary that both ends share. So
they look up no node.

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
from itertools import compress, filterfalse, islice, pairwise
from operator import not_
from typing import TYPE_CHECKING, Any

import numpy as np

from ..primitives import array_module, why_not
from ..runtime.native import Kernels

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from ..primitives.vocabulary import ArrayModule

#: The largest level that is read by a loop.
_FEW = 6
#: The number of nodes outside, relative to a level, up to which the next level is their majority.
_MANY_OUTSIDE = 8
#: The number of nodes outside, relative to a level, up to which these are read instead.
_FEW_OUTSIDE = 2
#: The number of nodes from which kernels are faster than the search, also if degrees are large.
_LARGE = 30_000
#: The assumed number of edges of a node, because counting them takes time.
_EDGES = 4
#: The number of rows that are read at a time, so that they stay in a cache.
_BLOCK = 4096

kernels = Kernels(f"{__package__}.row_kernels")


class ConvertedNodes:
    """The components of an undirected networkx graph; see `ConvertedGraph`.

    networkx asks for this conversion if a function needs no attributes. The methods call as few
    functions as possible, because networkx finds the components of small graphs in microseconds.
    """

    __slots__ = ("_adjacency", "_components", "_is_multigraph", "_shares")
    __networkx_backend__ = "mstflow"

    def __init__(self, graph: Any) -> None:
        self._adjacency: Mapping[Any, Mapping[Any, Any]] = graph._adj
        self._components: list[set[Any] | None] | None = None
        self._is_multigraph = graph.is_multigraph()
        self._shares = graph.edge_attr_dict_factory is dict  # else edges may share one

    @property
    def nodes(self) -> Collection[Any]:
        """The nodes in the order of networkx."""
        return self._adjacency

    @property
    def components(self) -> list[set[Any] | None]:
        """The components; see `grouped`."""
        if self._components is None:
            is_large = len(self._adjacency) >= _LARGE
            found = _by_kernels(self._adjacency) if is_large and self._shares else None
            self._components = list(components_of(self._adjacency)) if found is None else found
        return self._components

    @property
    def is_connected(self) -> bool:
        """Whether the component of the first node has all nodes; no other is searched for."""
        if self._components is not None:
            return len(self._components) == 1
        return len(next(components_of(self._adjacency))) == len(self)

    def is_directed(self) -> bool:
        """Return False; networkx does not convert directed graphs for these functions."""
        return False

    def is_multigraph(self) -> bool:
        """Return whether the graph is a multigraph."""
        return bool(self._is_multigraph)

    def __len__(self) -> int:
        return len(self._adjacency)


def grouped(
    nodes: Collection[Any], u: NDArray[Any], v: NDArray[Any], ops: ArrayModule
) -> list[set[Any] | None]:
    """Return the nodes of each component of a graph with these edges, in the order of first nodes.

    The largest component is None, because it is what the others leave.
    """
    if not nodes:
        return []
    labels, _ = ops.number_roots(ops.join_in_order(u, v, len(nodes))[1])
    sizes = np.bincount(labels)
    largest = sizes.argmax()
    sizes[largest] = 0
    others: list[Any] = []
    if len(sizes) > 1:
        is_other = labels != largest
        others = list(compress(nodes, is_other.tolist()))
        order = np.argsort(labels[is_other], kind="stable")
        others = list(map(others.__getitem__, order.tolist()))
    with without_collection():
        ends = pairwise([0, *np.cumsum(sizes).tolist()])
        return [set(others[start:end]) or None for start, end in ends]


def new_sets(nodes: Collection[Any], components: Sequence[set[Any] | None]) -> list[set[Any]]:
    """Return a new set for each component; None stands for the nodes that the others leave."""
    sets = [set(nodes) if each is None else each.copy() for each in components]
    if None in components:
        largest = sets[components.index(None)]
        largest.difference_update(*filter(None, components))
    return sets


def components_of(adjacency: Mapping[Any, Mapping[Any, Any]]) -> Iterator[set[Any]]:
    """Yield the nodes of each component, in the order of first nodes."""
    size = len(adjacency)
    outside: Collection[Any] = adjacency
    while True:
        earlier: set[Any] = set()
        for first in filterfalse(earlier.__contains__, outside):
            component, rest = _component(adjacency, first, earlier, outside, size)
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


@contextmanager
def without_collection() -> Iterator[None]:
    """Pause the garbage collector, which would visit all dictionaries of a graph repeatedly.

    Freezing and unfreezing at the end moves new objects to the oldest generation, so the next
    collection of the youngest one does not visit them.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        if not gc.get_freeze_count():  # else unfreezing would change what the caller has frozen
            gc.freeze()
            gc.unfreeze()
        gc.enable()


def _by_kernels(adjacency: Any) -> list[set[Any] | None] | None:
    """Return the components; None if kernels do not pay, or if rows do not share dictionaries."""
    if why_not("numba") or not kernels.pay_after(_EDGES * len(adjacency)):
        return None
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return None  # another thread could change a dictionary while a kernel reads it
    rows: list[Any] = []
    address = np.empty(len(adjacency), np.int64)
    count, unread = 0, iter(adjacency.values())
    while block := list(islice(unread, _BLOCK)):
        if set(map(type, block)) != {dict}:
            return None
        count += sum(map(len, block))
        address[len(rows) : len(rows) + len(block)] = list(map(id, block))
        rows += block
    row_of, value = np.empty(count, np.int32), np.empty(count, np.int64)
    if kernels.read_rows(_functions(), address, row_of, value) != count:
        return None  # another thread changed the graph
    bits = count.bit_length()
    seen, edge_at = np.zeros(2**bits, np.int64), np.empty(2**bits, np.int32)
    u, v = np.empty((2, count // 2 + len(rows)), np.int32)  # a row has at most one loop
    count = kernels.pair_arcs(row_of, value, seen, edge_at, 64 - bits, u, v)
    if count < 0:
        return None
    u, v = u[:count], v[:count]
    loops = u[u == v].tolist()
    nodes = list(adjacency) if loops else []
    if len(set(loops)) < len(loops) or not all(nodes[row] in rows[row] for row in loops):
        return None
    return grouped(adjacency, u, v, array_module("numba"))


@cache
def _functions() -> NDArray[np.uint64]:
    """Return the addresses of the functions that the kernels call."""
    names = ("PyGILState_Ensure", "PyGILState_Release", "PyDict_Next")
    pointers = [ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p) for name in names]
    return np.array([pointer.value for pointer in pointers], np.uint64)


def _component(
    adjacency: Any, first: Any, earlier: set[Any], outside: Iterable[Any], size: int
) -> tuple[set[Any], list[Any] | None]:
    """Return the component of a node, and the nodes that were read from outside, if any.

    `outside` has the `size` nodes that are in no component yet, and those of `earlier` components.
    """
    reached = {first}
    level: Collection[Any] = [first]
    rest: list[Any] | None = None
    while True:
        while 0 < len(level) <= _FEW:
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
