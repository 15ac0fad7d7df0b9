"""Verification: check that a forest is the minimum spanning forest, independently of all solvers.

Memory is proportional to the number of vertices, plus one block of edges. The checks are:

1. The edge ids are ascending ids of the graph, and saved columns equal those of the graph.
2. The forest has no cycle.
3. No edge of the graph joins two trees of the forest.
4. In the order (weight, edge id), no edge of the graph precedes an edge on the path of the forest
   between its ends.

By the cycle property, these checks prove that the forest is the unique minimum spanning forest in
this order.

Most edges pass check 4 quickly, because lighter edges of the forest connect their ends. For the
others, `path_maxima` finds the heaviest edge on the path.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import GraphError, VerificationError, memory_errors
from ..forest.edges import equal_exactly
from ..forest.forest import Forest
from ..graphs.reading import Reading, check_names
from ..graphs.saved_forest import FOREST_COLUMNS, column_problem, graph_identity
from ..graphs.source import EdgeSource
from ..pipeline.options import check_count, check_flag
from ..plugins import wing
from ..primitives import array_module
from ..progress import Listener, report_progress, set_listener
from ..runtime.device import host_array
from .path_maxima import MergeTree, merge_tree

#: Default number of edges in a block; their working arrays fit in cache.
BLOCK_EDGES = 2**18

_NUMPY = array_module("numpy")


@dataclass(frozen=True)
class Verification:
    """The result of a successful verification.

    Attributes
    ----------
    num_vertices, num_edges : int
        Size of the graph.
    num_forest_edges, num_components : int
        Size of the forest; isolated vertices are components.
    compared : tuple of str
        The columns of the forest that were compared with the graph: some of u, v and weight.
    maximum : bool
        Whether the forest is the maximum spanning forest.
    """

    num_vertices: int
    num_edges: int
    num_forest_edges: int
    num_components: int
    compared: tuple[str, ...]
    maximum: bool


def verify(
    graph: Any,
    forest: Forest | ArrayLike | str | os.PathLike[str],
    *,
    maximum: bool | None = None,
    block_edges: int = BLOCK_EDGES,
    progress: bool | Listener = True,
    **reading: Unpack[Reading],
) -> Verification:
    """Check that a forest is the minimum spanning forest in the order (weight, edge id).

    The check is independent of all algorithms. In addition to the graph, it needs memory in
    proportion to the number of vertices.

    Parameters
    ----------
    graph
        As for `minimum_spanning_forest`, except for graphs that can be read only once.
    forest : Forest, integer array of length f, or path
        A forest, its edge ids, or a file written by `Forest.save` (`docs/forest-file.md`).
    maximum : bool, optional
        Check for the maximum spanning forest; ties still go to the smaller edge id. Default: as the
        Forest or its file states; else False.
    block_edges : int
        Number of edges to process at once.
    progress : bool or callable
        As for `minimum_spanning_forest`.
    **reading
        The options of `mstflow.read`, by keyword, with which the graph was read.

    Returns
    -------
    Verification
        Sizes of the graph and the forest. A wrong forest raises an error.

    Raises
    ------
    VerificationError
        If the forest is wrong. Names the first edge that proves it.
    FileFormatError
        If a file cannot be read or has invalid content.
    GraphError, OptionError
        If the graph, the edge ids or an option are invalid.
    """
    check_names("verify", reading)
    if maximum is not None:
        check_flag("maximum", maximum)
    check_count("block_edges", block_edges, 1, optional=False)
    with set_listener(progress):
        opened = wing("doors").open_graph(graph, is_streamed=True, **reading)
        source = opened if isinstance(opened, EdgeSource) else EdgeSource.of(opened.to_host())
        if source.is_read_once:
            message = "verification reads the graph several times; pass one that can be read again"
            raise GraphError(message)
        source = source.with_sizes()
        if reading.get("num_vertices") is None:
            wing("doors").check_vertices(source)
        num_vertices, num_edges = source.num_vertices or 0, source.num_edges or 0
        names = source.names
        name_type = None if names is None else names.type
        weight_dtype = source.first_columns()[2].dtype
        columns, metadata = _forest_columns(forest, weight_dtype, name_type)
        if maximum is None:
            maximum = metadata.get("maximum") is True
        edge_ids = columns.pop("edge_id")
        # With `signed`, keys are comparable even if only some blocks have negative weights.
        keys = partial(_NUMPY.order_key, signed=True, descending=maximum)
        with _mention_another_graph(source, metadata), memory_errors(num_vertices, num_edges):
            _check_ids(edge_ids, source.first_id, num_edges)
            edge_ids = edge_ids.astype(np.int64, copy=False)
            u, v, weights = source.take(edge_ids)
            expected = {"u": u, "v": v, "weight": weights}
            if names is not None and isinstance(forest, str | os.PathLike):
                named = {**names.columns("u", u), **names.columns("v", v)}
                expected.update({name: np.asarray(column) for name, column in named.items()})
            _check_columns(columns, edge_ids, expected)
            ranked, order = _sort_forest(edge_ids, keys(weights))
            u, v = u[order], v[order]
            tree, closing = merge_tree(u, v, num_vertices)
            _check_cycles(source, ranked.edge_id[closing])
            blocks = partial(_blocks, source, tree.parent.dtype, block_edges, keys)
            light_tree_of, light_key = _light_trees(blocks(), ranked, tree, u, v)
            _check_edges(source, blocks(), ranked, tree, light_tree_of, light_key)
    return Verification(
        num_vertices,
        num_edges,
        len(edge_ids),
        num_vertices - len(edge_ids),
        tuple(columns),
        maximum,
    )


# Arguments.


def _forest_columns(
    forest: Any, weight_dtype: np.dtype[Any], name_type: Any
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return the forest's columns, including "edge_id", and the metadata of a file or Forest."""
    if isinstance(forest, str | os.PathLike):
        columns, metadata = wing("doors").read_forest(Path(forest), weight_dtype, name_type)
        return columns, metadata or {}
    if isinstance(forest, Forest):
        forest = forest.to_host()
        values = (forest.edge_ids, forest.u, forest.v, forest.weight)
        return dict(zip(FOREST_COLUMNS, values, strict=True)), {"maximum": forest.maximum}
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
def _mention_another_graph(graph: EdgeSource, metadata: Mapping[str, Any]) -> Iterator[None]:
    """Extend the message of a VerificationError if the forest's file states another graph."""
    try:
        yield
    except VerificationError as error:
        found = graph_identity(graph)
        differ = [
            name for name in found.keys() & metadata if metadata[name] not in (None, found[name])
        ]
        if not differ:
            raise
        shown = ", ".join(f"{name} {metadata[name]}, not {found[name]}" for name in sorted(differ))
        message = f"{error}; the forest's file is for another graph: {shown}"
        raise VerificationError(message) from error


# The forest alone.


def _check_ids(edge_ids: NDArray[Any], first_id: int, num_edges: int) -> None:
    """Check that edge ids (integers in any order) are ascending, distinct ids of the graph."""
    outside = np.flatnonzero((edge_ids < first_id) | (edge_ids >= first_id + num_edges))
    if len(outside):
        message = f"edge id {edge_ids[outside[0]]} does not exist: the graph has {num_edges} edges"
        raise VerificationError(message)
    unordered = np.flatnonzero(edge_ids[1:] <= edge_ids[:-1])
    if not len(unordered):
        return
    ascending = np.sort(edge_ids)
    repeated = np.flatnonzero(ascending[1:] == ascending[:-1])
    if len(repeated):
        message = f"edge id {ascending[repeated[0]]} occurs twice"
    else:
        first, second = edge_ids[unordered[0]], edge_ids[unordered[0] + 1]
        message = f"edge id {second} follows {first}, but edge ids must be ascending"
    raise VerificationError(message)


def _check_columns(
    columns: Mapping[str, NDArray[Any]],
    edge_ids: NDArray[np.int64],
    graph_columns: Mapping[str, NDArray[Any]],
) -> None:
    """Check that each column of the forest equals the graph's column."""
    for name, column in columns.items():
        expected = graph_columns[name]
        differ = np.flatnonzero(~equal_exactly(column, expected))
        if len(differ):
            first = differ[0]
            message = (
                f"edge {edge_ids[first]}: {name} is {column[first]} in the forest, "
                f"but {expected[first]} in the graph"
            )
            raise VerificationError(message)


class _SortedForest(NamedTuple):
    """The edges of a forest sorted by (weight, edge id); the position of an edge is its rank.

    Rank -1 stands for no edge: it indexes an extra last entry with key 0 and edge id -1, which
    precedes all edges in the order.
    """

    key: NDArray[Any]
    edge_id: NDArray[np.int64]


def _sort_forest(
    edge_ids: NDArray[np.int64], key: NDArray[Any]
) -> tuple[_SortedForest, NDArray[np.intp]]:
    """Return the sorted forest and the permutation that sorts it."""
    order = np.argsort(key, kind="stable")  # ids are ascending, so this also orders ties
    sorted_key = np.append(key[order], key.dtype.type(0))
    return _SortedForest(sorted_key, np.append(edge_ids[order], -1)), order


def _check_cycles(graph: EdgeSource, closing: NDArray[np.int64]) -> None:
    """Check that `closing`, the ids of the forest's edges that close cycles, is empty."""
    if len(closing):
        edge = closing.min()
        (u,), (v,), _ = _edge(graph, edge)
        problem = "is a loop" if u == v else "closes a cycle with other edges of the forest"
        message = f"{_describe(graph, edge)} {problem}"
        raise VerificationError(message)


# The edges of the graph, compared with the forest.


#: The id of the first edge of a block, then u, v and the key of each edge.
_Block = tuple[int, NDArray[Any], NDArray[Any], NDArray[Any]]

#: Hint if an edge that joins two trees is heavier than all edges of the forest.
_LIMIT_HINT = (
    "if the forest was computed with a limit on weights, verify it against the graph without the "
    "edges beyond that limit"
)


def _blocks(
    graph: EdgeSource,
    dtype: np.dtype[Any],
    block_edges: int,
    keys: Callable[[NDArray[Any]], NDArray[Any]],
) -> Iterator[_Block]:
    """Yield the edges of the graph in blocks, with ends of the given dtype."""
    for start, _, read in graph.blocks(block_edges):
        u, v, weight = read()
        yield start, u.astype(dtype, copy=False), v.astype(dtype, copy=False), keys(weight)


def _light_trees(
    blocks: Iterator[_Block],
    forest: _SortedForest,
    tree: MergeTree,
    u: NDArray[Any],
    v: NDArray[Any],
) -> tuple[NDArray[Any], int]:
    """Return the tree of each vertex in the forest of light edges only, and their largest key.

    A heavier edge of the graph within one of these trees is correctly absent from the forest. The
    largest key is chosen so that this holds for as many edges as possible of the first block that
    is not empty.
    """
    num_light = 0
    block = next((block for block in blocks if len(block[-1])), None)
    if block is not None:
        _, *ends, key = block
        rank = np.sort(tree.heaviest_on_paths(*ends)[0])
        num_lighter = np.sort(np.searchsorted(forest.key[:-1], key))
        # With each rank as the limit: the edges whose path has only light edges, and the edges that
        # are not heavier than the limit. The difference is the number of edges that it proves.
        num_connected = np.searchsorted(rank, rank, "right")
        num_not_heavier = np.searchsorted(num_lighter, rank, "right")
        num_light = int(rank[(num_connected - num_not_heavier).argmax()]) + 1
    light, _ = merge_tree(u[:num_light], v[:num_light], tree.num_vertices)
    return light.trees(), int(forest.key[num_light - 1])


def _check_edges(
    graph: EdgeSource,
    blocks: Iterator[_Block],
    forest: _SortedForest,
    tree: MergeTree,
    light_tree_of: NDArray[Any],
    light_key: int,
) -> None:
    """Check that the forest connects the ends of each edge by edges that precede it."""
    for start, u, v, key in blocks:
        is_proven = (light_tree_of[u] == light_tree_of[v]) & (key > light_key)
        rest = np.flatnonzero(~is_proven)
        edge_id, key = start + rest, key[rest]
        rank, positions_without_path = tree.heaviest_on_paths(u[rest], v[rest])
        path_key, path_id = forest.key[rank], forest.edge_id[rank]
        precedes = (key < path_key) | ((key == path_key) & (edge_id < path_id))
        wrong = np.append(positions_without_path, np.flatnonzero(precedes))
        if len(wrong):
            first = wrong.min()
            message = _why_wrong(graph, edge_id[first], path_id[first])
            joins_trees = first in positions_without_path
            if joins_trees and len(forest.key) > 1 and key[first] > forest.key[-2]:
                message = f"{message}; {_LIMIT_HINT}"
            raise VerificationError(message)
        report_progress("compare paths", start + len(u) - graph.first_id, graph.num_edges or 0)


def _why_wrong(graph: EdgeSource, edge: np.int64, path_edge: np.int64) -> str:
    """Return the message for an edge that precedes `path_edge`, or joins two trees if it is -1."""
    shown = _describe(graph, edge)
    if path_edge < 0:
        return f"{shown} joins two trees of the forest"
    path = f"{_describe(graph, path_edge)} on the path between its ends"
    weight, path_weight = (_edge(graph, each)[2] for each in (edge, path_edge))
    if weight == path_weight:
        return f"{shown} has the same weight and a smaller id than {path}"
    return f"{shown} is {'heavier' if weight > path_weight else 'lighter'} than {path}"


def _describe(graph: EdgeSource, edge: np.int64) -> str:
    (u,), (v,), (weight,) = _edge(graph, edge)
    if graph.names is not None:
        u, v = graph.names[u], graph.names[v]
    return f"edge {edge} ({u}-{v}, weight {weight})"


def _edge(graph: EdgeSource, edge: np.int64) -> tuple[NDArray[Any], ...]:
    """Return u, v and weight of an edge, as arrays of length 1."""
    return graph.take(np.array([edge]))
