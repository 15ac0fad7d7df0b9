"""Stages of the strategy "tiles": join the vertices inside the tiles of a grid first.

A tile is a box of vertices. The edges that touch it decide about most edges inside it: these are
certain to be in the minimum forest of the grid, or certain not to be. See `contract_tile` in
`primitives.joins`. The certain edges join the vertices of a tile to few fragments, near its faces.
The edges between tiles and the undecided edges remain; a tile has fewer undecided edges than
fragments. An algorithm finds the rest of the forest among the remaining edges.
"""

import math

from ...primitives.vocabulary import ArrayModule
from ..combine import concatenation
from ..declare import stage
from ..fields import Chosen, Columns, Count, DType, Index
from .readers import Source, TileJoiner


def append_partitions(
    ops: ArrayModule, parts: list[tuple[Index, Count, Columns, Chosen]]
) -> tuple[Index, Count, Columns, Chosen]:
    """Concatenate the results of several partitions; number their fragments consecutively."""
    labels, total = [], 0
    for label, num_fragments, _, _ in parts:
        labels.append(label + total if total else label)
        total += num_fragments
    columns, chosen = concatenation(ops, [(remaining, chosen) for *_, remaining, chosen in parts])
    return ops.concat(labels), total, columns, chosen


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
    """Join the vertices of the tiles of a partition by edges that are certain to be in the forest.

    Write the fragment of each vertex, the number of fragments, the edges that remain, and the ids
    of the certain edges. Threads work on different tiles.
    """
    shape, max_remaining, tiles = tile_joiner.join(source)
    index, edge_id = ops.index_dtype(num_vertices), ops.index_dtype(first_edge + num_edges)
    labels = ops.empty(math.prod(shape), index)
    chosen = ops.empty(len(labels), edge_id)
    columns = [ops.empty(max_remaining, dtype) for dtype in (index, index, weight_dtype, edge_id)]
    label_of_grid = labels.reshape(shape)
    num_fragments, num_chosen, num_remaining = 0, 0, 0
    for tile in tiles:
        box = label_of_grid[tile.box]
        box[...] = (tile.label + num_fragments).reshape(box.shape)
        num_fragments += tile.num_fragments
        chosen[num_chosen : num_chosen + len(tile.chosen)] = ops.asarray(tile.chosen)
        num_chosen += len(tile.chosen)
        for column, values in zip(columns, tile.remaining, strict=True):
            column[num_remaining : num_remaining + len(values)] = ops.asarray(values)
        num_remaining += len(tile.remaining.u)
    remaining = Columns(*(column[:num_remaining] for column in columns))
    return labels, num_fragments, remaining, chosen[:num_chosen]


@stage(writes="columns")
def relabel_remaining(ops: ArrayModule, columns: Columns, labels: Index) -> Columns:
    """Replace the ends of the remaining edges by their fragments."""
    return Columns(*ops.relabel_pairs(labels, *columns))
