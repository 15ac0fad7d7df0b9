"""Many small graphs: their columns, which one run takes together."""

from __future__ import annotations

import itertools
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import MstflowError
from ..runtime.native import columns_of
from .files import paths_of
from .read import edge_list

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

#: The largest number of graphs that one run takes, and of their edges: more are not read at once.
TOGETHER, HELD = 2**10, 2**22
#: The largest number of edges, and of vertices, of a small graph.
FEW = 2**16

_ENDS = {np.dtype(f"{kind}{size}") for kind in "iu" for size in (1, 2, 4, 8)}
_WEIGHTS = {*_ENDS, *(np.dtype(name) for name in ("bool", "float16", "float32", "float64"))}


def batches(graphs: Iterable[Any]) -> Iterator[list[Any]]:
    """Yield the graphs in lists of at most `TOGETHER`, which grow until they have `HELD` edges."""
    remaining = iter(graphs)
    while some := [*itertools.islice(remaining, 1)]:
        held, new = 0, some
        while new and len(some) < TOGETHER and held < HELD:
            held += sum(map(_num_edges, new))
            new = [*itertools.islice(remaining, min(len(some), TOGETHER - len(some)))]
            some += new
        yield some


def _num_edges(graph: Any) -> int:
    """Return the number of edges of columns or an edge list, or `FEW` for other graphs."""
    column = graph[0] if type(graph) is tuple and graph else getattr(graph, "u", None)
    return operator.length_hint(column, FEW)


def small_graphs(graphs: Sequence[Any], weight: str | None) -> Sequence[Any]:
    """Return the graphs that one run may take together, each as an `EdgeList`; None for others.

    If all graphs are tuples of arrays, they are returned as they are, and their values are not
    checked. Files, streams, graphs on a GPU, large graphs and invalid graphs are omitted.
    """
    if weight == "weight" and _are_arrays(graphs):
        return graphs
    return [_adopted(graph, weight) for graph in graphs]


def _adopted(graph: Any, weight: str | None) -> Any:
    is_stream = hasattr(graph, "__arrow_c_stream__") and not hasattr(graph, "__len__")
    if paths_of(graph) or is_stream:  # a stream can be read only once
        return None
    try:
        found = edge_list(graph, None, weight)
    except (MstflowError, MemoryError):
        return None  # the run on this graph alone raises it again
    is_small = max(found.num_edges, found.num_vertices) <= FEW and not found.is_on_device
    return found if is_small else None


def _are_arrays(graphs: Sequence[Any]) -> bool:
    """Return whether all graphs are three arrays of one length and of dtypes that may be valid."""
    if {*map(type, graphs)} != {tuple} or {*map(len, graphs)} != {3}:
        return False
    columns = columns_of(itertools.chain.from_iterable(graphs), 3 * len(graphs))
    if columns is None:
        return False
    u, v, weights = ({*columns.dtypes(column, 3).values()} for column in range(3))
    lengths = columns.length.reshape(-1, 3)
    are_equal = bool((lengths == lengths[:, :1]).all())
    return are_equal and u | v <= _ENDS and weights <= _WEIGHTS
