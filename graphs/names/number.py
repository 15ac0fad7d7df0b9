"""Number the vertices of named pairs: in memory by Arrow's dictionary encoding, or on disk."""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import GraphError, OptionError
from ...progress import report_progress
from ...runtime.team import kernel_threads
from ..edge_list import EdgeList, join_weights
from ..file_checks import file_fingerprint, paths_of
from ..libraries.arrow_tables import arrow_values
from ..libraries.pyarrow import pa
from .beyond_memory import Spill, number_beyond_memory, numbered_before, pairs_divided
from .pairs import common_type, named_pairs
from .vertex_names import VertexNames

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from numpy.typing import NDArray

    from ..source import EdgeSource

#: Folder of a checkpoint with the numbered pairs.
FOLDER = "pairs"
#: The strings of an Arrow array have at most this number of bytes, because offsets have 31 bits.
_MOST_BYTES = 2**31 - 1


def number_graph(
    graph: Any,
    ends: Sequence[str],
    weight: str | None,
    *,
    format: str | None = None,  # noqa: A002
    num_vertices: int | None = None,
    memory: int | None = None,
    checkpoint: str | PathLike[str] | None = None,
    spill: Spill = Spill(),  # noqa: B008  # immutable
) -> EdgeList | EdgeSource:
    """Return the graph of `named_pairs` with its vertices numbered.

    It is a source if the pairs need more than `memory` bytes: DuckDB then numbers them on disk. The
    folder `checkpoint` keeps numbered pairs that come from files. `num_vertices` must be None.
    """
    names = checked_ends(ends, num_vertices)
    folder = identity = None
    files = paths_of(graph)
    if checkpoint is not None and files:
        folder = Path(checkpoint) / FOLDER
        identity = [*names, weight, *map(file_fingerprint, files)]
        if (known := numbered_before(folder, identity, spill)) is not None:
            return known
        if memory is not None and (done := pairs_divided(folder, identity, spill)) is not None:
            rest = named_pairs(graph, names, weight, format, first=done)
            return number_beyond_memory(rest, memory, folder, identity, spill)
    pairs, held, size = named_pairs(graph, names, weight, format), deque[Any](), 0
    for table in pairs:
        held.append(table)
        size += table.nbytes
        if memory is not None and size * spill.growth > memory:
            dropped = (held.popleft() for _ in range(len(held)))
            return number_beyond_memory(chain(dropped, pairs), memory, folder, identity, spill)
    return _number_in_memory(held)


def checked_ends(ends: Sequence[str], num_vertices: int | None) -> list[str]:
    """Return the names of the columns of both ends; refuse others, and a number of vertices."""
    names = [ends] if isinstance(ends, str) else list(ends)
    if len(names) != 2 or names[0] == names[1] or not all(isinstance(n, str) for n in names):
        raise OptionError(f"ends must be the names of two columns, not {ends!r}")
    if num_vertices is not None:
        raise OptionError("num_vertices= is for numbers; with ends=, the names determine it")
    return names


def _number_in_memory(pairs: deque[Any]) -> EdgeList:
    """Return named pairs as an edge list with `names`, and drop the pairs."""
    num_edges = sum(map(len, pairs))
    chunks: list[Any] = [chunk for end in "lr" for table in pairs for chunk in table[end].chunks]
    weighted = (table for table in pairs if "weight" in table.column_names)
    weights = [arrow_values("weight", table["weight"]) for table in weighted]
    pairs.clear()
    report_progress("number names", 0, 2 * num_edges)
    codes, values = encoded(chunks)
    u, v, order = by_first_appearance(codes[:num_edges], codes[num_edges:], len(values))
    del codes
    report_progress("number names", 2 * num_edges, 2 * num_edges)
    weight = join_weights(weights) if weights else None
    return EdgeList(u, v, weight, names=VertexNames(values.take(order)))


def encoded(chunks: list[Any]) -> tuple[NDArray[np.int32], Any]:
    """Return the code of each name, and the name of each code as a `pyarrow.Array`."""
    if not sum(map(len, chunks)):
        return np.empty(0, np.int32), pa.array([], pa.string())
    wanted = common_type([chunk.type for chunk in chunks])
    if wanted == pa.string() and sum(chunk.nbytes for chunk in chunks) > _MOST_BYTES:
        wanted = pa.large_string()
    try:
        column = pa.chunked_array([chunk.cast(wanted) for chunk in chunks], wanted)
    except pa.ArrowInvalid as error:
        raise GraphError(f"names are not all of type {wanted}: {error}") from error
    chunks.clear()
    threads = kernel_threads()
    size = -(-len(column) // threads)
    parts = [column.slice(start, size) for start in range(0, len(column), size)]
    del column
    with ThreadPoolExecutor(threads) as pool:  # Arrow encodes a column on one thread
        encoded = list(pool.map(lambda part: part.dictionary_encode(), parts))
    parts.clear()
    # The chunks of a part share a dictionary. Arrow's unify_dictionaries would merge it once each.
    values = [part.chunk(0).dictionary for part in encoded if part.num_chunks]
    merged = pa.chunked_array(values, wanted).dictionary_encode()
    codes: list[NDArray[np.int32]] = []
    for part in encoded:
        number = np.asarray(merged.chunk(len(codes)).indices)
        codes.append(number[np.concatenate([np.asarray(each.indices) for each in part.chunks])])
    return np.concatenate(codes), merged.chunk(0).dictionary


def by_first_appearance(
    u: NDArray[np.int32], v: NDArray[np.int32], count: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
    """Renumber codes in the order in which they first appear, row by row.

    Return both columns, and the code of each number.
    """
    first = np.full(count, 2 * len(u))
    for side, codes in enumerate((u, v)):
        own = np.full(count, 2 * len(u))
        # If several values are written to a place, NumPy keeps the last: the first appearance.
        own[codes[::-1]] = np.arange(2 * len(u) - 2 + side, -1, -2)
        np.minimum(first, own, out=first)
    order = np.argsort(first)
    number = np.empty(count, np.int32)
    number[order] = np.arange(count, dtype=np.int32)
    return number[u], number[v], order
