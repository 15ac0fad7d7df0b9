"""Many small graphs as one: their disjoint union."""

from __future__ import annotations

import itertools
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import MstflowError
from .edge_list import EdgeList, unchecked
from .file_checks import paths_of
from .open import edge_list

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

#: The largest number of graphs that one run takes, and of their edges: more are not read at once.
TOGETHER, HELD = 2**10, 2**22
#: The largest number of edges, and of vertices, of a small graph.
FEW = 2**16


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

    Files, streams, graphs on a GPU, large graphs and invalid graphs are omitted.
    """
    return [_adopted(graph, weight) for graph in graphs]


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
