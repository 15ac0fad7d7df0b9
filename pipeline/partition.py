"""Partitions: an edge list as ranges of edge ids, each loaded by a task of its own."""

from __future__ import annotations

import itertools
import os
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..primitives import array_module
from . import scratch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..graphs.edge_list import EdgeList
    from ..primitives import Backend
    from .schedulers import Scheduler

#: What a partition carries along its edges, in this order.
COLUMNS = ("u", "v", "weight", "edge_id")


def load_partitions(
    graph: EdgeList, partitions: int, scheduler: Scheduler, backend: Backend
) -> list[Any]:
    """Return for each of `partitions` ranges of edge ids a handle of its table of `COLUMNS`.

    Tasks get views of the caller's arrays where they share its memory, else paths and rows.
    """
    columns: list[Any] = [graph.u, graph.v, graph.weight]
    if scheduler.input_folder is not None:
        folder = os.path.join(scheduler.input_folder, "input")
        os.makedirs(folder)
        columns = [scratch.store(column, folder) for column in columns]
    bounds = [graph.num_edges * part // partitions for part in range(partitions + 1)]
    handles = []
    for start, stop in itertools.pairwise(bounds):
        load = partial(
            load_columns,
            [_rows(column, start, stop) for column in columns],
            start,
            (graph.num_vertices, graph.num_edges),
            backend,
            scheduler.task_folder,
        )
        handles.append(scheduler.submit("load_partition", load))
    return handles


def load_columns(
    columns: list[Any], first_id: int, size: tuple[int, int], backend: Backend, folder: str | None
) -> tuple[Any, ...]:
    """Return u, v, weight and the edge ids from `first_id` on, as arrays of the backend.

    `size` is the number of vertices and of edges of the whole graph. Edge ids are of the smaller
    index dtype that holds it; vertex ids of 32 or 64 bits are taken as they are.
    """
    u, v, weight = (scratch.load(column) for column in columns)
    ops = array_module(backend)
    id_dtype = ops.index_dtype(size[1])
    edge_id = np.arange(first_id, first_id + len(u), dtype=id_dtype)
    loaded = (
        ops.asarray(_as_index(u, size[0])),
        ops.asarray(_as_index(v, size[0])),
        ops.asarray(weight),
        ops.asarray(edge_id),
    )
    return tuple(scratch.store(column, folder) for column in loaded)


def _rows(column: Any, start: int, stop: int) -> Any:
    if isinstance(column, scratch.Stored):
        return scratch.Stored(column.path, start, stop)
    return column[start:stop]


def _as_index(ids: NDArray[Any], num_vertices: int) -> NDArray[Any]:
    """Return vertex ids as int32 or int64, without a copy where they have 32 or 64 bits."""
    dtype = np.dtype(np.int32 if num_vertices <= 2**31 else np.int64)
    if ids.itemsize == 8 or ids.itemsize == dtype.itemsize:  # ids of 64 bits are small enough
        return ids.view(f"i{ids.itemsize}")
    return ids.astype(dtype)
