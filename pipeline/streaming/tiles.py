"""In each tile of a grid, one thread joins vertices into fragments, in the cache."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...graphs.source import EdgeSource
from ...progress import report_progress
from ...stages.fields import Columns
from ...stages.strategies import readers
from .solver import Solver
from .threads import in_order


class JoinedTile(NamedTuple):
    """A tile, whose vertices have been joined into fragments."""

    #: The places of its vertices in a partition, along each axis.
    box: tuple[slice, ...]
    #: The fragment of each vertex.
    label: NDArray[Any]
    num_fragments: int
    #: The ids of the chosen edges, which joined the vertices of each fragment.
    chosen: NDArray[Any]
    #: The edges that are not decided yet. Their ends are ids of vertices, not of fragments.
    remaining: Columns


@dataclass(frozen=True)
class TileJoiner(readers.TileJoiner):
    """Joins the vertices of tiles into fragments."""

    solver: Solver
    #: The first edge id and the number of edges of the whole grid.
    first_edge: int
    num_edges: int | None

    def join(self, source: EdgeSource) -> tuple[tuple[int, ...], int, Iterator[JoinedTile]]:
        """Return the shape of a partition, a bound on its remaining edges, and its joined tiles."""
        shape, max_remaining, tiles = source.tiles()
        return shape, max_remaining, self._join_each(source, tiles, math.prod(shape))

    def _join_each(
        self, source: EdgeSource, tiles: Iterator[Any], num_vertices: int
    ) -> Iterator[JoinedTile]:
        solver, num_joined = self.solver.on_this_worker(), 0
        # The numbers of the grid's edges before this partition and in it.
        num_before, num_edges = source.first_id - self.first_edge, source.num_edges or 0
        calls = (partial(_join, solver, source, tile) for tile in tiles)
        for joined in in_order(calls, solver.backend):
            yield joined
            num_joined += len(joined.label)
            done = num_before + num_edges * num_joined // num_vertices
            report_progress("join tiles", done, self.num_edges or 0)


def _join(solver: Solver, source: EdgeSource, tile: Any) -> JoinedTile:
    """Join the vertices of a tile into fragments, in one thread."""
    ops = solver.thread_ops
    weight = tile.weights(source.weight_dtype or np.dtype(np.int64))
    if weight.dtype.kind == "f" and np.isnan(weight).any():
        source.check()  # raises an error for the first NaN of all tiles
    key = ops.order_key(ops.asarray(weight), signed=True, descending=solver.maximum)
    u, v = map(ops.asarray, (tile.template.u, tile.template.v))
    certain, undecided, label, count = ops.contract_tile(u, v, key, tile.template.num_vertices)
    rest = np.concatenate([ops.to_host(undecided), tile.template.leaving])
    chosen = tile.edge_ids(ops.to_host(certain))
    u, v = tile.ends(rest)
    remaining = Columns(u, v, weight[rest], tile.edge_ids(rest))
    return JoinedTile(tile.box, label, count, chosen, remaining)
