"""Disjoint unions: many graphs as one, so that one run finds the forests of all of them."""

from __future__ import annotations

import contextlib
import itertools
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import GraphError, OptionError, OutOfMemoryError
from ..runtime.device import refuse_device
from ..runtime.memory import empty
from .edge_list import unchecked
from .read import edge_list
from .source import EdgeSource

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import DTypeLike, NDArray

    from .edge_list import EdgeList


#: The largest number of graphs in a union. The columns of this many small graphs fit in a cache.
TOGETHER = 256
#: The largest number of vertices in a union of several graphs. A larger union would need much more
#: memory than its graphs need one after another, and its vertex ids could exceed 64 bits.
_MOST_VERTICES = 2**24


class Union(NamedTuple):
    """The disjoint union of k graphs."""

    #: The edges of all graphs, in order, on the vertices of all graphs.
    graph: EdgeList
    #: The first edge id of each graph in the union, and the number of edges.
    first_edge: NDArray[np.int64]
    #: The graphs.
    members: Sequence[EdgeList]
    #: The position of each graph in the caller's sequence.
    places: Sequence[int]

    @classmethod
    def of(
        cls, members: Sequence[EdgeList], places: Sequence[int], columns: Sequence[Any] = ()
    ) -> Union:
        """Return the union of one or more graphs whose weights have one dtype.

        `columns` are u, v and weight of all members, if the caller has concatenated them.
        """
        first_edge = _offsets([len(member.u) for member in members])
        first_vertex = _offsets([member.num_vertices for member in members])
        dtype = np.int32 if first_vertex[-1] < 2**31 else np.int64
        u, v, weight = columns or (
            _concatenated([member.u for member in members], dtype),
            _concatenated([member.v for member in members], dtype),
            _concatenated([member.weight for member in members], members[0].weight.dtype),
        )
        shift = np.repeat(first_vertex[:-1].astype(dtype), np.diff(first_edge))
        u, v = (_concatenated([ids], dtype) if ids.dtype != dtype else ids for ids in (u, v))
        u += shift
        v += shift
        return cls(unchecked(u, v, weight, int(first_vertex[-1])), first_edge, members, places)

    @property
    def most_edges(self) -> int:
        """The largest number of edges of a member."""
        return int(np.diff(self.first_edge).max())

    def split(self, edge_ids: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """Return the edge ids in each graph, given ascending ids in the union."""
        cuts = np.searchsorted(edge_ids, self.first_edge)
        own = edge_ids - np.repeat(self.first_edge[:-1], np.diff(cuts))
        return [own[start:stop] for start, stop in itertools.pairwise(cuts.tolist())]


@contextlib.contextmanager
def naming(places: Sequence[int]) -> Iterator[None]:
    """Return a context in which an `OutOfMemoryError` names the graphs at these positions."""
    try:
        yield
    except MemoryError as error:
        names = f"graph {places[0]}"
        if len(places) > 1:
            names = f"graphs {places[0]} to {places[-1]}"
        message = f"{names}: {error}"
        raise OutOfMemoryError(message) from error


def unions_of(graphs: Iterable[Any], weight: str | None) -> Iterator[Union]:
    """Convert graphs as `edge_list` does; yield unions of at most `TOGETHER` small graphs.

    The weights of the members of a union have one dtype.
    """
    remaining = iter(graphs)
    for first in itertools.count(0, TOGETHER):
        some = list(itertools.islice(remaining, TOGETHER))
        if not some:
            return
        plain = _union_of_columns(some, first) if weight == "weight" else None
        yield from [plain] if plain else _unions_by_dtype(some, weight, first)


def _unions_by_dtype(graphs: Sequence[Any], weight: str | None, first: int) -> Iterator[Union]:
    alike: dict[Any, dict[int, EdgeList]] = {}
    for place, graph in enumerate(graphs, first):
        member = _adopted(graph, weight, place)
        alike.setdefault(member.weight.dtype, {})[place] = member
    for members in itertools.chain.from_iterable(map(_divide, alike.values())):
        with naming([*members]):
            union = Union.of([*members.values()], [*members])
        yield union


def _divide(members: dict[int, EdgeList]) -> Iterator[dict[int, EdgeList]]:
    """Divide graphs into groups of one graph, or of at most `_MOST_VERTICES` vertices."""
    group: dict[int, EdgeList] = {}
    count = 0
    for place, member in members.items():
        if group and count + member.num_vertices > _MOST_VERTICES:
            yield group
            group, count = {}, 0
        group[place] = member
        count += member.num_vertices
    yield group


def _adopted(graph: Any, weight: str | None, place: int) -> EdgeList:
    try:
        found = edge_list(graph, None, weight)
        EdgeSource.of(found).check_vertices()
    except (GraphError, OptionError, OutOfMemoryError) as error:
        message = f"graph {place}: {error}"
        raise type(error)(message) from error
    refuse_device(found.u, f"graph {place}")
    return found


def _union_of_columns(graphs: Sequence[Any], first: int) -> Union | None:
    """Return the union of graphs that are plain columns, and check all of them at once.

    Return None if the columns have several dtypes, one of them may be invalid, or there are too
    many vertices. The caller then converts the graphs one by one, which finds any error.
    """
    if not all(type(graph) is tuple and len(graph) == 3 for graph in graphs):
        return None
    columns = tuple(zip(*graphs, strict=True))
    if not all(map(_is_plain, columns)):
        return None
    lengths, *others = ([*map(len, arrays)] for arrays in columns)
    if others != [lengths, lengths] or 0 in lengths:
        return None
    u, v, weight = (_concatenated(arrays, arrays[0].dtype) for arrays in columns)
    is_known = weight.dtype.kind in "biuf" and weight.itemsize <= 8
    if u.dtype.kind not in "iu" or v.dtype.kind not in "iu" or not is_known:
        return None
    if weight.dtype.kind == "f" and np.isnan(weight.min()):
        return None
    starts = _offsets(lengths)[:-1]
    tops = []
    for ids in (u, v):
        top = np.maximum.reduceat(ids.view(f"u{ids.itemsize}"), starts)
        if top.max() >= 2 ** (8 * ids.itemsize - 1) - 1:  # a negative or a very large id
            return None
        tops.append(top.astype(np.int64))
    sizes = (np.maximum(*tops) + 1).tolist()
    if sum(sizes) > _MOST_VERTICES:
        return None
    every = zip(*columns, sizes, strict=True)
    members = [unchecked(ends, others, values, size) for ends, others, values, size in every]
    return Union.of(members, range(first, first + len(members)), (u, v, weight))


def _is_plain(arrays: Sequence[Any]) -> bool:
    """Return whether all columns are one-dimensional arrays of one native dtype."""
    if {*map(type, arrays)} != {np.ndarray} or {array.ndim for array in arrays} != {1}:
        return False
    dtypes = {array.dtype for array in arrays}
    return len(dtypes) == 1 and dtypes.pop().isnative


def _concatenated(arrays: Sequence[NDArray[Any]], dtype: DTypeLike) -> NDArray[Any]:
    """Concatenate arrays in memory of the pool; all values fit the dtype."""
    out = empty(sum(map(len, arrays)), dtype)
    return np.concatenate(arrays, out=out, casting="unsafe")


def _offsets(lengths: Sequence[int]) -> NDArray[np.int64]:
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets
