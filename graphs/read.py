"""Read graphs into memory: from files, from columns, and from objects of other libraries.

Libraries are recognised by the names of their classes, so none of them is imported here.
"""

from __future__ import annotations

import os
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import GraphError, OptionError
from ..progress import set_listener
from .column_names import choose_columns
from .edge_list import EdgeList, chosen_weight, concatenate, of_columns
from .file_checks import file_errors, paths_of
from .formats import format_of
from .libraries import class_names, no_weights
from .libraries.arrow_tables import arrow_graph, as_arrow
from .libraries.networkx import from_networkx
from .names.number import number_graph

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from os import PathLike

    from ..progress import Listener

#: Classes that support Arrow's stream interface but hold a single column.
_ARROW_COLUMNS = {"pandas.Series", "polars.Series", "pyarrow.ChunkedArray"}


def read(
    source: str | PathLike[str] | Sequence[str | PathLike[str]],
    *,
    format: str | None = None,  # noqa: A002  # the user's word
    num_vertices: int | None = None,
    weight: str | None = "weight",
    ends: Sequence[str] | None = None,
    progress: bool | Listener = True,
) -> EdgeList:
    """Read a graph from one file, or from several that together are one graph.

    Parameters
    ----------
    source : path, or sequence of paths
        Edge ids run through all files, in this order.
    format : str, optional
        One of `format_names`. By default it follows from the suffix, or from the content if the
        suffix is unknown. Text may be compressed: `.gz`, `.xz`, `.bz2`, `.zst`. A folder has the
        format "npy".
    num_vertices : int, optional
        Overrides the number of vertices that the files state.
    weight : str or None
        Name of the column of weights, in formats with named columns. None for weight 1 on every
        edge.
    ends : sequence of two str, optional
        As for `mstflow.minimum_spanning_forest`; the graph has `names`.
    progress : bool or callable
        As for `mstflow.minimum_spanning_forest`. Text files report the bytes that are read.

    Returns
    -------
    EdgeList

    Raises
    ------
    FileFormatError
        If a file cannot be read or is malformed. Names the file, and the line, array or edge.
    OptionError
        If `format` or `weight` is unknown, or `source` is not a path or a sequence of paths.
    GraphError
        If no dtype represents the weights of all files, or `num_vertices` is too small.
    """
    paths = paths_of(source)
    if not paths:
        raise OptionError(f"expected a path or a list of paths, found {type(source).__name__}")
    with set_listener(progress):
        if ends is not None:
            graph = number_graph(paths, ends, weight, format=format, num_vertices=num_vertices)
            assert isinstance(graph, EdgeList)  # without memory=, DuckDB is not used
            return graph
        graph = concatenate([format_of(path, format).graph(path, weight) for path in paths])
    if num_vertices is None:
        return graph
    with file_errors(paths[0], GraphError) if len(paths) == 1 else nullcontext():
        return graph.on(num_vertices)


def edge_list(
    graph: Any, num_vertices: int | None = None, weight: str | Callable[..., Any] | None = "weight"
) -> EdgeList:
    """Convert a graph, in any form that `minimum_spanning_forest` accepts, to an edge list.

    The arguments are those of `minimum_spanning_forest`. `docs/formats.md` defines the order of the
    edges for each form.
    """
    if callable(weight):
        if "networkx.Graph" not in class_names(graph):
            raise OptionError(
                f"weight may be a function only for a networkx graph, not for a "
                f"{type(graph).__name__}; compute the weights and pass them as a column"
            )
        found = from_networkx(graph, weight)
    elif paths_of(graph):
        return read(graph, num_vertices=num_vertices, weight=weight)
    else:
        found = _adopted(graph, weight)
    return found if num_vertices is None else found.on(num_vertices)


def _adopted(graph: Any, weight: str | None) -> EdgeList:
    if isinstance(graph, EdgeList):
        return chosen_weight(graph.changeable(), weight)
    if isinstance(graph, list):
        _check_list(graph)
    if isinstance(graph, tuple | list) and len(graph) in (2, 3):
        columns = graph if weight is not None else graph[:2]
        return chosen_weight(of_columns(*columns), weight)
    if (take := _taker(graph)) is not None:
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
    if any(isinstance(item, str | os.PathLike) for item in items):
        raise GraphError("expected a list of paths only; it also contains other objects")
    rows = [item for item in items if isinstance(item, tuple | list)]
    is_narrow = all(len(row) in (2, 3) for row in rows)
    if len(items) in (2, 3) and all(isinstance(item, list) for item in items) and is_narrow:
        raise GraphError(
            f"a list of {len(items)} lists of {len(items[0])} may be columns or edges: pass "
            "columns as a tuple, (u, v, weight), or edges as tuple(zip(*edges))"
        )
    if any(isinstance(row, tuple) for row in rows) or (len(items) > 3 and rows):
        raise GraphError("expected columns, found a list of edges; pass tuple(zip(*edges))")


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
    return (lambda table, weight: arrow_graph(as_arrow(table), weight)) if is_table else None


def _from_scipy(matrix: Any, weight: str | None) -> EdgeList:
    """Return an edge for each stored entry, including zeros; duplicates are not summed."""
    if matrix.format not in ("coo", "csr", "csc"):
        message = f"expected a COO, CSR or CSC matrix, found {matrix.format}; pass its .tocsr()"
        raise GraphError(message)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise GraphError(f"expected a square matrix, found shape {matrix.shape}")
    if (np.diff(getattr(matrix, "indptr", ())) < 0).any():
        raise GraphError("the matrix is inconsistent: indptr must be ascending")
    try:
        entries = matrix.tocoo()
    except ValueError as error:
        raise GraphError(f"the matrix is inconsistent: {error}") from error
    values = None if weight is None else entries.data
    graph = EdgeList(entries.row, entries.col, values, num_vertices=matrix.shape[0])
    return chosen_weight(graph, weight)


def _from_igraph(graph: Any, weight: str | None) -> EdgeList:
    """Convert an igraph graph; `weight` is an attribute of its edges."""
    ends = np.array(graph.get_edgelist(), np.int64).reshape(-1, 2)
    names = graph.es.attributes()
    if weight not in ("weight", None, *names):
        raise no_weights(str(weight), names)
    values = graph.es[weight] if weight in names else None
    return EdgeList(ends[:, 0], ends[:, 1], values, num_vertices=graph.vcount())


def _from_pandas(frame: Any, weight: str | None) -> EdgeList:
    names = choose_columns(list(frame.columns), weight).present
    for name in names:
        if not isinstance(frame[name].dtype, np.dtype) and (missing := frame[name].isna()).any():
            message = f"edge {int(missing.to_numpy().argmax())}: column {name!r} has no value"
            raise GraphError(message)
    return EdgeList(*(frame[name].to_numpy() for name in names))


_LIBRARIES: dict[str, Callable[[Any, str | None], EdgeList]] = {
    "scipy.sparray": _from_scipy,
    "scipy.spmatrix": _from_scipy,
    "networkx.Graph": from_networkx,
    "igraph.Graph": _from_igraph,
    "pandas.DataFrame": _from_pandas,
}
