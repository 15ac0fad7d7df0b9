"""Open a graph in any accepted form: as an edge list, or as a source that is streamed."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from os import PathLike
from typing import Any, Unpack

import numpy as np

from ..errors import GraphError, GraphWarning, OptionError, file_errors
from ..graphs.edge_list import EdgeList, checked_num_vertices
from ..graphs.reading import Reading, check_names
from ..graphs.source import EdgeSource
from ..progress import Listener, set_listener
from .adopters import adopt, stream_table
from .column_names import chosen_columns
from .files import load_files, open_files
from .formats import parts_of
from .libraries.tables import is_lazy, is_table, series_as_table
from .names.number import number_graph
from .places.url import Place, places_of

#: Number of edges to search for vertex 0 at once; in most graphs the first search finds it.
_BLOCK = 2**18


def read(graph: Any, *, progress: bool | Listener = True, **reading: Unpack[Reading]) -> EdgeList:
    """Read a graph into memory: from one or more files that together are one graph, or an object.

    Parameters
    ----------
    graph : path or URL, sequence of these, or object of another library
        Edge ids run through all files, in this order. A folder or a pattern such as
        ``edges/**/*.parquet`` stands for its files, in natural order: `part.2` is before `part.10`.
        A URL may be of any file system of fsspec; `fsspec.open(url, **options)` has options. Other
        graphs are those that `mstflow.minimum_spanning_forest` accepts, except for streamed ones.
    progress : bool or callable
        As for `mstflow.minimum_spanning_forest`. Text files report the bytes that are read.
    **reading
        The options listed below under Other Parameters.

    Returns
    -------
    EdgeList
        With `ends`, it has `names`.

    Other Parameters
    ----------------
    format : str, optional
        One of `format_names`. By default it follows from the suffix, or from the content if the
        suffix is unknown. Text may be compressed: `.gz`, `.xz`, `.bz2`, `.zst`. A folder of
        `.npy` columns has the format "npy".
    num_vertices, weight, ends, columns, first_id, encoding : optional
        As for `mstflow.minimum_spanning_forest`.

    Raises
    ------
    FileFormatError
        If a file cannot be read or is malformed. Names the file, and the line, array or edge.
    OptionError
        If an option is invalid.
    GraphError
        If `graph` is not a graph in memory or in files, no dtype represents the weights of all
        files, or `num_vertices` is too small.
    """
    check_names("read", reading)
    with set_listener(progress):
        return edge_list(graph, **reading)


def edge_list(graph: Any, **reading: Unpack[Reading]) -> EdgeList:
    """Convert a graph that is not streamed, or files, to an edge list.

    `docs/formats.md` defines the order of the edges for each form.
    """
    opened = open_graph(graph, may_stream=False, **reading)
    assert isinstance(opened, EdgeList)  # nothing is streamed
    return opened


def open_graph(
    graph: Any,
    *,
    is_streamed: bool = False,
    may_stream: bool = True,
    memory: int | None = None,
    checkpoint: str | PathLike[str] | None = None,
    scheduler: Any = None,
    **reading: Unpack[Reading],
) -> EdgeList | EdgeSource:
    """Return a graph as an edge list, or as a source if it is streamed.

    Files are loaded unless `is_streamed`. Objects that can only be streamed are refused unless they
    `may_stream`. If `memory` is bounded, one file at a time is loaded of those that cannot be
    streamed. A lazy table, such as a query, is streamed if memory is bounded and all tasks run in
    the calling thread: most lazy tables can be neither sent to a process nor shared by threads. By
    default, they do. For graphs with names, see `names.number.number_graph`.
    """
    graph = series_as_table(graph)
    paths = places_of(graph)
    _check_options(graph, paths, reading)
    weight: Any = reading.get("weight", "weight")
    files: Any = {name: reading.get(name) for name in ("format", "encoding")}
    if (ends := reading.get("ends")) is not None:
        cluster = scheduler if scheduler is not None and scheduler.is_remote else None
        options: Any = {"memory": memory, "checkpoint": checkpoint, "cluster": cluster}
        return number_graph(graph, ends, weight, **files, **options)
    choice, place = chosen_columns(reading.get("columns"), weight), ""
    opened: EdgeList | EdgeSource
    if paths and not callable(weight):  # `adopt` refuses a function
        if is_streamed:
            opened = open_files(paths, choice=choice, is_bounded=memory is not None, **files)
        else:
            parts = parts_of(paths, **files)
            opened = load_files(parts, choice)
            place = str(parts[0][0].place) if all(kind.has_columns for _, kind in parts) else ""
    elif memory is not None and (scheduler is None or scheduler.eager) and is_lazy(graph):
        opened = stream_table(graph, choice)
    else:
        opened = adopt(graph, choice, may_stream=may_stream)
        place = "the table" if is_table(graph) else ""
    first_id, num_vertices = reading.get("first_id"), reading.get("num_vertices")
    if first_id is None and place and isinstance(opened, EdgeList):
        _warn_if_counted_from_one(opened, place)
    opened = _subtract_first_id(opened, first_id or 0)
    if isinstance(opened, EdgeList):
        if num_vertices is None:
            return opened
        with file_errors(paths[0], GraphError) if len(paths) == 1 else nullcontext():
            return opened.on(num_vertices)
    if num_vertices is not None:
        count = checked_num_vertices(num_vertices)
        opened = replace(opened, num_vertices=count, counted_in="", is_checked=False)
    if weight is None:
        opened = replace(opened, unweighted=True, weight_dtype=np.dtype(np.int64))
    return opened


def _check_options(graph: Any, paths: Sequence[Place], reading: Reading) -> None:
    """Check that options of reading suit the graph, and each other."""
    for name, value in (("encoding", reading.get("encoding")), ("format", reading.get("format"))):
        if value is not None and not paths:
            raise OptionError(f"{name}= is for files, and this graph is a {type(graph).__name__}")
    weight, has_names = reading.get("weight", "weight"), reading.get("ends") is not None
    is_name = isinstance(weight, str | int | None) and not isinstance(weight, bool)
    if not is_name and (has_names or not callable(weight)):
        raise OptionError(f"weight must be a name, a position or None, not {weight!r}")
    if has_names and (reading.get("columns") is not None or reading.get("first_id")):
        raise OptionError("columns= and first_id= are for numbers of vertices, ends= for names")
    if has_names and reading.get("num_vertices") is not None:
        raise OptionError("num_vertices= is for numbers; with ends=, the names determine it")


def _subtract_first_id(graph: EdgeList | EdgeSource, first_id: Any) -> EdgeList | EdgeSource:
    """Return a graph with `first_id` subtracted from all vertex ids."""
    is_integer = isinstance(first_id, int | np.integer) and not isinstance(first_id, bool)
    if not is_integer or first_id < 0:
        raise OptionError(f"first_id must be an integer of at least 0, not {first_id!r}")
    if not first_id:
        return graph
    if graph.names is not None:
        raise OptionError("first_id= is for vertices with numbers; these have names")
    source = EdgeSource.of(graph)
    count = source.num_vertices
    source = replace(
        source,
        first_vertex=source.first_vertex + int(first_id),
        num_vertices=None if count is None else max(0, count - first_id),
        least_vertices=max(0, source.least_vertices - first_id),
        is_checked=False,
    )
    if isinstance(graph, EdgeSource):
        return source
    joined = EdgeList(*source.columns(), num_vertices=source.num_vertices)
    return joined.replaced(files=graph.files)


def _warn_if_counted_from_one(graph: EdgeList, place: str) -> None:
    """Warn if the vertices of a file or table seem to be numbered from 1."""
    least = 2
    for start in range(0, graph.num_edges, _BLOCK):
        for ids in (graph.u, graph.v):
            least = min(least, int(ids[start : start + _BLOCK].min()))
            if least == 0:
                return
    if least == 1:
        message = (
            f"{place}: vertex ids start at 1, so vertex 0 has no edge; pass first_id=1 if vertices "
            "are numbered from 1, or first_id=0 to keep it"
        )
        warnings.warn(message, GraphWarning, stacklevel=2)
