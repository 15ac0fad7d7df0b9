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
from ..column_names import columns_in
from ..edge_list import EdgeList, join_weights
from ..file_checks import file_fingerprint, places_of
from ..formats import parts_of
from ..libraries.arrow_tables import arrow_values
from ..libraries.pyarrow import kinds, pa
from .beyond_memory import Spill, number_beyond_memory, numbered_before, pairs_divided
from .pairs import common_type, named_pairs
from .vertex_names import VertexNames

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from numpy.typing import NDArray

    from ..column_names import Column
    from ..source import EdgeSource

#: Folder of a checkpoint with the numbered pairs.
FOLDER = "pairs"
#: The strings of an Arrow array have at most this number of bytes, because offsets have 31 bits.
_MOST_BYTES = 2**31 - 1


def number_graph(
    graph: Any,
    ends: Sequence[Any] | None,
    weight: Column | None,
    *,
    encoding: str | None = None,
    format: str | None = None,  # noqa: A002
    num_vertices: int | None = None,
    memory: int | None = None,
    checkpoint: str | PathLike[str] | None = None,
    spill: Spill = Spill(),  # noqa: B008  # immutable
    workers: Any = None,
) -> EdgeList | EdgeSource:
    """Return the graph of `named_pairs` with its vertices numbered.

    Without `ends`, the columns have their usual names. The graph is a source if the pairs need more
    than `memory` bytes: DuckDB then numbers them on disk. The folder `checkpoint` keeps numbered
    pairs that come from files. `num_vertices` must be None. If the scheduler of a cluster is given,
    its `workers` number the pairs that Dask computes.
    """
    if ends is not None:
        _check_ends(ends)
    if num_vertices is not None:
        raise OptionError("num_vertices= is for numbers; with ends=, the names determine it")
    if workers is not None:
        from .on_workers import dask_chunks, number_on_workers  # they import this module

        if chunks := dask_chunks(graph):
            return number_on_workers(chunks, ends, weight, workers)
    folder = identity = None
    files = places_of(graph)
    if checkpoint is not None and files:
        folder = Path(checkpoint) / FOLDER
        parts = [part for part, _ in parts_of(files, format)]
        identity = [
            [list(columns_in(end)) for end in ends or ()],
            weight,
            format,
            encoding,
            *(file_fingerprint(place) + str(keys or "") for place, keys in parts),
        ]
        if (known := numbered_before(folder, identity, spill)) is not None:
            return known
        if memory is not None and (done := pairs_divided(folder, identity, spill)) is not None:
            rest = named_pairs(graph, ends, weight, format, encoding, first=done)
            return number_beyond_memory(rest, memory, folder, identity, spill)
    pairs = named_pairs(graph, ends, weight, format, encoding)
    held, size = deque[Any](), 0
    for table in pairs:
        held.append(table)
        size += table.nbytes
        if memory is not None and size * spill.growth > memory:
            dropped = (held.popleft() for _ in range(len(held)))
            return number_beyond_memory(chain(dropped, pairs), memory, folder, identity, spill)
    return _number_in_memory(held)


def _check_ends(ends: Any) -> None:
    """Check that the ends are two columns, or two tuples of columns of one length."""
    parts = [list(columns_in(end)) for end in ends] if isinstance(ends, tuple | list) else []
    are_columns = all(isinstance(column, str | int) for end in parts for column in end)
    is_pair = len(parts) == 2 and len(parts[0]) == len(parts[1]) > 0 and parts[0] != parts[1]
    if not is_pair or not are_columns:
        raise OptionError(
            f"ends must be two columns, or a tuple of columns for each end, not {ends!r}"
        )


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
    if kinds.is_struct(chunks[0].type):
        return _encoded_structs(chunks)
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
        coded = list(pool.map(lambda part: part.dictionary_encode(), parts))
    parts.clear()
    # The chunks of a part share a dictionary. Arrow's unify_dictionaries would merge it once each.
    values = [part.chunk(0).dictionary for part in coded if part.num_chunks]
    merged = pa.chunked_array(values, wanted).dictionary_encode()
    codes: list[NDArray[np.int32]] = []
    for part in coded:
        number = np.asarray(merged.chunk(len(codes)).indices)
        codes.append(number[np.concatenate([np.asarray(each.indices) for each in part.chunks])])
    return np.concatenate(codes), merged.chunk(0).dictionary


def _encoded_structs(chunks: list[Any]) -> tuple[NDArray[np.int32], Any]:
    """Encode the fields one by one, and after each field encode the pairs of codes."""
    names = [field.name for field in chunks[0].type]
    codes, first = encoded([chunk.field(0) for chunk in chunks])
    values = [first]
    for place in range(1, len(names)):
        more, own = encoded([chunk.field(place) for chunk in chunks])
        codes, both = encoded([pa.array(codes.astype(np.int64) * len(own) + more)])
        former, latter = map(pa.array, np.divmod(np.asarray(both), len(own)))
        values = [*(value.take(former) for value in values), own.take(latter)]
    return codes, pa.StructArray.from_arrays(values, names)


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
