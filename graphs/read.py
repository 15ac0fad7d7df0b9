"""Read the files of one graph into memory."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from ..errors import FileFormatError, GraphError, OptionError
from ..progress import set_listener
from .column_names import wanted_columns
from .edge_list import EdgeList, are_ones, concatenate
from .file_checks import file_errors, places_of
from .first_id import hint_at_first_id, renumbered
from .formats import parts_of
from .names.number import number_graph

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..progress import Listener
    from .column_names import Column, Weight
    from .formats.file_format import Format
    from .places.folders import Part
    from .places.url import AnyPlace, Place


def read(
    source: AnyPlace | Sequence[AnyPlace],
    *,
    format: str | None = None,  # noqa: A002  # the user's word
    num_vertices: int | None = None,
    weight: Column | None = "weight",
    ends: Sequence[Any] | None = None,
    columns: Sequence[Column] | None = None,
    first_id: int | None = None,
    encoding: str | None = None,
    progress: bool | Listener = True,
) -> EdgeList:
    """Read a graph from one file, or from several that together are one graph.

    Parameters
    ----------
    source : path or URL, or sequence of these
        Edge ids run through all files, in this order. A folder or a pattern such as
        ``edges/**/*.parquet`` stands for its files, in natural order: `part.2` is before `part.10`.
        A URL may be of any file system of fsspec; `fsspec.open(url, **options)` has options.
    format : str, optional
        One of `format_names`. By default it follows from the suffix, or from the content if the
        suffix is unknown. Text may be compressed: `.gz`, `.xz`, `.bz2`, `.zst`. A folder of
        `.npy` columns has the format "npy".
    num_vertices : int, optional
        Overrides the number of vertices that the files state.
    weight : str, int or None
        The column of weights, in formats with named columns. None for weight 1 on every edge.
    ends, columns, first_id, encoding : optional
        As for `mstflow.minimum_spanning_forest`. With `ends`, the graph has `names`.
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
    paths = places_of(source)
    if not paths:
        raise OptionError(f"expected a path or a list of paths, found {type(source).__name__}")
    graph: EdgeList
    with set_listener(progress):
        if ends is not None:
            check_only_ends(columns, first_id)
            options: Any = {"format": format, "num_vertices": num_vertices, "encoding": encoding}
            numbered = number_graph(paths, ends, weight, **options)
            assert isinstance(numbered, EdgeList)  # without memory=, DuckDB is not used
            return numbered
        parts, wanted = parts_of(paths, format), wanted_columns(columns, weight)
        graph = concatenate_parts(parts, wanted, hint=first_id is None)
    graph = renumbered(graph, first_id or 0)
    return graph if num_vertices is None else on_vertices(graph, num_vertices, paths)


def concatenate_parts(
    parts: Sequence[tuple[Part, Format]], weight: Weight, *, hint: bool = False
) -> EdgeList:
    """Return the graph of files; see `column_names.choose_columns` for `weight`.

    Give a hint if vertices seem to be numbered from 1 in a format that has no rule for it.
    """
    graphs = [kind.graph(part, weight) for part, kind in parts]
    if weight is not None:
        check_same_columns(
            (part.place, [not are_ones(graph.weight)] * (graph.num_edges > 0))
            for (part, _), graph in zip(parts, graphs, strict=True)
        )
    graph = concatenate(graphs)
    if hint and all(kind.has_columns for _, kind in parts):
        hint_at_first_id(graph, str(parts[0][0].place))
    return graph


def on_vertices(graph: EdgeList, num_vertices: int, paths: Sequence[Place]) -> EdgeList:
    """Return a graph with another number of vertices; errors name the file, if it is one."""
    with file_errors(paths[0], GraphError) if len(paths) == 1 else nullcontext():
        return graph.on(num_vertices)


def check_only_ends(columns: Any, first_id: int | None) -> None:
    """Check that options of numbered vertices are not combined with names."""
    if columns is not None or first_id:
        raise OptionError("columns= and first_id= are for numbers of vertices, ends= for names")


def check_same_columns(files: Iterable[tuple[Place, Sequence[bool]]]) -> None:
    """Check that all files of a graph have weights, or none; pass whether each of its parts has."""
    first: dict[bool, Place] = {}
    for path, weighted in files:
        first.update((each, path) for each in weighted if each not in first)
        if len(first) == 2:
            raise FileFormatError(
                f"{first[False]}: has no weights, but {first[True]} has; add the column, or ignore "
                "all weights with weight=None"
            )
