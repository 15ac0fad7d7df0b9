"""Open a graph in any accepted form: as an edge list, or as a source that is streamed."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import GraphError, OptionError
from ..progress import set_listener
from .adopters import adopt, stream_table
from .edge_list import EdgeList, checked_num_vertices, concatenate
from .file_checks import FileState, most_from, places_of
from .formats import parts_of
from .formats.file_format import identity
from .libraries.tables import is_lazy
from .names.number import number_graph
from .read import read
from .segments import ArraySegment, File
from .source import EdgeSource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from os import PathLike

    from .formats.file_format import Format
    from .places.folders import Part
    from .places.url import AnyPlace, Place

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
    is_inline: bool = True,
) -> EdgeList | EdgeSource:
    """Return a graph as an edge list, or as a source if it is streamed.

    The first arguments are those of `minimum_spanning_forest`; `memory` and `checkpoint` are only
    used with `ends` (see `names.number.number_graph`). Files are loaded unless `is_streamed`. If
    memory `is_bounded`, hold one at a time of those that cannot be streamed. A lazy table, such as
    a query, is streamed if memory is bounded and all tasks run in the calling thread: most of them
    can be neither sent to a process nor shared by threads.
    """
    if callable(weight) and ends is None:
        return edge_list(graph, num_vertices, weight)
    if not isinstance(weight, str | None):
        raise OptionError(f"weight must be a name or None, not {weight!r}")
    if ends is not None:
        options: Any = {"num_vertices": num_vertices, "memory": memory, "checkpoint": checkpoint}
        return number_graph(graph, ends, weight, **options)
    opened: EdgeList | EdgeSource
    if not (paths := places_of(graph)):
        is_rows = is_bounded and is_inline and is_lazy(graph)
        opened = stream_table(graph, weight) if is_rows else adopt(graph, weight)
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
    if not callable(weight) and (paths := places_of(graph)):
        return read(paths, num_vertices=num_vertices, weight=weight)
    loaded = adopt(graph, weight, may_stream=False)
    assert isinstance(loaded, EdgeList)
    return loaded if num_vertices is None else loaded.on(num_vertices)


def open_files(
    paths: Sequence[AnyPlace],
    format: str | None = None,  # noqa: A002
    weight: str | None = "weight",
    *,
    is_bounded: bool = False,
) -> EdgeSource:
    """Return a source of files that together are one graph; edge ids run through all files.

    Folders of `.npy` columns and Parquet files are streamed. Other files are loaded, and all files
    if their weights differ in dtype. If memory is bounded, other files are read in each scan
    instead: text and `.bin` in blocks, others as a whole.
    """
    parts = parts_of(places_of(list(paths)), format)
    sources = [_part_source(part, kind, weight, is_bounded) for part, kind in parts]
    dtypes = {
        source.weight_dtype: part.place
        for source, (part, _) in zip(sources, parts, strict=True)
        if source is not None and source.weight_dtype is not None and weight is not None
    }
    if len(dtypes) > 1 and is_bounded:
        found = " and ".join(f"{dtype} in {path}" for dtype, path in dtypes.items())
        message = f"files that are streamed need weights of one dtype; found {found}"
        raise GraphError(f"{message}; without memory=, mstflow converts them")
    if len(dtypes) > 1 or all(source is None for source in sources):
        return EdgeSource.of(concatenate([kind.graph(part, weight) for part, kind in parts]))
    opened = [
        source or EdgeSource.of(kind.graph(part, weight))
        for source, (part, kind) in zip(sources, parts, strict=True)
    ]
    counts = [source.num_vertices or 0 for source in opened]
    least = max(counts)
    return EdgeSource(
        tuple(segment for source in opened for segment in source.segments),
        None if any(source.num_vertices is None for source in opened) else least,
        unweighted=weight is None,
        weight_dtype=next(iter(dtypes), None),
        least_vertices=least,
        counted_in=str(parts[counts.index(least)][0].place),
    )


def _part_source(
    part: Part, kind: Format, weight: str | None, is_bounded: bool
) -> EdgeSource | None:
    """Return a file as a source, or None if it must be loaded."""
    source = kind.source(part, weight, is_bounded=is_bounded)
    if source is not None or not is_bounded:
        return source
    # Without `size`, assume that the columns and the work to read them take all that a file may
    # expand to.
    size = most_from(part.place) // 2 if kind.size is None else kind.size(part.place)
    whole, options = partial(_whole, part=part, kind=kind, weight=weight), identity(part, weight)
    state, most = FileState.of(part.place), -(-size // _EDGE)
    return EdgeSource((File(part.place, kind.name, whole, options, state, edges_at_once=most),))


def _whole(_: Place, part: Part, kind: Format, weight: str | None) -> Iterator[ArraySegment]:
    with set_listener(False):  # the scan reports the progress
        graph = kind.graph(part, weight)
    yield ArraySegment(graph.u, graph.v, graph.weight, graph.num_vertices)
