"""Disjoint unions: many graphs as one, so that one run finds the forests of all of them."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import GraphError
from ..graphs.adopt import edge_list
from ..graphs.edge_list import join_ids, unchecked
from ..runtime.device import refuse_device

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from ..graphs.edge_list import EdgeList


class Union(NamedTuple):
    """The disjoint union of k graphs.

    Attributes
    ----------
    graph : EdgeList
        The edges of all graphs, in order, on the vertices of all graphs.
    first_edge : int64 array of length k + 1
        The first edge id of each graph in the union, and the number of edges.
    """

    graph: EdgeList
    first_edge: NDArray[np.int64]

    @classmethod
    def of(cls, graphs: Sequence[EdgeList]) -> Union:
        """Return the union of at least one graph; their weights have one dtype."""
        lengths = [graph.num_edges for graph in graphs]
        first_vertex = _offsets([graph.num_vertices for graph in graphs])
        dtype = np.int32 if first_vertex[-1] < 2**31 else np.int64
        shift = np.repeat(first_vertex[:-1].astype(dtype), lengths)
        u, v = (
            np.add(join_ids(columns), shift, dtype=dtype, casting="unsafe")
            for columns in ([graph.u for graph in graphs], [graph.v for graph in graphs])
        )
        weight = np.concatenate([graph.weight for graph in graphs])
        return cls(unchecked(u, v, weight, int(first_vertex[-1])), _offsets(lengths))

    def split(self, edge_ids: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """Return the edge ids in each graph, given ascending ids in the union."""
        cuts = np.searchsorted(edge_ids, self.first_edge)
        own = edge_ids - np.repeat(self.first_edge[:-1], np.diff(cuts))
        return [own[start:stop] for start, stop in itertools.pairwise(cuts.tolist())]


def adopt_all(graphs: Sequence[Any], weight: str | None) -> list[EdgeList]:
    """Convert graphs as `edge_list` does; plain columns are checked all at once.

    Raises
    ------
    GraphError, OptionError
        As `edge_list`. Names the graph by its position in the sequence.
    """
    plain = _adopt_columns(graphs) if weight == "weight" else None
    return plain or list(_adopt_each(graphs, weight))


def _adopt_each(graphs: Sequence[Any], weight: str | None) -> Iterator[EdgeList]:
    for number, graph in enumerate(graphs):
        try:
            found = edge_list(graph, None, weight)
        except GraphError as error:
            message = f"graph {number}: {error}"
            raise type(error)(message) from error
        refuse_device(found.u, f"graph {number}")
        yield found


def _adopt_columns(graphs: Sequence[Any]) -> list[EdgeList] | None:
    """Return edge lists of columns of common dtypes; None if one of them may be invalid."""
    if not graphs or not all(type(graph) is tuple and len(graph) == 3 for graph in graphs):
        return None
    us, vs, weights = zip(*graphs, strict=True)
    kinds = [{_kind(column) for column in columns} for columns in (us, vs, weights)]
    lengths = list(map(len, us))
    is_alike = lengths == list(map(len, vs)) == list(map(len, weights)) and min(lengths) > 0
    if not is_alike or any(len(kind) > 1 or None in kind for kind in kinds):
        return None
    if us[0].dtype.kind not in "iu" or vs[0].dtype.kind not in "iu":
        return None
    weight = weights[0].dtype
    if weight.kind not in "biuf" or weight.itemsize > 8:
        return None
    if weight.kind == "f" and np.isnan(np.concatenate(weights).min()):
        return None
    starts = _offsets(lengths)[:-1]
    tops = []
    for columns in (us, vs):
        ids = np.concatenate(columns)
        top = np.maximum.reduceat(ids.view(f"u{ids.itemsize}"), starts)
        if top.max() >= 2 ** (8 * ids.itemsize - 1):  # a negative id, viewed as unsigned
            return None
        tops.append(top.astype(np.int64))
    sizes = (np.maximum(*tops) + 1).tolist()
    every = zip(us, vs, weights, sizes, strict=True)
    return [unchecked(u, v, weight, size) for u, v, weight, size in every]


def _kind(column: Any) -> np.dtype[Any] | None:
    """Return the dtype of a plain column in host memory, and None for anything else."""
    is_plain = type(column) is np.ndarray and column.ndim == 1 and column.dtype.isnative
    return column.dtype if is_plain else None


def _offsets(lengths: Sequence[int]) -> NDArray[np.int64]:
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets
