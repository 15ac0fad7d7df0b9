"""Open a graph in any accepted form: as an edge list, or as a source that is streamed."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from os import fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import OptionError
from ..progress import set_listener
from .adopters import adopt
from .edge_list import EdgeList, checked_num_vertices
from .file_checks import FileState, most_from, paths_of
from .formats import format_of
from .names.number import checked_ends, number_graph
from .names.on_workers import dask_chunks, number_on_workers
from .read import read
from .segments import ArraySegment, File
from .source import EdgeSource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from os import PathLike

#: Bytes of an edge in columns of 64 bits.
_EDGE = 24


def open_graph(
    graph: Any,
    num_vertices: int | None,
    weight: str | Callable[..., Any] | None,
    *,
    ends: Sequence[str] | None = None,
    memory: int | None = None,
    checkpoint: str | PathLike[str] | None = None,
    is_streamed: bool = False,
    is_bounded: bool = False,
    workers: Any = None,
) -> EdgeList | EdgeSource:
    """Return a graph as an edge list, or as a source if it is streamed.

    The first arguments are those of `minimum_spanning_forest`; `memory`, `checkpoint` and `workers`
    are only used with `ends` (see `names.number`): the scheduler of a cluster numbers the names of
    a Dask collection. Files are loaded unless `is_streamed`. If memory `is_bounded`, hold one at a
    time of those that cannot be streamed.
    """
    if callable(weight) and ends is None:
        return edge_list(graph, num_vertices, weight)
    if not isinstance(weight, str | None):
        raise OptionError(f"weight must be a name or None, not {weight!r}")
    if ends is not None:
        if workers is not None and (chunks := dask_chunks(graph)):
            names = checked_ends(ends, num_vertices)
            return number_on_workers(chunks, names, weight, workers)
        options: Any = {"num_vertices": num_vertices, "memory": memory, "checkpoint": checkpoint}
        return number_graph(graph, ends, weight, **options)
    opened: EdgeList | EdgeSource
    if not (paths := paths_of(graph)):
        opened = adopt(graph, weight)
    elif is_streamed:
        opened = open_files(paths, weight=weight, is_bounded=is_bounded)
    else:
        opened = read(paths, num_vertices=num_vertices, weight=weight)
    if isinstance(opened, EdgeList):
        return opened if num_vertices is None else opened.on(num_vertices)
    if num_vertices is not None:
        count = checked_num_vertices(num_vertices)
        opened = replace(opened, num_vertices=count, counted_in="", is_checked=False)
    if weight is None:
        opened = replace(opened, unweighted=True, weight_dtype=np.dtype(np.int64))
    return opened


def edge_list(
    graph: Any, num_vertices: int | None = None, weight: str | Callable[..., Any] | None = "weight"
) -> EdgeList:
    """Convert a graph that is not streamed, or files, to an edge list.

    The arguments are those of `minimum_spanning_forest`. `docs/formats.md` defines the order of the
    edges for each form.
    """
    if not callable(weight) and (paths := paths_of(graph)):
        return read(paths, num_vertices=num_vertices, weight=weight)
    loaded = adopt(graph, weight, may_stream=False)
    assert isinstance(loaded, EdgeList)
    return loaded if num_vertices is None else loaded.on(num_vertices)


def open_files(
    paths: Sequence[str | PathLike[str]],
    format: str | None = None,  # noqa: A002
    weight: str | None = "weight",
    *,
    is_bounded: bool = False,
) -> EdgeSource:
    """Return a source of files that together are one graph; edge ids run through all files.

    Folders of `.npy` columns and Parquet files are streamed. Other files are loaded. If memory is
    bounded, they are read in each scan instead: text and `.bin` in blocks, others as a whole.
    """
    sources = []
    for path in map(Path, paths):
        file_format = format_of(path, format)
        source = file_format.source(path, weight, is_bounded=is_bounded)
        if source is None and is_bounded:
            # Without `size`, assume that the columns and the work to read them take all that a file
            # may expand to.
            size = most_from(path) // 2 if file_format.size is None else file_format.size(path)
            whole, most = partial(_whole, format=format, weight=weight), -(-size // _EDGE)
            state, options = FileState.of(path), f"{weight}"
            file = File(path, file_format.name, whole, options, state, edges_at_once=most)
            source = EdgeSource((file,))
        sources.append(source or EdgeSource.of(file_format.graph(path, weight)))
    segments = tuple(segment for source in sources for segment in source.segments)
    counts = [source.num_vertices or 0 for source in sources]
    least = max(counts)
    dtypes = {source.weight_dtype for source in sources}
    return EdgeSource(
        segments,
        None if any(source.num_vertices is None for source in sources) else least,
        unweighted=weight is None,
        is_checked=len(sources) == 1 and sources[0].is_checked,
        weight_dtype=dtypes.pop() if len(dtypes) == 1 else None,
        least_vertices=least,
        counted_in=fspath(paths[counts.index(least)]),
    )


def _whole(path: Path, format: str | None, weight: str | None) -> Iterator[ArraySegment]:  # noqa: A002
    with set_listener(False):  # the scan reports the progress
        graph = read(path, format=format, weight=weight)
    yield ArraySegment(graph.u, graph.v, graph.weight, graph.num_vertices)
