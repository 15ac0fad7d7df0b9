"""Stages of the strategy "tiles": join the vertices inside the tiles of a grid first.

A tile is a box of vertices. Most edges inside it can be decided from the edges that touch it: each
is certain to be in the minimum forest of the grid, or certain not to be. See `contract_tile` in
`primitives.joins`. The certain edges join the vertices of a tile to few fragments, near its faces.
The edges between tiles and the undecided edges remain; a tile has fewer undecided edges than
fragments. An algorithm finds the rest of the forest from the remaining edges.
"""

import math

from ...primitives.vocabulary import ArrayModule
from ..combine import concatenation
from ..declare import stage
from ..fields import Chosen, Columns, Count, DType, Index, Source, TileJoiner


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
    source: Source,
    tile_joiner: TileJoiner,
    weight_dtype: DType,
    num_vertices: Count,
    num_edges: Count,
    first_edge: Count,
) -> tuple[Index, Count, Columns, Chosen]:
    """Join the vertices of each tile by edges that are certain to be in the forest.

    Write the fragment of each vertex, and the edges that remain. Threads work on different tiles.
    """
    shape, most, tiles = tile_joiner.join(source)
    index, edge_id = ops.index_dtype(num_vertices), ops.index_dtype(first_edge + num_edges)
    labels = ops.empty(math.prod(shape), index)
    chosen = ops.empty(len(labels), edge_id)
    columns = [ops.empty(most, dtype) for dtype in (index, index, weight_dtype, edge_id)]
    volume, count, fragments, left = labels.reshape(shape), 0, 0, 0
    for tile in tiles:
        box = volume[tile.box]
        box[...] = (tile.label + fragments).reshape(box.shape)
        fragments += tile.num_fragments
        chosen[count : count + len(tile.chosen)] = ops.asarray(tile.chosen)
        count += len(tile.chosen)
        for column, part in zip(columns, tile.remaining, strict=True):
            column[left : left + len(part)] = ops.asarray(part)
        left += len(tile.remaining.u)
    return labels, fragments, Columns(*(column[:left] for column in columns)), chosen[:count]


@stage(writes="columns")
def relabel_remaining(ops: ArrayModule, columns: Columns, labels: Index) -> Columns:
    """Replace the ends of the remaining edges by their fragments."""
    return Columns(*ops.relabel_pairs(labels, *columns))
