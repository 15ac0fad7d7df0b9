"""Open a graph in any accepted form: as an edge list, or as a source that is streamed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from io import IOBase
from os import fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import GraphError, OptionError
from ..progress import set_listener
from ..runtime.device import refuse_device
from .edge_list import EdgeList, check_weight, checked_num_vertices
from .file_checks import FileState, most_from, paths_of
from .formats import format_of
from .libraries import class_names, is_dask_table, is_delayed
from .names.number import number_graph
from .read import edge_list, is_known, read
from .segments import ArraySegment, Chunks, Delayed, File, column_segment
from .source import EdgeSource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from os import PathLike

    from .segments import Adopt

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
) -> EdgeList | EdgeSource:
    """Return a graph as an edge list, or as a source if it is streamed.

    The first arguments are those of `minimum_spanning_forest`; `memory` and `checkpoint` are only
    used with `ends` (see `names.number.number_graph`). Files are loaded unless `is_streamed`. If
    memory `is_bounded`, hold one at a time of those that cannot be streamed.
    """
    if callable(weight) and ends is None:
        return edge_list(graph, num_vertices, weight)
    if not isinstance(weight, str | None):
        raise OptionError(f"weight must be a name or None, not {weight!r}")
    if ends is not None:
        options: Any = {"num_vertices": num_vertices, "memory": memory, "checkpoint": checkpoint}
        return number_graph(graph, ends, weight, **options)
    source = _source(graph, weight, is_streamed=is_streamed, is_bounded=is_bounded)
    if source is None:
        return edge_list(graph, num_vertices, weight)
    if num_vertices is not None:
        count = checked_num_vertices(num_vertices)
        source = replace(source, num_vertices=count, counted_in="", is_checked=False)
    if weight is None:
        source = replace(source, unweighted=True, weight_dtype=np.dtype(np.int64))
    return source


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
        found = format_of(path, format)
        source = found.source(path, weight, is_bounded=is_bounded)
        if source is None and is_bounded:
            # Without `size`, assume that the columns and the work to read them take all that a file
            # may expand to.
            size = most_from(path) // 2 if found.size is None else found.size(path)
            whole, most = partial(_whole, format=format, weight=weight), -(-size // _EDGE)
            state, options = FileState.of(path), f"{weight}"
            file = File(path, found.name, whole, options, state, edges_at_once=most)
            source = EdgeSource((file,))
        sources.append(source or EdgeSource.of(found.graph(path, weight)))
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


def _source(
    graph: Any, weight: str | None, *, is_streamed: bool, is_bounded: bool
) -> EdgeSource | None:
    """Return a source if the graph is a source or must be streamed, else None."""
    is_columns = isinstance(graph, tuple) and {*map(type, graph)} == {np.ndarray}
    if is_columns or isinstance(graph, EdgeList):  # the usual cases
        return None
    if isinstance(graph, EdgeSource):
        check_weight(weight, "a source")
        return graph
    adopt = partial(_adopted, weight=weight)
    if paths := paths_of(graph):
        return open_files(paths, weight=weight, is_bounded=is_bounded) if is_streamed else None
    items = graph if isinstance(graph, tuple | list) else [graph] if is_delayed(graph) else ()
    if items and all(map(is_delayed, items)):
        return EdgeSource(tuple(Delayed(item, adopt, str(item.key)) for item in items))
    if items and all(map(_is_chunk, items)):
        return EdgeSource((Chunks(items, adopt),))
    tables = items or [graph]
    if all(map(is_dask_table, tables)):
        chunks = (chunk for table in tables for chunk in table.to_delayed())
        return EdgeSource(tuple(Delayed(chunk, adopt, str(chunk.key)) for chunk in chunks))
    if all("dask.Array" in class_names(table) for table in tables):
        return EdgeSource(tuple(_chunks_of_arrays(tables, adopt)))
    is_other = isinstance(graph, Mapping | list | tuple | EdgeList | IOBase)
    is_other |= hasattr(graph, "__array__")
    if isinstance(graph, Iterable) and not is_other and not is_known(graph):
        return EdgeSource((Chunks(graph, adopt),))
    return None


def _chunks_of_arrays(arrays: Sequence[Any], adopt: Adopt) -> Iterator[Delayed]:
    """Yield the chunks of Dask arrays: two or three arrays, or an array of two or three columns."""
    import dask
    from dask.array import unify_chunks

    if len(arrays) == 1 and arrays[0].ndim == 2:
        arrays = [arrays[0][:, place] for place in range(arrays[0].shape[1])]
    lengths = {array.shape for array in arrays}
    if len(arrays) not in (2, 3) or len(lengths) > 1 or any(array.ndim != 1 for array in arrays):
        shapes = ", ".join(str(array.shape) for array in arrays)
        message = f"expected columns u, v, maybe weight, of one length, found shapes {shapes}"
        raise GraphError(message)
    _, columns = unify_chunks(*(each for array in arrays for each in (array, "i")))
    # Optimisation would drop data that a client other than the default one has persisted.
    chunks = zip(*(c.to_delayed(optimize_graph=False) for c in columns), strict=True)
    for number, chunk in enumerate(chunks):
        yield Delayed(dask.delayed(_columns)(*chunk), adopt, f"{number} of the arrays")


def _columns(*columns: Any) -> tuple[Any, ...]:
    return columns


def _is_chunk(item: Any) -> bool:
    """Return whether an item of a sequence is a chunk instead of a column of scalars."""
    if isinstance(item, tuple | list):
        return len(item) > 0 and all(map(np.ndim, item))
    return isinstance(item, EdgeList) or is_known(item)


def _adopted(chunk: Any, name: str, weight: str | None) -> ArraySegment:
    if isinstance(chunk, tuple | list):
        check_weight(weight, name)
        return column_segment(chunk, name)
    if paths_of(chunk):
        raise GraphError(f"{name}: expected columns, found a path; pass a list of paths instead")
    try:
        graph = edge_list(chunk, None, weight)
    except GraphError as error:
        raise GraphError(f"{name}: {error}") from error
    refuse_device(graph.u, name)
    return ArraySegment(graph.u, graph.v, graph.weight, graph.num_vertices)
