"""The disjoint union of many small graphs, which one run can solve."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ..errors import MstflowError
from ..plugins import wing
from .edge_list import EdgeList, unchecked

#: The largest number of edges, and of vertices, of a small graph.
SMALL = 2**16


def batches(
    graphs: Iterable[Any], most_graphs: int = 2**10, most_edges: int = 2**22
) -> Iterator[list[Any]]:
    """Yield the graphs in lists, each for one run.

    A list doubles while it has fewer than `most_graphs` graphs and `most_edges` edges. So an
    iterator is not read far ahead, and the memory for the graphs of a run is bounded.
    """
    remaining = iter(graphs)
    while batch := [*itertools.islice(remaining, 1)]:
        num_edges, new = 0, batch
        while new and len(batch) < most_graphs and num_edges < most_edges:
            num_edges += sum(map(_num_edges, new))
            new = [*itertools.islice(remaining, min(len(batch), most_graphs - len(batch)))]
            batch += new
        yield batch


def _num_edges(graph: Any) -> int:
    """Return the number of edges of columns or an edge list, or `SMALL` for other graphs."""
    column = graph[0] if type(graph) is tuple and graph else getattr(graph, "u", None)
    return operator.length_hint(column, SMALL)


def small_graph(graph: Any, weight: str | None) -> EdgeList | None:
    """Return a graph as an `EdgeList` if it may be in a union, otherwise None.

    Files, streams, graphs on a GPU, large graphs and invalid graphs may not.
    """
    is_stream = hasattr(graph, "__arrow_c_stream__") and not hasattr(graph, "__len__")
    doors = wing("doors")
    if doors.places_of(graph) or is_stream:  # a stream can be read only once
        return None
    try:
        edges: EdgeList = doors.edge_list(graph, weight=weight)
    except (MstflowError, MemoryError):
        return None  # the run on this graph alone raises it again
    is_small = max(edges.num_edges, edges.num_vertices) <= SMALL and not edges.is_on_device
    return edges if is_small else None


def disjoint_union(graphs: Sequence[EdgeList]) -> tuple[EdgeList, list[int]]:
    """Return one graph of many whose weights have the same dtype, and the first edge of each.

    The vertices and edges of a graph come after those of all earlier graphs, so the forest of the
    union consists of their forests.
    """
    starts = [*itertools.accumulate((graph.num_edges for graph in graphs), initial=0)]
    vertices = [*itertools.accumulate((graph.num_vertices for graph in graphs), initial=0)]
    u, v = np.empty((2, starts[-1]), np.int32)
    for graph, first, start, stop in zip(graphs, vertices, starts, starts[1:], strict=False):
        np.add(graph.u, first, out=u[start:stop], dtype=np.int64, casting="unsafe")
        np.add(graph.v, first, out=v[start:stop], dtype=np.int64, casting="unsafe")
    weight = np.concatenate([graph.weight for graph in graphs])
    return unchecked(u, v, weight, vertices[-1]), starts
