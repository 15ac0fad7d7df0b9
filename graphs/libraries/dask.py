"""Recognise Dask's collections and futures, and divide its arrays into chunks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import GraphError
from . import class_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: How to pass a two-dimensional array of floats, for messages.
COLUMNS_OF_A_MATRIX = "(a[:, 0].astype(int), a[:, 1].astype(int), a[:, 2])"


def is_delayed(value: Any) -> bool:
    """Return whether an object is a value that Dask computes."""
    return not {"dask.Delayed", "distributed.Future"}.isdisjoint(class_names(value))


def is_collection(value: Any) -> bool:
    """Return whether an object is a Dask table, not one of its columns."""
    is_column = getattr(value, "ndim", 2) == 1
    return hasattr(value, "to_delayed") and hasattr(value, "columns") and not is_column


def is_array(value: Any) -> bool:
    """Return whether an object is a Dask array."""
    return "dask.Array" in class_names(value)


def chunks_of_arrays(arrays: Sequence[Any]) -> Iterator[Any]:
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
