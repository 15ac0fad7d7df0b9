"""Takes graphs as they come: edge lists, columns, files, the objects of other libraries.

None of those libraries is imported here: an object tells by its class where it is from.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import GraphError, OptionError
from .edge_list import EdgeList
from .read import read
from .tables import arrow_graph, choose_columns, chosen_weight

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

_SPARSE_FORMATS = ("coo", "csr", "csc")
#: What speaks Arrow as tables do, but is one column.
_ARROW_COLUMNS = {"pandas.Series", "polars.Series", "pyarrow.ChunkedArray"}


def edge_list(
    graph: Any, num_vertices: int | None = None, weight: str | None = "weight"
) -> EdgeList:
    """Make an edge list of whatever `minimum_spanning_forest` takes for a graph.

    Parameters
    ----------
    graph : EdgeList, tuple of columns, path, list of paths, or object of another library
        `docs/formats.md` says for each which order gives the edge ids.
    num_vertices : int, optional
        In place of what the graph says.
    weight : str or None
        Which of its weights to take; None takes every weight as 1.

    Raises
    ------
    GraphError
        If it is no graph; names the edge.
    OptionError
        If it has no weights of that name; names those that it has.
    """
    found = _adopted(graph, weight)
    return found if num_vertices is None else found.on(num_vertices)


def _adopted(graph: Any, weight: str | None) -> EdgeList:
    if isinstance(graph, EdgeList):
        return chosen_weight(graph, weight)
    if isinstance(graph, str | os.PathLike) or _is_paths(graph):
        return read(graph, weight=weight)
    if isinstance(graph, list) and any(isinstance(item, tuple) for item in graph):
        message = "a graph is no list of edges: give its columns, such as tuple(zip(*edges))"
        raise GraphError(message)
    if isinstance(graph, tuple | list) and len(graph) in (2, 3):
        columns = graph if weight is not None else graph[:2]
        return chosen_weight(EdgeList(*columns), weight)
    take = _taker(graph)
    if take is not None:
        return take(graph, weight)
    message = (
        "a graph is an EdgeList, a tuple of columns (u, v) or (u, v, weight), a path, a list of "
        "paths, or a sparse matrix, graph or table of scipy, networkx, igraph, pandas, Dask or "
        f"anything that speaks Arrow, not {type(graph).__name__}"
    )
    raise GraphError(message)


def is_known(graph: Any) -> bool:
    """Tell whether an object is a graph of another library."""
    return _taker(graph) is not None


def class_names(value: Any) -> list[str]:
    """Return the library and the name of each class that an object is of."""
    return [f"{cls.__module__.partition('.')[0]}.{cls.__name__}" for cls in type(value).__mro__]


def _taker(graph: Any) -> Callable[[Any, str | None], EdgeList] | None:
    if isinstance(graph, type):  # it has the methods of its objects
        return None
    names = class_names(graph)
    for name in names:
        if name in _LIBRARIES:
            return _LIBRARIES[name]
    is_table = hasattr(graph, "__arrow_c_stream__") and _ARROW_COLUMNS.isdisjoint(names)
    return _from_arrow if is_table else None


def _is_paths(graph: Any) -> bool:
    is_sequence = isinstance(graph, tuple | list) and len(graph) > 0
    return is_sequence and all(isinstance(item, str | os.PathLike) for item in graph)


def _from_scipy(matrix: Any, weight: str | None) -> EdgeList:
    """Take every stored entry, zeros among them, as it stands: nothing is summed."""
    if matrix.format not in _SPARSE_FORMATS:
        message = f"a {matrix.format} matrix keeps no list of entries; give its .tocsr()"
        raise GraphError(message)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        message = f"a graph is a square matrix, not one of shape {matrix.shape}"
        raise GraphError(message)
    if (np.diff(getattr(matrix, "indptr", ())) < 0).any():
        message = "the matrix contradicts itself: indptr descends"
        raise GraphError(message)
    try:
        entries = matrix.tocoo()
    except ValueError as error:
        message = f"the matrix contradicts itself: {error}"
        raise GraphError(message) from error
    values = entries.data if weight is not None else None
    graph = EdgeList(entries.row, entries.col, values, num_vertices=matrix.shape[0])
    return chosen_weight(graph, weight)


def _from_networkx(graph: Any, weight: str | None) -> EdgeList:
    number = {node: i for i, node in enumerate(graph)}
    edges = list(graph.edges(data=True))  # of a multigraph in the order of its keys
    u, v = ([number[edge[end]] for edge in edges] for end in (0, 1))
    if weight is None:
        return EdgeList(u, v, num_vertices=len(number))
    if weight != "weight" and edges and not any(weight in data for *_, data in edges):
        raise _no_weights(weight, {name for *_, data in edges for name in data})
    values = [data.get(weight, 1) for *_, data in edges]
    return EdgeList(u, v, values, num_vertices=len(number))


def _from_igraph(graph: Any, weight: str | None) -> EdgeList:
    ends = np.array(graph.get_edgelist(), np.int64).reshape(-1, 2)
    names = graph.es.attributes()
    if weight not in ("weight", None, *names):
        raise _no_weights(str(weight), names)
    values = graph.es[weight] if weight in names else None
    return EdgeList(ends[:, 0], ends[:, 1], values, num_vertices=graph.vcount())


def _no_weights(weight: str, names: Collection[Any]) -> OptionError:
    has = ", ".join(map(repr, sorted(map(str, names)))) or "none"
    return OptionError(f"the graph has no weights called {weight!r}; its edges have: {has}")


def _from_pandas(frame: Any, weight: str | None) -> EdgeList:
    names = choose_columns(list(frame.columns), weight).present
    for name in names:
        if not isinstance(frame[name].dtype, np.dtype) and (missing := frame[name].isna()).any():
            message = f"edge {int(missing.to_numpy().argmax())}: column {name!r} has no value"
            raise GraphError(message)
    return EdgeList(*(frame[name].to_numpy() for name in names))


def _from_arrow(table: Any, weight: str | None) -> EdgeList:
    """Take any table that hands itself over by Arrow's interface."""
    import pyarrow as pa

    try:
        converted = pa.table(table)
    except (pa.ArrowException, ValueError, TypeError) as error:
        message = f"the table cannot be handed over: {error}"
        raise GraphError(message) from error
    return arrow_graph(converted, weight)


_LIBRARIES: dict[str, Callable[[Any, str | None], EdgeList]] = {
    "scipy.sparray": _from_scipy,
    "scipy.spmatrix": _from_scipy,
    "networkx.Graph": _from_networkx,
    "igraph.Graph": _from_igraph,
    "pandas.DataFrame": _from_pandas,
}
