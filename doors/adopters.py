"""Adopters: the kinds of objects that are graphs, how to recognise them, and how to open them.

To accept another kind, add an `Adopter` to `ADOPTERS`. Classes of libraries are recognised by their
names, so no library is imported for that.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..errors import GraphError, OptionError
from ..graphs.edge_list import EdgeList
from ..graphs.libraries import is_instance, pa
from ..graphs.segments import ArraySegment, Chunks, Delayed, column_segment
from ..graphs.source import EdgeSource
from ..runtime.device import refuse_device
from .column_names import Choice, ColumnNames
from .libraries import check_no_weights
from .libraries.arrow_tables import arrow_graph
from .libraries.dask import dask_chunks, is_dask
from .libraries.hints import check_no_records, hint_for
from .libraries.networkx import from_networkx
from .libraries.tables import Rows, is_read_once, is_table, tables
from .names.stored import names_of
from .places.url import places_of
from .weights import attribute_of_weights, check_weight, chosen_weight

Graph = EdgeList | EdgeSource


class Adopter(NamedTuple):
    """One kind of objects that are graphs."""

    #: Returns whether an object is of this kind.
    recognises: Callable[[Any], bool]
    #: Takes an object and the chosen columns; returns the graph.
    opens: Callable[[Any, Choice], Graph]
    #: Whether the graph is an `EdgeSource`.
    is_streamed: bool = False


def adopt(graph: Any, choice: Choice, *, may_stream: bool = True) -> Graph:
    """Open an object as a graph, by the first adopter that recognises it."""
    if callable(choice.weight) and not is_instance(graph, "networkx.Graph"):
        raise OptionError(
            f"weight may be a function only for a networkx graph, not for a "
            f"{type(graph).__name__}; compute the weights and pass them as a column"
        )
    check_no_records(graph)
    for adopter in ADOPTERS:
        if (may_stream or not adopter.is_streamed) and adopter.recognises(graph):
            return adopter.opens(graph, choice)
    raise _unknown_graph(graph)


def has_nodes(graph: Any) -> bool:
    """Return whether a graph is of a library that gives names to vertices."""
    return is_instance(graph, "networkx.Graph", "igraph.Graph")


def _unknown_graph(graph: Any) -> GraphError:
    message = (
        "expected a graph: an EdgeList, a tuple of columns (u, v) or (u, v, weight), a path, a "
        "list of paths, a scipy sparse matrix, a networkx or igraph graph, or a table of pandas, "
        f"Dask or any library that supports Arrow; found {type(graph).__name__}"
    )
    return GraphError(message + hint_for(graph))


# Graphs in memory.


def _has_class(*names: str) -> Callable[[Any], bool]:
    """Return a function that recognises instances of classes by the names of the classes."""
    return lambda graph: is_instance(graph, *names)


def _from_edge_list(graph: EdgeList, choice: Choice) -> EdgeList:
    # The caller may have changed the weights in place.
    return chosen_weight(graph.replaced(unsigned=False), choice)


def _are_arrays(graph: Any) -> bool:
    """Return whether an object is a tuple of two or three NumPy arrays, which is the usual case."""
    return type(graph) is tuple and len(graph) in (2, 3) and {*map(type, graph)} == {np.ndarray}


def _from_columns(columns: Any, choice: Choice) -> EdgeList:
    check_weight(choice)
    return EdgeList(*(columns if choice.weight else columns[:2]))


def _from_sequence(items: Any, choice: Choice) -> EdgeList:
    """Convert a sequence of columns, if it cannot be a list of edges."""
    if isinstance(items, list):
        _check_list(items)
    if len(items) not in (2, 3):
        raise _unknown_graph(items)
    return _from_columns(items, choice)


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


def _from_scipy(matrix: Any, choice: Choice) -> EdgeList:
    """Return an edge for each stored entry, including zeros; duplicates are not summed."""
    if matrix.format not in ("coo", "csr", "csc"):
        hint = "pass matrix.tocsr()"
        if matrix.format == "bsr":  # whose blocks contain zeros that are not entries
            hint = "set a = matrix.tocsr(), call a.eliminate_zeros() and pass a"
        message = f"expected a COO, CSR or CSC matrix, found {matrix.format}; {hint}"
        raise GraphError(message)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise GraphError(f"expected a square matrix, found shape {matrix.shape}")
    if (np.diff(getattr(matrix, "indptr", ())) < 0).any():
        raise GraphError("the matrix is inconsistent: indptr must be ascending")
    try:
        entries = matrix.tocoo()
    except ValueError as error:
        raise GraphError(f"the matrix is inconsistent: {error}") from error
    check_weight(choice)
    values = None if choice.weight is None else entries.data
    return EdgeList(entries.row, entries.col, values, num_vertices=matrix.shape[0])


def _from_networkx(graph: Any, choice: Choice) -> EdgeList:
    return from_networkx(graph, attribute_of_weights(choice))


def _from_igraph(graph: Any, choice: Choice) -> EdgeList:
    """Convert an igraph graph; the attribute `name` of its vertices has their names."""
    weight = attribute_of_weights(choice)
    ends = np.array(graph.get_edgelist(), np.int64).reshape(-1, 2)
    attributes, count = graph.es.attributes(), graph.vcount()
    if weight is not None and weight not in attributes:
        values = ((name, value) for name in attributes for value in (None, *graph.es[name]))
        check_no_weights(weight, values)
    column = graph.es[weight] if weight in attributes else None
    names = graph.vs["name"] if "name" in graph.vs.attributes() else range(count)
    return EdgeList(ends[:, 0], ends[:, 1], column, num_vertices=count, names=names_of(list(names)))


def _from_mapping(columns: Any, choice: Choice) -> EdgeList:
    return EdgeList(*(columns[name] for name in choice(list(columns)).present))


def _from_table(table: Any, choice: Choice) -> EdgeList:
    blocks = list(tables(table, choice))
    if not blocks:
        return EdgeList([], [])
    names, _ = blocks[0]
    return arrow_graph(names, pa.concat_tables([block for _, block in blocks]))


# Graphs that are streamed.


def _from_source(source: EdgeSource, choice: Choice) -> EdgeSource:
    check_weight(choice, "a source")
    # The caller may have changed weights in memory.
    return replace(source, unsigned=False) if source.is_in_memory else source


def stream_table(table: Any, choice: Choice) -> EdgeSource:
    """Return a lazy table as a source, which reads its rows in each scan."""
    rows: Any = Rows(table, choice)
    return EdgeSource((Chunks(iter(rows) if is_read_once(table) else rows, _open_rows),))


def _open_rows(rows: tuple[ColumnNames, Any], name: str) -> ArraySegment:
    names, table = rows
    try:
        graph = arrow_graph(names, table)
    except GraphError as error:
        raise GraphError(f"{name}: {error}") from error
    return ArraySegment(graph.u, graph.v, graph.weight)


def _from_dask(graph: Any, choice: Choice) -> EdgeSource:
    convert = partial(_open_chunk, choice=choice)
    return EdgeSource(tuple(Delayed(chunk, convert, name) for chunk, name in dask_chunks(graph)))


def _are_chunks(graph: Any) -> bool:
    return isinstance(graph, tuple | list) and len(graph) > 0 and all(map(_is_chunk, graph))


def _is_chunk(item: Any) -> bool:
    """Return whether an item of a sequence is a chunk instead of a column of scalars."""
    if isinstance(item, tuple | list):
        return len(item) > 0 and all(map(np.ndim, item))
    return isinstance(item, EdgeList) or any(kind.recognises(item) for kind in _LIBRARIES)


def _is_iterable(graph: Any) -> bool:
    is_other = isinstance(graph, Mapping | list | tuple) or is_instance(graph, "dask.Bag")
    is_other |= hasattr(graph, "__array__") or hasattr(graph, "read")
    return isinstance(graph, Iterable) and not is_other


def _from_chunks(chunks: Any, choice: Choice) -> EdgeSource:
    return EdgeSource((Chunks(chunks, partial(_open_chunk, choice=choice)),))


def _open_chunk(chunk: Any, name: str, choice: Choice) -> ArraySegment:
    if isinstance(chunk, list) and chunk and all(isinstance(row, tuple) for row in chunk):
        message = "expected columns, found a list of edges; make it tuple(zip(*edges))"
        raise GraphError(f"{name}: {message}")
    if is_dask(chunk):
        message = "expected columns, found a value that Dask computes"
        raise GraphError(f"{name}: {message}; pass a list of the chunks: list(...)")
    if isinstance(chunk, tuple | list):
        check_weight(choice, name)
        return column_segment(chunk, name)
    if places_of(chunk):
        raise GraphError(f"{name}: expected columns, found a path; pass a list of paths instead")
    try:
        graph: Any = adopt(chunk, choice, may_stream=False)
    except GraphError as error:
        raise GraphError(f"{name}: {error}") from error
    refuse_device(graph.u, name)
    if graph.names is not None:
        raise GraphError(
            f"{name}: its nodes have names, but chunks share numbers of vertices; join the graphs, "
            "or pass tables of names with ends="
        )
    return ArraySegment(graph.u, graph.v, graph.weight, graph.num_vertices)


#: Graphs and tables of libraries. A chunk may also be one of these.
_LIBRARIES = (
    Adopter(_has_class("scipy.sparray", "scipy.spmatrix"), _from_scipy),
    Adopter(_has_class("networkx.Graph"), _from_networkx),
    Adopter(_has_class("igraph.Graph"), _from_igraph),
    Adopter(lambda graph: isinstance(graph, Mapping), _from_mapping),
    Adopter(is_table, _from_table),
)

#: Tried in this order.
ADOPTERS = (
    Adopter(_are_arrays, _from_columns),
    Adopter(lambda graph: isinstance(graph, EdgeList), _from_edge_list),
    Adopter(lambda graph: isinstance(graph, EdgeSource), _from_source, is_streamed=True),
    *_LIBRARIES,
    Adopter(is_dask, _from_dask, is_streamed=True),
    Adopter(_are_chunks, _from_chunks, is_streamed=True),
    Adopter(_is_iterable, _from_chunks, is_streamed=True),
    Adopter(lambda graph: isinstance(graph, tuple | list), _from_sequence),
)
