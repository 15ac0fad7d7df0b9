"""The files of one graph: loaded as an edge list, or opened as a source that is streamed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from ..errors import FileFormatError, GraphError
from ..graphs.edge_list import EdgeList, are_ones
from ..graphs.segments import ArraySegment
from ..graphs.source import EdgeSource
from ..progress import set_listener
from .column_names import USUAL, Choice
from .file_checks import FileState, max_expanded_size
from .file_segment import File
from .formats import parts_of
from .formats.file_format import Format
from .places.folders import Part
from .places.url import AnyPlace, Place, places_of
from .weights import concatenate

#: A file and its format.
Formatted = tuple[Part, Format]

#: Bytes of an edge in columns of 64 bits.
_EDGE_BYTES = 24


def load_files(files: Sequence[Formatted], choice: Choice) -> EdgeList:
    """Return the graph of files."""
    graphs = [kind.graph(part, choice) for part, kind in files]
    if not choice.ignores_weights:
        _check_same_columns(
            (part.place, not are_ones(graph.weight))
            for (part, _), graph in zip(files, graphs, strict=True)
            if graph.num_edges
        )
    return concatenate(graphs)


def open_files(
    paths: Sequence[AnyPlace],
    format: str | None = None,  # noqa: A002
    choice: Choice = USUAL,
    *,
    encoding: str | None = None,
    is_bounded: bool = False,
) -> EdgeSource:
    """Return a source of files that together are one graph; edge ids continue from file to file.

    Folders of `.npy` columns and Parquet files are streamed. Other formats are loaded, unless
    memory is bounded: then each scan reads text and `.bin` in blocks, and other formats as a whole.
    If streamed files have weights of different dtypes, all files are loaded; if memory is bounded,
    this raises a GraphError.
    """
    files = parts_of(places_of(list(paths)), format, encoding)
    streamed = [_streamed(file, choice, is_bounded) for file in files]
    dtypes = {
        source.weight_dtype: part.place
        for source, (part, _) in zip(streamed, files, strict=True)
        if source is not None and source.weight_dtype is not None and not choice.ignores_weights
    }
    if (len(dtypes) > 1 and not is_bounded) or all(source is None for source in streamed):
        return EdgeSource.of(load_files(files, choice))
    opened = [
        source or EdgeSource.of(kind.graph(part, choice))
        for source, (part, kind) in zip(streamed, files, strict=True)
    ]
    if not choice.ignores_weights:
        _check_same_columns(
            (part.place, segment.is_weighted)
            for (part, _), source in zip(files, opened, strict=True)
            for segment in source.segments
            if segment.num_edges != 0
        )
    if len(dtypes) > 1:
        found = " and ".join(f"{dtype} in {path}" for dtype, path in dtypes.items())
        message = f"files that are streamed need weights of one dtype; found {found}"
        raise GraphError(f"{message}; without memory=, mstflow converts them")
    counts = [source.num_vertices or 0 for source in opened]
    least = max(counts)
    return EdgeSource(
        tuple(segment for source in opened for segment in source.segments),
        None if any(source.num_vertices is None for source in opened) else least,
        unweighted=choice.ignores_weights,
        weight_dtype=next(iter(dtypes), None),
        least_vertices=least,
        counted_in=str(files[counts.index(least)][0].place),
    )


def _streamed(file: Formatted, choice: Choice, is_bounded: bool) -> EdgeSource | None:
    """Return a file as a source, or None if it must be loaded."""
    part, kind = file
    source = kind.source(part, choice, is_bounded=is_bounded)
    if source is not None or not is_bounded:
        return source
    # Without `size`, assume the largest size to which the file may expand. The columns are half of
    # it, because reading them needs the same amount again.
    size = max_expanded_size(part.place) // 2 if kind.size is None else kind.size(part.place)
    load, most_edges = partial(_load_whole, file=file, choice=choice), -(-size // _EDGE_BYTES)
    state = FileState.of(part.place)
    return EdgeSource((File(part.place, kind.name, load, state, most_edges=most_edges),))


def _load_whole(_: Place, file: Formatted, choice: Choice) -> Iterator[ArraySegment]:
    with set_listener(False):  # the scan reports the progress
        graph = load_files([file], choice)
    yield ArraySegment(graph.u, graph.v, graph.weight, graph.num_vertices)


def _check_same_columns(files: Iterable[tuple[Place, bool]]) -> None:
    """Check that all files have weights, or none."""
    first: dict[bool, Place] = {}
    for path, is_weighted in files:
        first.setdefault(is_weighted, path)
        if len(first) == 2:
            raise FileFormatError(
                f"{first[False]}: has no weights, but {first[True]} has; add the column, or ignore "
                "all weights with weight=None"
            )
