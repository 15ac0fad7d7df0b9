"""Number the vertices of named pairs in memory, by Arrow's dictionary encoding."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import GraphError
from ...progress import report_progress
from ...runtime.team import kernel_threads
from ..edge_list import EdgeList, join_weights
from .vertex_names import VertexNames

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from .pairs import Pairs

#: The strings of an Arrow array have at most this number of bytes, because offsets have 31 bits.
_MOST_BYTES = 2**31 - 1


def number_in_memory(pairs: Iterable[Pairs]) -> EdgeList:
    """Return named pairs as an edge list with `names`."""
    left: list[Any] = []
    right: list[Any] = []
    weights: list[NDArray[Any]] = []
    for each in pairs:
        left += each.left.chunks
        right += each.right.chunks
        weights += [] if each.weight is None else [each.weight]
    num_edges = sum(map(len, left))
    report_progress("number names", 0, 2 * num_edges)
    codes, values = _encoded([*left, *right])
    del left, right
    u, v, order = _by_first_appearance(codes[:num_edges], codes[num_edges:], len(values))
    del codes
    report_progress("number names", 2 * num_edges, 2 * num_edges)
    weight = join_weights(weights) if weights else None
    return EdgeList(u, v, weight, names=VertexNames(values.take(order)))


def common_type(types: Sequence[Any]) -> Any:
    """Return the Arrow type that represents the names of all columns."""
    import pyarrow as pa
    import pyarrow.types as kinds

    integers = [kinds.is_integer(each) for each in types]
    if any(integers) and not all(integers):
        message = f"names must all be strings or all integers, found {types[0]} and {types[-1]}"
        if integers[0] == integers[-1]:
            message = "names must all be strings or all integers, found both"
        raise GraphError(message)
    if all(integers):
        return pa.uint64() if pa.uint64() in types else pa.int64()
    return pa.large_string() if pa.large_string() in types else pa.string()


def _encoded(chunks: list[Any]) -> tuple[NDArray[np.int32], Any]:
    """Return the code of each name, and the name of each code as a `pyarrow.Array`."""
    import pyarrow as pa

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
    size = -(-len(column) // threads) or 1
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
