"""Numbers of names in memory, by Arrow's dictionary encoding on all threads."""

from __future__ import annotations

from collections.abc import MutableSequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import GraphError
from ...graphs.libraries import kinds, pa
from ...runtime.team import kernel_threads
from ..libraries.arrow_tables import arrow_values
from ..weights import join_weights
from .pairs import common_type

#: The strings of an Arrow array have at most this number of bytes, because offsets have 31 bits.
_MAX_BYTES = 2**31 - 1


def number_names(
    tables: MutableSequence[Any],
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[Any] | None, Any]:
    """Assign numbers to the names of pairs, in the order of first appearance; drop the pairs.

    Return u, v, the weights if there are any, and the name of each number as a `pyarrow.Array`.
    """
    chunks: list[Any] = [chunk for end in "lr" for table in tables for chunk in table[end].chunks]
    weighted = (table for table in tables if "weight" in table.column_names)
    weights = [arrow_values("weight", table["weight"]) for table in weighted]
    tables.clear()
    codes, names = encode(chunks)
    half = len(codes) // 2
    u, v, order = _by_first_appearance(codes[:half], codes[half:], len(names))
    del codes
    return u, v, join_weights(weights) if weights else None, names.take(order)


def encode(chunks: list[Any]) -> tuple[NDArray[np.int32], Any]:
    """Return the code of each name, and the name of each code as a `pyarrow.Array`.

    Chunks of strings or integers are dropped from the list.
    """
    if not sum(map(len, chunks)):
        return np.empty(0, np.int32), pa.array([], pa.string())
    if kinds.is_struct(chunks[0].type):
        return _encode_structs(chunks)
    name_type = common_type([chunk.type for chunk in chunks])
    if name_type == pa.string() and sum(chunk.nbytes for chunk in chunks) > _MAX_BYTES:
        name_type = pa.large_string()
    try:
        column = pa.chunked_array([chunk.cast(name_type) for chunk in chunks], name_type)
    except pa.ArrowInvalid as error:
        raise GraphError(f"names are not all of type {name_type}: {error}") from error
    chunks.clear()
    threads = kernel_threads()
    size = -(-len(column) // threads)
    shares = [column.slice(start, size) for start in range(0, len(column), size)]
    del column
    with ThreadPoolExecutor(threads) as pool:  # Arrow encodes a column on one thread
        encoded = list(pool.map(lambda share: share.dictionary_encode(), shares))
    shares.clear()
    # The chunks of a share have one dictionary. Arrow's unify_dictionaries would merge it for each.
    dictionaries = [share.chunk(0).dictionary for share in encoded if share.num_chunks]
    merged = pa.chunked_array(dictionaries, name_type).dictionary_encode()
    codes: list[NDArray[np.int32]] = []
    for share in encoded:
        code = np.asarray(merged.chunk(len(codes)).indices)
        codes.append(code[np.concatenate([np.asarray(chunk.indices) for chunk in share.chunks])])
    return np.concatenate(codes), merged.chunk(0).dictionary


def _encode_structs(chunks: list[Any]) -> tuple[NDArray[np.int32], Any]:
    """Encode the first field, then the pairs of each prefix of fields and its next field."""
    first, *others = zip(*(chunk.flatten() for chunk in chunks), strict=True)
    codes, names = encode(list(first))
    fields = [names]
    for column in others:
        field_codes, names = encode(list(column))
        codes, pairs = encode([pa.array(codes.astype(np.int64) * len(names) + field_codes)])
        prefixes, last = map(pa.array, np.divmod(np.asarray(pairs), len(names)))
        fields = [*(field.take(prefixes) for field in fields), names.take(last)]
    return codes, pa.StructArray.from_arrays(fields, [field.name for field in chunks[0].type])


def _by_first_appearance(
    u: NDArray[np.int32], v: NDArray[np.int32], count: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
    """Renumber codes in the order in which they first appear, row by row.

    Return both columns, and the code of each number.
    """
    first = np.full(count, 2 * len(u))
    for end, codes in enumerate((u, v)):
        first_here = np.full(count, 2 * len(u))
        # If several values are written to a place, NumPy keeps the last: the first appearance.
        first_here[codes[::-1]] = np.arange(2 * len(u) - 2 + end, -1, -2)
        np.minimum(first, first_here, out=first)
    order = np.argsort(first)
    number = np.empty(count, np.int32)
    number[order] = np.arange(count, dtype=np.int32)
    return number[u], number[v], order
