"""Convert columns, files, and graphs of other libraries to edge lists.

Libraries are recognised by the names of their classes, so none of them is imported here.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import GraphError, OptionError
from .edge_list import EdgeList, chosen_weight
from .libraries.igraph import from_igraph
from .libraries.networkx import from_networkx
from .read import read
from .tables import arrow_graph, as_arrow, choose_columns, class_names

if TYPE_CHECKING:
    from collections.abc import Callable

_SPARSE_FORMATS = ("coo", "csr", "csc")
#: Classes that support Arrow's stream interface but hold a single column.
_ARROW_COLUMNS = {"pandas.Series", "polars.Series", "pyarrow.ChunkedArray"}


def edge_list(
    graph: Any,
    num_vertices: int | None = None,
    weight: str | Callable[..., Any] | None = "weight",
) -> EdgeList:
    """Convert a graph, in any form that `minimum_spanning_forest` accepts, to an edge list.

    Parameters
    ----------
    graph : EdgeList, tuple of columns, path, list of paths, or object of another library
        `docs/formats.md` defines the order of the edges for each form.
    num_vertices : int, optional
        Overrides the number of vertices that the graph states.
    weight : str, callable or None
        Name of the weights; None for weight 1 on every edge. For a graph of networkx also a
        function of the two nodes and the attributes of an edge.

    Raises
    ------
    GraphError
        If the argument is not a graph, or an edge is invalid. Names the edge.
    OptionError
        If the graph has no weights of that name; lists the names that exist. If `weight` is a
        function and the graph is of another library.
    """
    if callable(weight):
        if "networkx.Graph" not in class_names(graph):
            message = (
                f"weight may be a function only for a networkx graph, not for a "
                f"{type(graph).__name__}; compute the weights and pass them as a column"
            )
            raise OptionError(message)
        found = from_networkx(graph, weight)
        return found if num_vertices is None else found.on(num_vertices)
    if _is_path(graph) or _is_paths(graph):
        return read(graph, num_vertices=num_vertices, weight=weight)
    found = _adopted(graph, weight)
    return found if num_vertices is None else found.on(num_vertices)


def _adopted(graph: Any, weight: str | None) -> EdgeList:
    if isinstance(graph, EdgeList):
        return chosen_weight(graph, weight)
    if isinstance(graph, list):
        _check_list(graph)
    if isinstance(graph, tuple | list) and len(graph) in (2, 3):
        columns = graph if weight is not None else graph[:2]
        return chosen_weight(EdgeList(*columns), weight)
    take = _taker(graph)
    if take is not None:
        return take(graph, weight)
    message = (
        "expected a graph: an EdgeList, a tuple of columns (u, v) or (u, v, weight), a path, a "
        "list of paths, a scipy sparse matrix, a networkx or igraph graph, or a table of pandas, "
        f"Dask or any library that supports Arrow; found {type(graph).__name__}"
    )
    if getattr(graph, "ndim", 0) == 2:
        message += (
            f" of shape {graph.shape}. To cluster points, use mstflow.cluster; pass a matrix of "
            "weights as scipy.sparse.coo_array(matrix)"
        )
    raise GraphError(message)


def _check_list(items: list[Any]) -> None:
    """Check that a list is a list of columns, and cannot be a list of edges."""
    rows = [item for item in items if isinstance(item, tuple | list)]
    is_narrow = all(len(row) in (2, 3) for row in rows)
    if len(items) in (2, 3) and all(isinstance(item, list) for item in items) and is_narrow:
        message = (
            f"a list of {len(items)} lists of {len(items[0])} may be columns or edges: pass "
            "columns as a tuple, (u, v, weight), or edges as tuple(zip(*edges))"
        )
        raise GraphError(message)
    if any(isinstance(row, tuple) for row in rows) or (len(items) > 3 and rows):
        message = "expected columns, found a list of edges; pass tuple(zip(*edges))"
        raise GraphError(message)


def is_known(graph: Any) -> bool:
    """Return whether an object is a graph or table of a supported library."""
    return _taker(graph) is not None


def _taker(graph: Any) -> Callable[[Any, str | None], EdgeList] | None:
    if isinstance(graph, type):  # a class also has the attributes that are tested below
        return None
    names = class_names(graph)
    for name in names:
        if name in _LIBRARIES:
            return _LIBRARIES[name]
    is_table = hasattr(graph, "__arrow_c_stream__") and _ARROW_COLUMNS.isdisjoint(names)
    return _from_arrow if is_table else None


def _is_path(graph: Any) -> bool:
    return isinstance(graph, str | os.PathLike)


def _is_paths(graph: Any) -> bool:
    is_sequence = isinstance(graph, tuple | list) and len(graph) > 0
    return is_sequence and all(map(_is_path, graph))


def _from_scipy(matrix: Any, weight: str | None) -> EdgeList:
    """Return an edge for each stored entry, including zeros; duplicates are not summed."""
    if matrix.format not in _SPARSE_FORMATS:
        message = f"expected a COO, CSR or CSC matrix, found {matrix.format}; pass its .tocsr()"
        raise GraphError(message)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        message = f"expected a square matrix, found shape {matrix.shape}"
        raise GraphError(message)
    if (np.diff(getattr(matrix, "indptr", ())) < 0).any():
        message = "the matrix is inconsistent: indptr must be ascending"
        raise GraphError(message)
    try:
        entries = matrix.tocoo()
    except ValueError as error:
        message = f"the matrix is inconsistent: {error}"
        raise GraphError(message) from error
    values = entries.data if weight is not None else None
    graph = EdgeList(entries.row, entries.col, values, num_vertices=matrix.shape[0])
    return chosen_weight(graph, weight)


def _from_pandas(frame: Any, weight: str | None) -> EdgeList:
    names = choose_columns(list(frame.columns), weight).present
    for name in names:
        if not isinstance(frame[name].dtype, np.dtype) and (missing := frame[name].isna()).any():
            message = f"edge {int(missing.to_numpy().argmax())}: column {name!r} has no value"
            raise GraphError(message)
    return EdgeList(*(frame[name].to_numpy() for name in names))


def _from_arrow(table: Any, weight: str | None) -> EdgeList:
    return arrow_graph(as_arrow(table), weight)


_LIBRARIES: dict[str, Callable[[Any, str | None], EdgeList]] = {
    "scipy.sparray": _from_scipy,
    "scipy.spmatrix": _from_scipy,
    "networkx.Graph": from_networkx,
    "igraph.Graph": from_igraph,
    "pandas.DataFrame": _from_pandas,
}
