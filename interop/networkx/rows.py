"""Columns of a networkx graph by kernels, which read its dictionaries by Python's C API.

The kernels pair the arcs of each edge by the address of the dictionary that both ends share. So
they look up no node. Callers decide whether loading the kernels pays.
"""

from __future__ import annotations

import ctypes
import sys
import sysconfig
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graphs.libraries.networkx import Edges, object_addresses
from ...primitives import why_not
from ...runtime.native import Kernels
from .info import DENSE, SPACE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

#: The functions of Python's C API that the kernels call, in the kernels' order.
_API = (
    "PyGILState_Ensure",
    "PyGILState_Release",
    "PyDict_Next",
    "PyDict_Size",
    "PyDict_GetItem",
    "PyObject_Hash",
    "PyObject_RichCompareBool",
    "Py_IncRef",
    "Py_DecRef",
    "PyFloat_AsDouble",
    "PyLong_AsLongLongAndOverflow",
)
#: The largest number of rows and of arcs, because kernels write their places as int32.
_MOST = 2**31 - 1
_NO_WORDS, _NO_ROWS = np.empty(0, np.int64), np.empty(0, np.int32)

kernels = Kernels(f"{__package__}.kernels")


def edges_by_kernels(graph: Any) -> Edges | None:
    """Return the edges of an undirected networkx graph; None if kernels cannot read it."""
    if (found := _read(graph._adj)) is None:
        return None
    size, *ends, values = found
    nodes, (u, v) = list(graph._adj), (end.astype(np.int64) for end in ends)
    if len(nodes) != size:
        return None  # another thread changed the graph
    if not graph.is_multigraph():
        return Edges(nodes, u, v, None, values)
    rows = (_functions(), object_addresses(values), id(dict))
    count = kernels.read_keys(*rows, _NO_ROWS, *[_NO_WORDS] * 4)
    if count < 0:
        return None
    edge_of, key, value = np.empty(count, np.int32), *np.empty((2, count), np.int64)
    keys, data = np.empty(count, object), np.empty(count, object)
    objects = object_addresses(keys), object_addresses(data)
    if kernels.read_keys(*rows, edge_of, key, value, *objects) != count:
        return None  # another thread changed the graph
    return Edges(nodes, u[edge_of], v[edge_of], keys, data)


def labels_by_kernels(adjacency: Any, degree: int) -> tuple[NDArray[np.int64], int] | None:
    """Return the number of each node's component, and how many there are; None without kernels.

    Components have the order of first nodes. `degree` is the typical degree. The space that depends
    on it may be too small. Then the kernel reads only a part of the arcs, or is called once more
    with the space for all.
    """
    if type(adjacency) is not dict or not are_usable(len(adjacency)):
        return None
    labels = np.empty(len(adjacency), np.int64)
    if len(labels) > _MOST:
        return None
    graph = (_functions(), id(adjacency), _types(dict, int, str), int(_is_layout_known()))
    number = -100 - (SPACE + (5 * degree if degree < DENSE else 0)) * len(labels)
    while number < -1:
        space = np.empty(-number, np.int64)
        number = kernels.label_rows(*graph, space, labels)
    if number < 0:
        return None
    single = space[len(labels) :]
    if number and single[0] and not _are_loops(adjacency, single[1 : 1 + single[0]]):
        return None
    return labels, number


def numbers_by_kernels(dicts: NDArray[Any], key: Any) -> NDArray[Any] | None:
    """Return the values of a key in dictionaries; None unless all are floats, or all are int64."""
    if type(key) is not str or not are_usable(len(dicts)):
        return None
    types = _types(dict, float, int)
    found = np.empty(len(dicts)), np.empty(len(dicts), np.int64)
    kind = kernels.read_numbers(_functions(), object_addresses(dicts), types, id(key), *found)
    return found[kind - 1] if kind else None


def are_ready() -> bool:
    """Return whether kernels can be called and need not be compiled."""
    return kernels.are_loaded() or (_are_possible() and _were_cached())


def are_usable(size: int) -> bool:
    """Return whether kernels can be called, without compiling them unless the graph is large."""
    if are_ready():
        return True
    if pays := _are_possible() and kernels.pay_after(size):
        _compile()
    return pays


def _are_possible() -> bool:
    # Without a GIL, another thread could change a dictionary.
    return not why_not("numba") and not sysconfig.get_config_var("Py_GIL_DISABLED")


@cache
def _were_cached() -> bool:
    """Return whether the kernels were in the cache when this process asked first."""
    return kernels.are_cached()


def _compile() -> None:
    """Compile all kernels, so that none is missing in the cache for a later call."""
    graph = (_functions(), 0, 0, _NO_WORDS)
    kernels.count_arcs(*graph)
    edges = (0, _NO_ROWS, _NO_WORDS, _NO_WORDS, _NO_ROWS, _NO_ROWS, _NO_ROWS, _NO_WORDS)
    kernels.read_edges(*graph, *edges)
    kernels.read_keys(_functions(), _NO_WORDS, 0, _NO_ROWS, *[_NO_WORDS] * 4)
    kernels.label_rows(_functions(), 0, _NO_WORDS, 0, _NO_WORDS, _NO_WORDS)
    kernels.read_numbers(_functions(), _NO_WORDS, _NO_WORDS, 0, np.empty(0), _NO_WORDS)


def _read(
    adjacency: Any,
) -> tuple[int, NDArray[np.int32], NDArray[np.int32], NDArray[Any]] | None:
    """Return the number of rows, both rows of each edge, and the dictionary that they share.

    Return None if kernels cannot be called, or if rows are not dictionaries that share others.
    """
    if type(adjacency) is not dict or not are_usable(len(adjacency)):
        return None
    rows = np.empty(len(adjacency), np.int64)
    graph = (_functions(), id(adjacency), id(dict), rows)
    count = kernels.count_arcs(*graph)
    if count < 0 or max(count, len(rows)) > _MOST:
        return None
    is_known = int(_is_layout_known())
    row_of, value = np.empty(count, np.int32), np.empty(count, np.int64)
    places = 2 ** count.bit_length()
    table = np.zeros(places, np.int64), np.empty(places, np.int32)
    u, v = np.empty((2, count // 2 + len(rows)), np.int32)  # a row has at most one loop
    values = np.empty(len(u), object)
    count = kernels.read_edges(
        *graph, is_known, row_of, value, *table, u, v, object_addresses(values)
    )
    if count < 0:
        return None
    u, v = u[:count], v[:count]
    if (u == v).any() and not _are_loops(adjacency, u[u == v]):
        return None
    return len(rows), u, v, values[:count]


def _are_loops(adjacency: Any, rows: NDArray[Any]) -> bool:
    """Return whether these rows differ, and each has its own node as a neighbor."""
    nodes = list(adjacency)
    return len(set(rows.tolist())) == len(rows) and all(
        node in adjacency[node] for node in map(nodes.__getitem__, rows.tolist())
    )


@cache
def _is_layout_known() -> bool:
    """Return whether tables of dictionaries have the layout that the kernels know.

    It is the same in all versions that are listed here. The example guards against other builds.
    """
    if sys.implementation.name != "cpython" or not (3, 11) <= sys.version_info < (3, 14):
        return False
    return all(_has_layout(*each) for each in ((1, map(str, range(100)), 2), (0, range(100), 3)))


def _has_layout(kind: int, keys: Iterable[Any], words: int) -> bool:
    """Return whether a table for such keys has this kind, and entries of this many words."""
    example = {key: object() for key in keys}
    expected = list(map(id, example.values()))
    expected[3] = 0
    del example[[*example][3]]
    table = (ctypes.c_int64 * 5).from_address(id(example))[4]
    _, index_bytes, found = (ctypes.c_uint8 * 3).from_address(table + 8)
    count = ctypes.c_int64.from_address(table + 24).value
    if (found, count) != (kind, len(expected)):
        return False
    entries = (ctypes.c_int64 * (words * count)).from_address(table + 32 + (1 << index_bytes))
    return list(entries)[words - 1 :: words] == expected


@cache
def _functions() -> NDArray[np.uint64]:
    """Return the addresses of the functions that the kernels call."""
    pointers = [ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p) for name in _API]
    return np.array([pointer.value for pointer in pointers], np.uint64)


@cache
def _types(*types: type) -> NDArray[np.int64]:
    """Return the addresses of types."""
    return np.array(list(map(id, types)), np.int64)
