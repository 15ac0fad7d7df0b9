"""The check of an answer: that a forest is the minimum spanning forest, with no trust in solvers.

What a forest must be is checked edge by edge, in memory for the vertices and one chunk of edges:

1. its ids ascend, are ids of the graph, and what is written beside them is what the graph has;
2. it has no cycle;
3. no edge of the graph joins two of its trees;
4. no edge of the graph comes, under (weight, edge id), before one on the path between its ends.

Together these say that it is the one minimum spanning forest under that order (the cycle property).

Of most edges a glance tells the last: lighter edges of the forest connect their ends. For the
others the path's heaviest edge is found in a tree of merged fragments: see `merge_tree`.
"""

from __future__ import annotations

import itertools
import os
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import GraphError, VerificationError
from ..graphs.forest_file import FOREST_COLUMNS, column_problem, graph_identity, read_forest
from ..graphs.open import open_graph
from ..graphs.source import EdgeSource
from ..pipeline.options import check_count
from ..primitives import array_module
from ..progress import heard_by, tell
from ..runtime.device import host_array
from .forest import Forest
from .path_maxima import MergeTree, merge_tree

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

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
        As `minimum_spanning_forest` takes it, but for what can be read only once.
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
    check_count("chunk_edges", chunk_edges, 1, optional=False)
    with heard_by(progress):
        found = open_graph(graph, num_vertices, weight, is_streamed=True)
        source = found if isinstance(found, EdgeSource) else EdgeSource.of(found.to_host())
        if source.is_read_once:
            message = "the graph is read several times, and this one can be read but once"
            raise GraphError(message)
        edges = source.with_sizes()
        num_vertices, num_edges = edges.num_vertices or 0, edges.num_edges or 0
        columns, identity = _forest_columns(forest, edges.first_columns()[2].dtype)
        edge_ids = columns.pop("edge_id")
        with _another_graph_told(edges, identity):
            _check_ids(edge_ids, edges.first_id, num_edges)
            edge_ids = edge_ids.astype(np.int64, copy=False)
            u, v, weights = edges.take(edge_ids)
            _check_columns(columns, edge_ids, {"u": u, "v": v, "weight": weights})
            order, rank = _sorted_forest(edge_ids, weights, maximum=maximum)
            u, v = u[rank], v[rank]
            tree, closing = merge_tree(u, v, num_vertices)
            _check_cycles(edges, order.edge_id[closing])
            chunks = partial(_chunks, edges, tree.parent.dtype, chunk_edges, maximum=maximum)
            known = _shortcut(chunks(), order, tree, u, v)
            _check_edges(edges, chunks(), order, tree, known, maximum=maximum)
    return Verification(
        num_vertices,
        num_edges,
        len(edge_ids),
        num_vertices - len(edge_ids),
        tuple(columns),
    )


# What is given.


def _forest_columns(
    forest: Any, weight_dtype: np.dtype[Any]
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return columns of length f, "edge_id" among them, and what a file says of its graph."""
    if isinstance(forest, str | os.PathLike):
        columns, identity = read_forest(Path(forest), weight_dtype)
        return columns, identity or {}
    if isinstance(forest, Forest):
        forest = forest.to_host()
        found = (forest.edge_ids, forest.u, forest.v, forest.weight)
        return dict(zip(FOREST_COLUMNS, found, strict=True)), {}
    try:
        edge_ids = np.asarray(host_array(forest))
    except ValueError as error:
        message = f"edge ids must be integers: {error}"
        raise GraphError(message) from error
    if edge_ids.size == 0 and edge_ids.dtype == np.float64:  # np.asarray([])
        edge_ids = edge_ids.astype(np.int64)
    problem = column_problem("edge_id", edge_ids)
    if problem:
        raise GraphError(problem)
    return {"edge_id": edge_ids}, {}


@contextmanager
def _another_graph_told(graph: EdgeSource, identity: Mapping[str, Any]) -> Iterator[None]:
    """Add to what is wrong with a forest that it says it is of another graph, if it does."""
    try:
        yield
    except VerificationError as error:
        known = graph_identity(graph)
        stated = {name: value for name, value in identity.items() if value is not None}
        differ = [name for name in known.keys() & stated if known[name] != stated[name]]
        if not differ:
            raise
        told = ", ".join(f"{name} {stated[name]}, not {known[name]}" for name in sorted(differ))
        message = f"{error}; the forest says that it is of another graph: {told}"
        raise VerificationError(message) from error


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


def _check_cycles(graph: EdgeSource, closing: NDArray[np.int64]) -> None:
    """Check that no edges close a cycle.

    Raises
    ------
    VerificationError
        Naming the one with the smallest id among those that do when edges are added in order.
    """
    if len(closing):
        edge = int(closing.min())
        (start,), (end,), _ = _edge(graph, edge)
        how = "is a loop" if start == end else "closes a cycle with other edges of the forest"
        message = f"{_described(graph, edge)} {how}"
        raise VerificationError(message)


# The edges of the graph against the forest.


class _Chunk(NamedTuple):
    """Edges of the graph from the id `start` on."""

    start: int
    u: NDArray[Any]
    v: NDArray[Any]
    key: NDArray[Any]


class _Shortcut(NamedTuple):
    """The trees of the lightest edges of the forest: a heavier edge inside one is right."""

    tree: NDArray[Any]  # of each vertex
    key: int  # of the heaviest of those edges

    def passes_over(self, edges: _Chunk) -> NDArray[np.bool_]:
        """Tell which edges it shows to be right."""
        is_inside: NDArray[np.bool_] = self.tree[edges.u] == self.tree[edges.v]
        return is_inside & (edges.key > self.key)


def _chunks(
    graph: EdgeSource, dtype: np.dtype[Any], chunk_edges: int, *, maximum: bool
) -> Iterator[_Chunk]:
    """Yield all edges, ends as ids of a dtype."""
    for start, _, read in graph.blocks(chunk_edges):
        u, v, weight = read()
        u, v = (ids.astype(dtype, copy=False) for ids in (u, v))
        yield _Chunk(start, u, v, _keys(weight, maximum=maximum))


def _shortcut(
    chunks: Iterator[_Chunk],
    order: _SortedForest,
    tree: MergeTree,
    u: NDArray[Any],
    v: NDArray[Any],
) -> _Shortcut:
    """Return the one that passes over most edges of the first chunk that has any.

    A beginning of the sorted forest passes over an edge if it holds the heaviest edge of the edge's
    path, and ends before the edge itself.
    """
    size = 0
    chunks = (chunk for chunk in chunks if len(chunk.key))
    for _, *ends, key in itertools.islice(chunks, 1):
        begins = np.sort(tree.heaviest_on_paths(*ends)[0])
        stops = np.sort(np.searchsorted(order.key[:-1], key))
        passed = np.searchsorted(begins, begins, "right") - np.searchsorted(stops, begins, "right")
        size = int(begins[passed.argmax()]) + 1
    part, _ = merge_tree(u[:size], v[:size], tree.num_vertices)
    return _Shortcut(part.trees(), int(order.key[size - 1]))


def _check_edges(
    graph: EdgeSource,
    chunks: Iterator[_Chunk],
    order: _SortedForest,
    tree: MergeTree,
    shortcut: _Shortcut,
    *,
    maximum: bool,
) -> None:
    """Check that each edge has a path between its ends, and comes before none of its edges."""
    for chunk in chunks:
        rest = np.flatnonzero(~shortcut.passes_over(chunk))
        u, v, key = (column[rest] for column in chunk[1:])
        rank, apart = tree.heaviest_on_paths(u, v)
        path_key, path_id, edge_id = order.key[rank], order.edge_id[rank], chunk.start + rest
        before = (key < path_key) | ((key == path_key) & (edge_id < path_id))
        wrong = np.append(apart, np.flatnonzero(before))
        if len(wrong):
            place = int(wrong.min())
            message = _why_wrong(graph, int(edge_id[place]), int(path_id[place]), maximum=maximum)
            raise VerificationError(message)
        done = chunk.start + len(chunk.key) - graph.first_id
        tell("compare paths", done, graph.num_edges or 0)


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
    return graph.slice(place, place + 1).columns()
