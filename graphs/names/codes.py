"""Numbers of names in memory, by Arrow's dictionary encoding on all threads."""

from __future__ import annotations

from collections.abc import MutableSequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import GraphError
from ...runtime.team import kernel_threads
from ..edge_list import join_weights
from ..libraries.arrow_tables import arrow_values
from ..libraries.pyarrow import kinds, pa
from .pairs import common_type

#: The strings of an Arrow array have at most this number of bytes, because offsets have 31 bits.
_MOST_BYTES = 2**31 - 1


def numbered(
    tables: MutableSequence[Any],
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[Any] | None, Any]:
    """Assign numbers to the names of pairs, in the order of first appearance; drop the pairs.

    Return u, v, the weights if there are any, and the name of each number as a `pyarrow.Array`.
    """
    chunks: list[Any] = [chunk for end in "lr" for table in tables for chunk in table[end].chunks]
    weighted = (table for table in tables if "weight" in table.column_names)
    weights = [arrow_values("weight", table["weight"]) for table in weighted]
    tables.clear()
    codes, values = encoded(chunks)
    half = len(codes) // 2
    u, v, order = _by_first_appearance(codes[:half], codes[half:], len(values))
    del codes
    return u, v, join_weights(weights) if weights else None, values.take(order)


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


def _by_first_appearance(
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
