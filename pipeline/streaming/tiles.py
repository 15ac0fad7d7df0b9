"""The stages of the strategy "tiles": join the vertices inside the tiles of a grid first.

A tile is a box of vertices. Most edges inside it can be decided from the edges that touch it: each
is certain to be in the minimum forest of the grid, or certain not to be. See `contract_tile` in
`primitives.joins`. The certain edges join the vertices of a tile to few fragments, near its faces.
The edges between tiles and the undecided edges remain; a tile has fewer undecided edges than
fragments. An algorithm finds the rest of the forest from the remaining edges.

The edges of a tile fit in a cache. They are freed after the tile, except for the remaining ones.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...primitives import Backend, array_module
from ...primitives.vocabulary import ArrayModule  # noqa: TC001  # `stage` reads annotations
from ...progress import report_progress
from ...stages.combine import concatenation
from ...stages.declare import stage
from ...stages.fields import Chosen, Columns, Count, Index
from .scan import in_order

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...graphs.generate.tiles import Tile
    from ...graphs.source import EdgeSource
    from .solver import Solver


class Joined(NamedTuple):
    """A tile after its vertices were joined."""

    box: tuple[slice, ...]
    #: The fragment of each vertex.
    label: NDArray[Any]
    num_fragments: int
    #: The ids of edges of the forest.
    chosen: NDArray[Any]
    #: The edges that remain. Their ends are vertices.
    left: Columns


def append_partitions(
    ops: ArrayModule, parts: list[tuple[Index, Count, Columns, Chosen]]
) -> tuple[Index, Count, Columns, Chosen]:
    """Concatenate the results of several partitions; number their fragments consecutively."""
    labels, count = [], 0
    for label, num_fragments, *_ in parts:
        labels.append(label + count if count else label)
        count += num_fragments
    columns, chosen = concatenation(ops, [(left, ids) for *_, left, ids in parts])
    return ops.concat(labels), count, columns, chosen


@stage(writes=("labels", "num_fragments", "columns", "forest"), combine=append_partitions)
def join_tiles(
    ops: ArrayModule,
    source: Any,
    solver: Any,
    num_vertices: Count,
    num_edges: Count,
    first_edge: Count,
) -> tuple[Index, Count, Columns, Chosen]:
    """Join the vertices of each tile by edges that are certain to be in the forest.

    Write the fragment of each vertex, and the edges that remain. Threads work on different tiles.
    """
    solver = solver.here()
    shape, most, tiles = source.tiles()
    labels = ops.empty(math.prod(shape), ops.index_dtype(num_vertices))
    chosen = ops.empty(len(labels), ops.index_dtype(first_edge + num_edges))
    dtypes = labels.dtype, labels.dtype, source.weight_dtype or np.int64, chosen.dtype
    columns = [ops.empty(most, dtype) for dtype in dtypes]
    volume, seen, count, fragments, left = labels.reshape(shape), 0, 0, 0, 0
    calls = (partial(_join, solver, source, tile) for tile in tiles)
    for joined in in_order(calls, solver.backend):
        box = volume[joined.box]
        box[...] = (joined.label + fragments).reshape(box.shape)
        chosen[count : count + len(joined.chosen)] = ops.asarray(joined.chosen)
        for column, part in zip(columns, joined.left, strict=True):
            column[left : left + len(part)] = ops.asarray(part)
        count, left = count + len(joined.chosen), left + len(joined.left.u)
        fragments += joined.num_fragments
        seen += len(joined.label)
        done = source.first_id - first_edge + source.num_edges * seen // len(labels)
        report_progress("join tiles", done, num_edges)
    return labels, fragments, Columns(*(column[:left] for column in columns)), chosen[:count]


@stage(writes="columns")
def relabel_remaining(ops: ArrayModule, columns: Columns, labels: Index) -> Columns:
    """Replace the ends of the remaining edges by their fragments."""
    return Columns(*ops.relabel_pairs(labels, *columns))


@stage(writes="columns")
def sort_by_id(ops: ArrayModule, columns: Columns) -> Columns:
    """Sort the edges by id: later stages break ties by position."""
    order = ops.argsort(columns.edge_id)
    return Columns(*(ops.gather(column, order) for column in columns))


def _join(solver: Solver, source: EdgeSource, tile: Tile) -> Joined:
    """Join the vertices of a tile, in one thread."""
    ops = array_module(Backend(solver.backend.name))
    weight = tile.weights(source.weight_dtype or np.dtype(np.int64))
    if weight.dtype.kind == "f" and np.isnan(weight).any():
        source.check()  # raises an error for the first NaN of all tiles
    key = ops.order_key(ops.asarray(weight), signed=True, descending=solver.maximum)
    u, v = map(ops.asarray, (tile.shape.u, tile.shape.v))
    certain, undecided, label, count = ops.contract_tile(u, v, key, tile.shape.num_vertices)
    left = np.concatenate([ops.to_host(undecided), tile.shape.leaving])
    chosen = tile.edge_ids(ops.to_host(certain))
    return Joined(
        tile.box, label, count, chosen, Columns(*tile.ends(left), weight[left], tile.edge_ids(left))
    )
