"""Hints for objects that are not graphs but hold one: how to pass their edges.

The code in a hint is valid: `graph`, `table` and `a` are what the message says.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import GraphError
from ...graphs.libraries import is_instance
from ...runtime.device import is_on_device

#: Tables whose columns together may be a matrix.
_TABLES = ("pandas.DataFrame", "polars.DataFrame", "pyarrow.Table")


def check_no_records(graph: Any) -> None:
    """Check that a graph is not a list of records."""
    if _has_rows(graph, Mapping) and not any(map(np.ndim, graph[0].values())):
        raise GraphError("expected columns, found a list of records; pass pandas.DataFrame(graph)")


def check_no_rows(graph: Any) -> None:
    """Check that a graph whose vertices have names is not a list of records or of edges."""
    check_no_records(graph)
    if _has_rows(graph, tuple | list) and not any(map(np.ndim, graph[0])):
        raise GraphError(
            "expected a tuple of columns; from a list of edges, pass tuple(zip(*graph)); from a "
            "list of columns, pass tuple(graph)"
        )


def _has_rows(graph: Any, kind: Any) -> bool:
    """Return whether a graph is a sequence whose first item is of a kind."""
    return isinstance(graph, list | tuple) and len(graph) > 0 and isinstance(graph[0], kind)


def hint_for(graph: Any) -> str:
    """Return the continuation of an error message about an object that is not a graph."""
    if hasattr(graph, "read"):
        return ", an open file; pass its path or URL"
    if is_instance(graph, "dask.Bag"):
        return (
            ", a bag; if its items are edges, pass bag.map_partitions(lambda edges: "
            "tuple(zip(*edges))).to_delayed()"
        )
    dtype = getattr(graph, "dtype", None)
    if getattr(dtype, "names", None):
        return ", an array a with fields; pass {name: a[name] for name in a.dtype.names}"
    if not isinstance(dtype, np.dtype) or dtype.kind not in "biuf" or is_on_device(graph):
        return ""
    a = np.asarray(graph)
    is_plain = type(graph) is np.ndarray
    name = ", an array a" if is_plain else "; let a = numpy.asarray(graph), an array"
    return "; ".join([f"{name} of shape {a.shape}", *_array_hints(a)])


def matrix_hint(table: Any) -> str:
    """Return the continuation of an error about the columns of a table that may be a matrix."""
    if not is_instance(table, *_TABLES) or not 0 < len(table) <= table.shape[1] <= len(table) + 1:
        return ""
    cells, array = np.asarray(table), "numpy.asarray(table)"
    if table.shape[1] > len(table):
        names = list(getattr(table, "column_names", table.columns))
        if list(map(str, cells[:, 0])) != list(map(str, names[1:])):  # they label the rows
            return ""
        cells, array = cells[:, 1:], f"{array}[:, 1:].astype(float)"
    try:
        hints = _distance_hints(cells.astype(float))
    except (TypeError, ValueError):
        return ""
    return "; ".join([f"; let a = {array}", *hints]) if hints else ""


def _array_hints(a: NDArray[Any]) -> list[str]:
    """Return a hint for each graph that an array of numbers may stand for."""
    hints = []
    if a.ndim == 2 and a.shape[1] in (2, 3) and _are_ids(a[:, :2]):
        hints.append(_columns_hint("columns", "a[:, 0]", "a[:, 1]", "a[:, 2]", a.shape[1]))
    if a.ndim == 2 and a.shape[0] in (2, 3) and _are_ids(a[:2]):
        hints.append(_columns_hint("rows", "a[0]", "a[1]", "a[2]", a.shape[0]))
    if a.ndim == 2:
        hints += [
            *_distance_hints(a),
            "to cluster points, use mstflow.cluster; for their tree, pass mstflow.points(a)",
        ]
    if a.ndim == 2 and a.shape[0] == a.shape[1]:
        hints.append("if zero means no edge in a matrix, pass scipy.sparse.coo_array(a)")
    size = (1 + math.isqrt(1 + 8 * a.size)) // 2
    if a.ndim == 1 and a.size and size * (size - 1) == 2 * a.size:
        distances = f"(*numpy.triu_indices({size}, 1), a)"
        hints.append(f"if it has the distances of all pairs of {size} points, pass {distances}")
    return hints


def _distance_hints(a: NDArray[Any]) -> list[str]:
    """Return the hint for a matrix of distances; none if it cannot be one."""
    if a.ndim != 2 or not np.array_equal(a, a.T):
        return []
    indices = "i, j = numpy.triu_indices(len(a), 1)"
    return [f"if it is a matrix of distances, set {indices} and pass (i, j, a[i, j])"]


def _columns_hint(kind: str, u: str, v: str, weight: str, count: int) -> str:
    """Return the hint for an array of two or three columns, or rows, that are those of edges."""
    columns = ", ".join([f"{u}.astype(int)", f"{v}.astype(int)", weight][:count])
    return f"if its {kind} are u, v{' and weight' * (count == 3)}, pass ({columns})"


def _are_ids(values: NDArray[Any]) -> bool:
    """Return whether numbers are whole and exact, so that a cast to integers keeps them."""
    return bool(((values >= 0) & (values < 2**53) & (values == np.floor(values))).all())
