"""The check of an answer: that a forest is the minimum spanning forest, with no trust in solvers.

What a forest must be is checked edge by edge, in memory for the vertices and one chunk of edges:

1. its ids ascend, are ids of the graph, and what is written beside them is what the graph has;
2. it has no cycle;
3. no edge of the graph joins two of its trees;
4. no edge of the graph comes, under (weight, edge id), before one on the path between its ends.

Together these say that it is the one minimum spanning forest under that order (the cycle property).

Boruvka's algorithm on the forest alone gives a tree of merged fragments: its leaves are the
vertices, each fragment carries the edge it chose, and fragments above one tree's vertices are
equally many. The heaviest edge between two vertices is the heaviest choice met on the way up from
both to where they meet, at most log2 n steps. So the paths of a chunk are walked side by side.

Source: V. King, "A simpler minimum spanning tree verification algorithm", Algorithmica 18 (1997):
the property of Boruvka trees. Where two paths meet is found by climbing, not by her tables, which
take more memory.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import GraphError, OptionError, VerificationError
from ..graphs.device import host_array
from ..graphs.forest_file import FOREST_COLUMNS, column_problem, read_forest
from ..graphs.open import open_graph
from ..graphs.source import EdgeSource
from ..primitives import array_module
from ..progress import heard_by, tell
from .forest import Forest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from ..progress import Listener

CHUNK_EDGES = 2**18  # what is known of so many paths fits in cache

_NUMPY = array_module("numpy")


@dataclass(frozen=True)
class Verification:
    """What was checked, and found right.

    Attributes
    ----------
    num_vertices, num_edges : int
        Of the graph.
    num_forest_edges, num_components : int
        Of the forest; single vertices are components.
    compared : tuple of str
        Which of u, v, weight the forest carried and were compared with the graph's.
    """

    num_vertices: int
    num_edges: int
    num_forest_edges: int
    num_components: int
    compared: tuple[str, ...]


def verify(
    graph: Any,
    forest: Forest | ArrayLike | str | os.PathLike[str],
    *,
    num_vertices: int | None = None,
    weight: str | None = "weight",
    maximum: bool = False,
    chunk_edges: int = CHUNK_EDGES,
    progress: bool | Listener = True,
) -> Verification:
    """Check that a forest is the minimum spanning forest under the total order (weight, edge id).

    Nothing that finds forests takes part. Memory is proportional to the number of vertices, beside
    the graph; columns that are memory maps are read once from front to back.

    Parameters
    ----------
    graph
        As `minimum_spanning_forest` takes it.
    forest : Forest, integer array of length f, or path
        What was found, the edge ids alone, or what `Forest.save` wrote (`docs/forest-file.md`).
    num_vertices : int, optional
        Number of vertices, in place of what the graph says.
    weight : str or None
        Which of its weights the forest is minimal by; None takes every weight as 1.
    maximum : bool
        Check for the maximum spanning forest; ties still go to the smaller edge id.
    chunk_edges : int
        How many edges of the graph are looked at together.
    progress : bool or callable
        As for `minimum_spanning_forest`.

    Returns
    -------
    Verification
        What was checked. There is no other outcome but an error.

    Raises
    ------
    VerificationError
        If the forest is wrong; names the first edge that shows it.
    FileFormatError
        If a file cannot be read or does not hold what it should.
    GraphError, OptionError
        If the graph, the edge ids or an option are not what they should be.
    """
    if isinstance(chunk_edges, bool) or not isinstance(chunk_edges, int) or chunk_edges < 1:
        message = f"chunk_edges must be an integer of at least 1, not {chunk_edges!r}"
        raise OptionError(message)
    with heard_by(progress):
        found = open_graph(graph, num_vertices, weight, is_streamed=True)
        source = found if isinstance(found, EdgeSource) else EdgeSource.of(found.to_host())
        edges = source.with_sizes()
        num_vertices, num_edges = edges.num_vertices or 0, edges.num_edges or 0
        columns = _forest_columns(forest, edges.first_columns()[2].dtype)
        edge_ids = columns.pop("edge_id")
        _check_ids(edge_ids, edges.first_id, num_edges)
        edge_ids = edge_ids.astype(np.int64, copy=False)
        u, v, weights = edges.take(edge_ids)
        _check_columns(columns, edge_ids, {"u": u, "v": v, "weight": weights})
        order, rank = _sorted_forest(edge_ids, weights, maximum=maximum)
        tree = _merge_tree(edges, order, u[rank], v[rank])
        _check_edges(edges, order, tree, maximum=maximum, chunk_edges=chunk_edges)
    return Verification(
        num_vertices,
        num_edges,
        len(edge_ids),
        num_vertices - len(edge_ids),
        tuple(columns),
    )


# What is given.


def _forest_columns(forest: Any, weight_dtype: np.dtype[Any]) -> dict[str, NDArray[Any]]:
    """Return the columns of a forest of length f, "edge_id" among them."""
    if isinstance(forest, str | os.PathLike):
        return read_forest(Path(forest), weight_dtype)
    if isinstance(forest, Forest):
        forest = forest.to_host()
        found = (forest.edge_ids, forest.u, forest.v, forest.weight)
        return dict(zip(FOREST_COLUMNS, found, strict=True))
    edge_ids = np.asarray(host_array(forest))
    if edge_ids.size == 0 and edge_ids.dtype == np.float64:  # np.asarray([])
        edge_ids = edge_ids.astype(np.int64)
    problem = column_problem("edge_id", edge_ids)
    if problem:
        raise GraphError(problem)
    return {"edge_id": edge_ids}


# The forest by itself.


def _check_ids(edge_ids: NDArray[Any], first_id: int, num_edges: int) -> None:
    """Check that ids (integers, any order) ascend, are distinct and are ids of the graph."""
    wrong = np.flatnonzero((edge_ids < first_id) | (edge_ids >= first_id + num_edges))
    if len(wrong):
        message = f"edge id {edge_ids[wrong[0]]} does not exist: the graph has {num_edges} edges"
        raise VerificationError(message)
    back = np.flatnonzero(edge_ids[1:] <= edge_ids[:-1])
    if not len(back):
        return
    ascending = np.sort(edge_ids)
    twice = np.flatnonzero(ascending[1:] == ascending[:-1])
    if len(twice):
        message = f"edge id {ascending[twice[0]]} occurs twice"
    else:
        first, second = edge_ids[back[0]], edge_ids[back[0] + 1]
        message = f"edge id {second} comes after {first}, but the ids of a forest ascend"
    raise VerificationError(message)


def _check_columns(
    columns: Mapping[str, NDArray[Any]],
    edge_ids: NDArray[np.int64],
    graph: Mapping[str, NDArray[Any]],
) -> None:
    """Check that each column (length f) holds what the graph's does."""
    for name, column in columns.items():
        ours = graph[name]
        differ = np.flatnonzero(~_equal(column, ours))
        if len(differ):
            place = differ[0]
            message = (
                f"edge {edge_ids[place]}: {name} is {column[place]} in the forest, "
                f"but {ours[place]} in the graph"
            )
            raise VerificationError(message)


def _equal(left: NDArray[Any], right: NDArray[Any]) -> NDArray[np.bool_]:
    """Compare numbers by value, exactly."""
    equal: NDArray[np.bool_] = left == right
    if (left.dtype.kind == "f") != (right.dtype.kind == "f"):
        # NumPy rounds integers of 64 bits to compare them with floats; Python does not.
        for place in np.flatnonzero(equal & (abs(left.astype(np.float64)) >= 2.0**53)):
            equal[place] = left[place].item() == right[place].item()
    return equal


class _SortedForest(NamedTuple):
    """The edges of a forest in order of (weight, edge id); their place in it is their rank.

    One more entry, which rank -1 finds, stands for no edge and comes before all: key 0, id -1.
    """

    key: NDArray[Any]  # unsigned, length f + 1
    edge_id: NDArray[np.int64]  # length f + 1


def _sorted_forest(
    edge_ids: NDArray[np.int64], weight: NDArray[Any], *, maximum: bool
) -> tuple[_SortedForest, NDArray[np.intp]]:
    """Return the forest in order, and the permutation that puts it so."""
    key = _keys(weight, maximum=maximum)
    rank = np.argsort(key, kind="stable")  # ids ascend, so ties stay in their order
    order = _SortedForest(np.append(key[rank], key.dtype.type(0)), np.append(edge_ids[rank], -1))
    return order, rank


def _keys(weight: NDArray[Any], *, maximum: bool) -> NDArray[Any]:
    """Return keys that compare as weights do: the same for any part, whatever signs occur there."""
    keys: NDArray[Any] = _NUMPY.order_key(weight, signed=True, descending=maximum)
    return keys


class _MergeTree(NamedTuple):
    """Fragments of Boruvka's algorithm on a forest, at most 2 n; the first n are the vertices."""

    parent: NDArray[Any]  # of each fragment, the one it was merged into, or itself
    chosen: NDArray[Any]  # of each fragment, the rank of the edge it chose; -1 if it has none
    height: int

    def heaviest_on_paths(
        self, u: NDArray[Any], v: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[np.intp]]:
        """Return the rank of the heaviest edge between each u and v, and where there is no path.

        Parameters
        ----------
        u, v : integer arrays of length k
            Vertices.

        Returns
        -------
        rank : integer array of length k
            -1 where u is v or there is no path.
        apart : integer array
            Positions, ascending, at which u and v are in two trees.
        """
        rank = np.full(len(u), -1, self.chosen.dtype)
        climbing = np.flatnonzero(u != v)
        u, v = u[climbing], v[climbing]
        heaviest = np.full(len(climbing), -1, self.chosen.dtype)
        for _ in range(self.height):
            np.maximum(heaviest, self.chosen[u], out=heaviest)
            np.maximum(heaviest, self.chosen[v], out=heaviest)
            u, v = self.parent[u], self.parent[v]
            met = u == v
            if met.any():
                rank[climbing[met]] = heaviest[met]
                still = np.flatnonzero(~met)
                climbing, heaviest, u, v = (x[still] for x in (climbing, heaviest, u, v))
        return rank, climbing


def _merge_tree(
    graph: EdgeSource, order: _SortedForest, u: NDArray[Any], v: NDArray[Any]
) -> _MergeTree:
    """Merge the vertices along the edges of a forest, round by round.

    Raises
    ------
    VerificationError
        If there is a cycle: naming the edge with the smallest id among those that close one when
        edges are added in order.
    """
    edge_ids, size, first = order.edge_id[:-1], graph.num_vertices or 0, 0
    dtype = _NUMPY.index_dtype(2 * size)
    u, v = u.astype(dtype, copy=False), v.astype(dtype, copy=False)
    rank = np.arange(len(edge_ids), dtype=_NUMPY.index_dtype(len(edge_ids)))
    parents, choices, closing = [], [], []
    while True:
        # Ends that came together by other edges, all of them lighter: every choice was.
        loop = u == v
        closing.append(rank[loop])
        u, v, rank = u[~loop], v[~loop], rank[~loop]
        if not len(u):
            break
        choice, root = _choose(u, v, size)
        merges = choice < len(u)
        number = np.cumsum(merges & (root == np.arange(size)), dtype=dtype) - 1
        new = number[root]
        own = np.arange(first, first + size, dtype=dtype)
        parents.append(np.where(merges, first + size + new, own))
        choices.append(np.where(merges, np.append(rank, rank.dtype.type(-1))[choice], -1))
        left = np.ones(len(u), np.bool_)
        left[choice[merges]] = False
        u, v, rank = new[u[left]], new[v[left]], rank[left]
        first, size = first + size, int(number[-1]) + 1
    parents.append(np.arange(first, first + size, dtype=dtype))
    choices.append(np.full(size, -1, rank.dtype))
    closes = np.concatenate(closing)
    if len(closes):
        edge = int(edge_ids[closes].min())
        (start,), (end,), _ = _edge(graph, edge)
        how = "is a loop" if start == end else "closes a cycle with other edges of the forest"
        message = f"{_described(graph, edge)} {how}"
        raise VerificationError(message)
    return _MergeTree(np.concatenate(parents), np.concatenate(choices), len(choices) - 1)


def _choose(u: NDArray[Any], v: NDArray[Any], size: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Let each fragment choose its first edge, and find the fragments that this merges.

    Parameters
    ----------
    u, v : integer arrays of length k
        Ends of the edges, lightest first; no loops.
    size : int
        Number of fragments.

    Returns
    -------
    choice : integer array of length `size`
        Position of the edge each fragment chose; k if it has none.
    root : integer array of length `size`
        One of the fragments it is merged with, the same for all of them.
    """
    position = np.arange(len(u), dtype=u.dtype)
    choice = np.full(size, len(u), u.dtype)
    np.minimum.at(choice, u, position)
    np.minimum.at(choice, v, position)
    own = np.arange(size, dtype=u.dtype)
    target, chooses = own.copy(), np.flatnonzero(choice < len(u))
    edge = choice[chooses]
    target[chooses] = u[edge] ^ v[edge] ^ own[chooses]  # the other end
    # Edges are strictly ordered, so the only cycles are pairs that chose one edge.
    is_first_of_pair = (target[target] == own) & (own < target)
    target[is_first_of_pair] = own[is_first_of_pair]
    return choice, _NUMPY.pointer_jump(target)


# The edges of the graph against the forest.


def _check_edges(
    graph: EdgeSource,
    order: _SortedForest,
    tree: _MergeTree,
    *,
    maximum: bool,
    chunk_edges: int,
) -> None:
    """Check that each edge has a path between its ends, and comes before none of its edges."""
    for start, count, read in graph.blocks(chunk_edges):
        u, v, weight = read()
        u, v = (ids.astype(tree.parent.dtype, copy=False) for ids in (u, v))
        rank, apart = tree.heaviest_on_paths(u, v)
        key, path_key = _keys(weight, maximum=maximum), order.key[rank]
        edge_id, path_id = np.arange(start, start + count), order.edge_id[rank]
        before = (key < path_key) | ((key == path_key) & (edge_id < path_id))
        wrong = np.append(apart, np.flatnonzero(before))
        if len(wrong):
            place = int(wrong.min())
            message = _why_wrong(graph, start + place, int(path_id[place]), maximum=maximum)
            raise VerificationError(message)
        tell("compare paths", start + count - graph.first_id, graph.num_edges or 0)


def _why_wrong(graph: EdgeSource, edge: int, other: int, *, maximum: bool) -> str:
    """Say what is wrong: `other` is the edge that `edge` should replace, or -1."""
    shown = _described(graph, edge)
    if other < 0:
        return f"{shown} joins two trees of the forest"
    path = f"{_described(graph, other)} on the path between its ends"
    if _edge(graph, edge)[2] == _edge(graph, other)[2]:
        return f"{shown} has a smaller id than {path}, and no other weight"
    return f"{shown} is {'heavier' if maximum else 'lighter'} than {path}"


def _described(graph: EdgeSource, edge: int) -> str:
    (u,), (v,), (weight,) = _edge(graph, edge)
    return f"edge {edge} ({u}-{v}, weight {weight})"


def _edge(graph: EdgeSource, edge: int) -> tuple[NDArray[Any], ...]:
    """Return u, v and weight of one edge."""
    place = edge - graph.first_id
    return graph.part(place, place + 1).columns()
