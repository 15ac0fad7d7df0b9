"""From whatever a user calls a graph to an edge list, or to a source that is streamed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import GraphError, OptionError
from .edge_list import EdgeList
from .npy_columns import npy_source
from .parquet import parquet_source
from .pieces import Chunks, Delayed
from .read import format_of, read
from .source import EdgeSource

#: What reads only the outline of a graph, by what its path is.
_STREAMED = {"npy": npy_source, "parquet": parquet_source}


def open_graph(
    graph: Any, num_vertices: int | None, weight: str | None, *, is_streamed: bool = False
) -> EdgeList | EdgeSource:
    """Return a graph in memory if it is or can be, else as a source.

    Parameters
    ----------
    graph
        As `minimum_spanning_forest` takes it.
    num_vertices : int, optional
        In place of what the graph says.
    weight : str or None
        None for integer 1 each.
    is_streamed : bool
        Do not load what need not be.

    Raises
    ------
    GraphError
        If it is no graph, or its vertices are not below `num_vertices`.
    FileFormatError, OptionError
        If a file, or `weight`, is not what it should be.
    """
    if weight not in ("weight", None):
        message = f"the graph has no weights called {weight!r}; it has: 'weight'"
        raise OptionError(message)
    found = _open(graph, is_streamed=is_streamed)
    if isinstance(found, EdgeSource):
        known = found.num_vertices if num_vertices is None else num_vertices
        return replace(found, num_vertices=known, unweighted=found.unweighted or weight is None)
    if weight is not None and num_vertices is None:
        return found
    weights = None if weight is None else found.weight
    known = found.num_vertices if num_vertices is None else num_vertices
    return EdgeList(found.u, found.v, weights, num_vertices=known)


def _open(graph: Any, *, is_streamed: bool) -> EdgeList | EdgeSource:
    if isinstance(graph, EdgeList | EdgeSource):
        return graph
    if isinstance(graph, str | os.PathLike):
        graph = [graph]
    items = graph if isinstance(graph, tuple | list) else ()
    if items and all(isinstance(item, str | os.PathLike) for item in items):
        return open_files(items) if is_streamed else read(items)
    if items and all(hasattr(item, "__dask_graph__") for item in items):
        return EdgeSource(tuple(Delayed(item) for item in items))
    if items and all(map(_is_chunk, items)):
        return EdgeSource((Chunks(items),))
    if len(items) in (2, 3):
        return EdgeList(*items)
    is_other = isinstance(graph, Mapping | list | tuple) or hasattr(graph, "__array__")
    if isinstance(graph, Iterable) and not is_other:
        return EdgeSource((Chunks(graph),))
    message = (
        f"a graph is an EdgeList, a tuple of arrays (u, v) or (u, v, weight), a path or a list "
        f"of paths, or an iterable of chunks, not {type(graph).__name__}"
    )
    raise GraphError(message)


def open_files(
    paths: Sequence[str | os.PathLike[str]],
    format: str | None = None,  # noqa: A002
) -> EdgeSource:
    """Return files that together are one graph as a source; edge ids run on from one to the next.

    Folders of `.npy` columns and Parquet files are streamed; others are read.

    Raises
    ------
    FileFormatError, OptionError
        As `read`.
    """
    sources = []
    for path in map(Path, paths):
        name = format or format_of(path)
        if name in _STREAMED:
            sources.append(_STREAMED[name](path))
        else:
            sources.append(EdgeSource.of(read(path, format=format)))
    counts = [source.num_vertices for source in sources]
    known = None if None in counts else max(count for count in counts if count is not None)
    pieces = tuple(piece for source in sources for piece in source.pieces)
    return EdgeSource(pieces, known, is_checked=all(source.is_checked for source in sources))


def _is_chunk(item: Any) -> bool:
    """Tell chunks from columns: what they hold has a length of its own."""
    if isinstance(item, EdgeList):
        return True
    return isinstance(item, tuple | list) and len(item) > 0 and all(map(np.ndim, item))
