"""Labels of the components of a large networkx graph, by kernels or arrays.

The kernels pair the arcs of each edge by the address of the dictionary that both ends share. So
they look up no node. Arrays do the same in several passes, which pays if there are few arcs.
"""

from __future__ import annotations

import ctypes
import gc
import sysconfig
from contextlib import contextmanager
from functools import cache
from itertools import compress, islice, repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from ..graphs.libraries.networkx import ends_of
from ..primitives import array_module, why_not
from ..runtime.native import Kernels

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from numpy.typing import NDArray

    from ..primitives.vocabulary import ArrayModule

#: The number of nodes of a sparse graph from which arrays are faster than a search.
ARRAYS_FROM = 30_000
#: The number of full collections when objects were last moved to the oldest generation.
_moved_after = [-1]

kernels = Kernels(f"{__package__}.row_kernels")


def labels_of_rows(adjacency: Any, *, is_sparse: bool) -> NDArray[Any] | None:
    """Return the labels of an undirected graph's nodes; None if a search is faster."""
    labels = by_kernels(adjacency)
    if labels is None and is_sparse and len(adjacency) >= ARRAYS_FROM:
        labels = labels_of(len(adjacency), *ends_of(adjacency), array_module("numpy"))
    return labels


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


def by_kernels(adjacency: Any) -> NDArray[Any] | None:
    """Return the labels; None if kernels do not pay, or if rows do not share dictionaries."""
    is_fast = kernels.are_loaded() or kernels.are_cached()  # loading is paid for, unlike compiling
    if why_not("numba") or not (is_fast or kernels.pay_after(len(adjacency))):
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
