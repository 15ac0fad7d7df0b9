"""Edge lists of several inputs, and the choice of their weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import GraphError, OptionError
from ..graphs.edge_list import EdgeList, join_ids, ones
from .column_names import Choice


def chosen_weight(graph: EdgeList, choice: Choice) -> EdgeList:
    """Return a graph with its weights, which are called "weight"; without weights for None."""
    check_weight(choice)
    return graph if choice.weight else graph.replaced(weight=ones(graph.u))


def check_weight(choice: Choice, owner: str = "the graph") -> None:
    """Check that the weights are "weight" or None, for a graph without named columns."""
    if not choice.is_usual:
        raise OptionError("columns and positions are for tables and files of them")
    if choice.weight not in ("weight", None):
        raise OptionError(f"{owner} has no weights called {choice.weight!r}; it has: 'weight'")


def attribute_of_weights(choice: Choice) -> Any:
    """Return the attribute of the weights, for a graph whose edges have attributes."""
    if choice.ends is not None:
        raise OptionError("columns= is for tables and files of them")
    return choice.weight


def concatenate(graphs: Sequence[EdgeList]) -> EdgeList:
    """Concatenate edge lists, in order, into one graph."""
    if len(graphs) == 1:
        return graphs[0]
    largest = max(graphs, key=lambda graph: graph.num_vertices)
    joined = EdgeList(
        join_ids([graph.u for graph in graphs]),
        join_ids([graph.v for graph in graphs]),
        join_weights([graph.weight for graph in graphs]),
        num_vertices=largest.num_vertices,
    )
    files = tuple(file for graph in graphs for file in graph.files)
    return joined.replaced(files=files, counted_in=largest.counted_in)


def join_weights(columns: Sequence[NDArray[Any]], first: int = 0) -> NDArray[Any]:
    """Concatenate weights in a dtype that represents all of them exactly.

    Messages count edges from `first`.
    """
    dtype = np.result_type(*columns)
    if dtype.kind == "f" and all(column.dtype.kind != "f" for column in columns):
        dtype = np.dtype(np.uint64)  # NumPy promotes int64 and uint64 to float64, which rounds
    lowest, largest = (0, 2**64 - 1) if dtype.kind == "u" else (-(2**53), 2**53)
    for column in columns:
        is_converted = column.dtype != dtype and column.dtype.kind in "iu"
        # For NumPy, a cast from int64 to float64 is safe.
        if is_converted and (column.itemsize == 8 or not np.can_cast(column.dtype, dtype)):
            inexact = (column < lowest) | (column > largest)
            if inexact.any():
                edge = int(inexact.argmax())
                raise GraphError(
                    f"edge {first + edge}: weight {column[edge]} is not exact as {dtype}, "
                    "which other weights need"
                )
        first += len(column)
    return np.concatenate([column.astype(dtype, copy=False) for column in columns])
