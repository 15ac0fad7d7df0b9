"""Graphs that Dask computes: their chunks, and the computation of each chunk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...errors import GraphError
from ...graphs.libraries import is_instance

#: How to pass a two-dimensional array of floats, for messages.
COLUMNS_OF_A_MATRIX = "(a[:, 0].astype(int), a[:, 1].astype(int), a[:, 2])"


def is_dask(graph: Any) -> bool:
    """Return whether Dask computes a graph: a table, array, delayed value or future, or a list.

    A list has items of these types. In a list of arrays, each array is a column.
    """
    if isinstance(graph, tuple | list):
        return len(graph) > 0 and (all(map(_is_array, graph)) or all(map(is_dask, graph)))
    return _is_delayed(graph) or _is_table(graph) or _is_array(graph)


def dask_chunks(graph: Any) -> list[tuple[Any, str]]:
    """Return the chunks of a graph that Dask computes, and their names for messages.

    Each chunk is a delayed value or a future.
    """
    items = graph if isinstance(graph, tuple | list) else [graph]
    if all(map(_is_array, items)):
        chunks = _chunks_of_arrays(items)
        return [(chunk, f"{number} of the arrays") for number, chunk in enumerate(chunks)]
    if items is graph:
        return [chunk for item in items for chunk in dask_chunks(item)]
    delayed = [graph] if _is_delayed(graph) else graph.to_delayed()
    return [(chunk, str(chunk.key)) for chunk in delayed]


def _is_delayed(value: Any) -> bool:
    return is_instance(value, "dask.Delayed", "distributed.Future")


def _is_table(value: Any) -> bool:
    """Return whether an object is a Dask table, not one of its columns."""
    is_column = getattr(value, "ndim", 2) == 1
    return hasattr(value, "to_delayed") and hasattr(value, "columns") and not is_column


def _is_array(value: Any) -> bool:
    return is_instance(value, "dask.Array")


def _chunks_of_arrays(arrays: Sequence[Any]) -> Iterator[Any]:
    """Yield the chunks of two or three arrays, or of one array of two or three columns.

    Each is a `dask.delayed` tuple of columns.
    """
    import dask
    from dask.array import unify_chunks

    if len(arrays) == 1 and arrays[0].ndim == 2:
        if arrays[0].dtype.kind == "f":
            raise GraphError(f"vertex ids are {arrays[0].dtype}; pass {COLUMNS_OF_A_MATRIX}")
        arrays = [arrays[0][:, place] for place in range(arrays[0].shape[1])]
    if any(np.isnan(array.shape).any() for array in arrays):
        message = "the lengths of the arrays' chunks are unknown; call compute_chunk_sizes() first"
        raise GraphError(message)
    lengths = {array.shape for array in arrays}
    if len(arrays) not in (2, 3) or len(lengths) > 1 or any(array.ndim != 1 for array in arrays):
        shapes = ", ".join(str(array.shape) for array in arrays)
        message = f"expected columns u, v, maybe weight, of one length, found shapes {shapes}"
        raise GraphError(message)
    _, columns = unify_chunks(*(item for array in arrays for item in (array, "i")))
    # Optimisation would drop data that a client other than the default one has persisted.
    delayed = (column.to_delayed(optimize_graph=False) for column in columns)
    for chunk in zip(*delayed, strict=True):
        yield dask.delayed(_columns)(*chunk)


def _columns(*columns: Any) -> tuple[Any, ...]:
    return columns
