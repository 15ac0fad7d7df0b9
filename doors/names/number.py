"""Number vertices given as pairs of names: in memory by Arrow's dictionary encoding, or on disk."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Any

from ...errors import OptionError
from ...graphs.edge_list import EdgeList
from ...graphs.libraries import pa
from ...graphs.source import EdgeSource
from ...graphs.vertex_names import VertexNames
from ...progress import report_progress
from ...runtime.scratch import NUMBERED_FOLDER
from ..column_names import Column, columns_in
from ..file_checks import file_fingerprint
from ..formats import parts_of
from ..libraries.dask import is_dask
from ..places.url import places_of
from .beyond_memory import Spill, load_numbered, number_beyond_memory
from .codes import number_names
from .on_workers import number_on_workers
from .pairs import named_pairs


def number_graph(
    graph: Any,
    ends: Sequence[Any] | None,
    weight: Column | None,
    *,
    encoding: str | None = None,
    format: str | None = None,  # noqa: A002
    memory: int | None = None,
    checkpoint: str | PathLike[str] | None = None,
    spill: Spill = Spill(),  # noqa: B008  # immutable
    cluster: Any = None,
) -> EdgeList | EdgeSource:
    """Return the graph whose pairs of names `named_pairs` reads, with its vertices numbered.

    Without `ends`, the columns have their default names. If the pairs need more than `memory`
    bytes, DuckDB numbers them on disk, and the graph is a source. The folder `checkpoint` keeps
    numbered pairs that come from files. `spill` has the settings of numbering on disk. The workers
    of `cluster`, a scheduler, number the pairs that Dask computes.
    """
    if ends is not None:
        _check_ends(ends)
    if cluster is not None and is_dask(graph):
        return number_on_workers(graph, ends, weight, cluster)
    folder = identity = None
    files = places_of(graph)
    if checkpoint is not None and files:
        folder = Path(checkpoint) / NUMBERED_FOLDER
        parts = [part for part, _ in parts_of(files, format, encoding)]
        identity = [
            [list(columns_in(end)) for end in ends or ()],
            weight,
            format,
            encoding,
            *(file_fingerprint(place) + str(folder_keys or "") for place, folder_keys, _ in parts),
        ]
        if (stored := load_numbered(folder, identity, spill)) is not None:
            return stored
    tables = named_pairs(graph, ends, weight, format, encoding)
    loaded, size = deque[Any](), 0
    for table in tables:
        loaded.append(table)
        size += table.nbytes
        if memory is not None and size * spill.growth > memory:
            released = (loaded.popleft() for _ in range(len(loaded)))
            return number_beyond_memory(chain(released, tables), memory, folder, identity, spill)
    return _number_in_memory(loaded)


def _check_ends(ends: Any) -> None:
    """Check that the ends are two columns, or two different tuples of columns of equal length."""
    parts = [list(columns_in(end)) for end in ends] if isinstance(ends, tuple | list) else []
    are_columns = all(isinstance(column, str | int) for end in parts for column in end)
    is_pair = len(parts) == 2 and len(parts[0]) == len(parts[1]) > 0 and parts[0] != parts[1]
    if not is_pair or not are_columns:
        raise OptionError(
            f"ends must be two columns, or a tuple of columns for each end, not {ends!r}"
        )


def _number_in_memory(pairs: deque[Any]) -> EdgeList:
    """Return pairs of names as an edge list with `names`, and release the pairs."""
    num_edges = sum(map(len, pairs))
    report_progress("number names", 0, 2 * num_edges)
    u, v, weight, names = number_names(pairs)
    report_progress("number names", 2 * num_edges, 2 * num_edges)
    pa.default_memory_pool().release_unused()
    return EdgeList(u, v, weight, names=VertexNames(names))
