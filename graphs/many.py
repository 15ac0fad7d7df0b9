"""Many small graphs: their columns, which one run takes together."""

from __future__ import annotations

import contextlib
import itertools
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import GraphError, MstflowError, OptionError, OutOfMemoryError
from .files import paths_of
from .read import edge_list

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .edge_list import EdgeList

#: The largest number of graphs that one run takes.
TOGETHER = 2**10
#: The largest number of edges, and of vertices, of a small graph.
FEW = 2**16

_ENDS = {np.dtype(f"{kind}{size}") for kind in "iu" for size in (1, 2, 4, 8)}
_WEIGHTS = {*_ENDS, *(np.dtype(name) for name in ("bool", "float16", "float32", "float64"))}


def small_graphs(graphs: Sequence[Any], weight: str | None) -> dict[int, Any]:
    """Return the graphs that one run may take together, by position: each as an `EdgeList`.

    If all graphs are tuples of arrays, they are returned as they are, and their values are not
    checked. Files, streams, graphs on a GPU, large graphs and invalid graphs are omitted.
    """
    if weight == "weight" and _are_arrays(graphs):
        return dict(enumerate(graphs))
    found = {place: _adopted(graph, weight) for place, graph in enumerate(graphs)}
    return {place: graph for place, graph in found.items() if graph is not None}


def _adopted(graph: Any, weight: str | None) -> EdgeList | None:
    is_stream = hasattr(graph, "__arrow_c_stream__") and not hasattr(graph, "__len__")
    if paths_of(graph) or is_stream:  # a stream can be read only once
        return None
    try:
        found = edge_list(graph, None, weight)
    except (MstflowError, MemoryError):
        return None  # the run on this graph alone raises it again
    is_small = max(found.num_edges, found.num_vertices) <= FEW and not found.is_on_device
    return found if is_small else None


@contextlib.contextmanager
def naming(place: int) -> Iterator[None]:
    """Return a context in which errors name the graph at this position."""
    try:
        yield
    except (GraphError, OptionError, OutOfMemoryError) as error:
        message = f"graph {place}: {error}"
        raise type(error)(message) from error


def _are_arrays(graphs: Sequence[Any]) -> bool:
    """Return whether all graphs are three arrays of one length and of dtypes that may be valid."""
    if {*map(type, graphs)} != {tuple} or {*map(len, graphs)} != {3}:
        return False
    arrays = [*itertools.chain.from_iterable(graphs)]
    if {*map(type, arrays)} != {np.ndarray} or {*map(operator.attrgetter("ndim"), arrays)} != {1}:
        return False
    u, v, weight = (arrays[column::3] for column in range(3))
    ends, weights = ({*map(operator.attrgetter("dtype"), found)} for found in (u + v, weight))
    return (
        ends <= _ENDS
        and weights <= _WEIGHTS
        and [*map(len, u)] == [*map(len, v)] == [*map(len, weight)]
    )
