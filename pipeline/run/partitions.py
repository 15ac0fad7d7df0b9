"""Partitions: an edge list as ranges of edge ids, each read by the task that needs it."""

from __future__ import annotations

import itertools
import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import OptionError
from ...graphs.formats.npy import npy_source
from ...graphs.pieces import ArrayPiece
from ...graphs.source import EdgeSource
from ...graphs.write import write_graph
from ...primitives import array_module
from . import scratch
from .workers import device_errors, worker_backend

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...graphs.pieces import Piece
    from ...primitives import Backend
    from .schedulers import Scheduler

#: What a partition carries along its edges, in this order.
COLUMNS = ("u", "v", "weight", "edge_id")


def split(source: EdgeSource, partitions: int, scheduler: Scheduler) -> list[EdgeSource]:
    """Return ranges of edge ids, about equal, that tasks of the scheduler can read.

    Arrays go as views to tasks that share the caller's memory, else to files.

    Raises
    ------
    OptionError
        If the graph lies on a GPU, or can be read but once, and tasks do not share the caller's
        memory.
    """
    if scheduler.input_folder is not None:
        if source.is_on_device:
            message = (
                f"tasks of scheduler {scheduler.name!r} cannot see arrays on the GPU of this "
                "process: copy them to the host (cupy.asnumpy), or choose inline or threads"
            )
            raise OptionError(message)
        if source.is_read_once:
            message = (
                f"a graph that can be read but once does not go to tasks of {scheduler.name!r}: "
                "choose inline or threads"
            )
            raise OptionError(message)
        pieces = enumerate(source.pieces)
        source = replace(
            source,
            pieces=tuple(
                _to_files(piece, os.path.join(scheduler.input_folder, f"input-{place}"))
                if isinstance(piece, ArrayPiece)
                else piece
                for place, piece in pieces
            ),
        )
    if partitions == 1:
        return [source]
    count = source.num_edges or 0
    bounds = [count * part // partitions for part in range(partitions + 1)]
    return [source.part(start, stop) for start, stop in itertools.pairwise(bounds)]


def _to_files(piece: ArrayPiece, folder: str) -> Piece:
    write_graph(folder, EdgeSource((piece,), is_checked=True))
    (written,) = npy_source(Path(folder)).pieces
    return written


def load_partitions(
    parts: list[EdgeSource], num_edges: int, scheduler: Scheduler, backend: Backend
) -> list[Any]:
    """Return for each part a handle of its table of `COLUMNS`; `num_edges` is of the whole."""
    return [
        scheduler.submit(
            "load_partition",
            partial(load_columns, part, num_edges, backend, scheduler.task_folder),
        )
        for part in parts
    ]


@device_errors("load_partition")
def load_columns(
    source: EdgeSource, num_edges: int, backend: Backend, folder: str | None
) -> tuple[Any, ...]:
    """Return u, v, weight and edge ids as arrays of the backend.

    Edge ids are of the smaller index dtype that holds them; vertex ids of 32 or 64 bits are taken
    as they are.
    """
    ops = array_module(worker_backend(backend))
    u, v, weight = map(ops.asarray, source.columns())
    stop = source.first_id + len(u)
    edge_id = ops.consecutive(source.first_id, len(u), ops.index_dtype(max(num_edges, stop)))
    ends = (as_index(ids, source.num_vertices or 0) for ids in (u, v))
    loaded = (*map(_read_only, (*ends, weight)), edge_id)
    return tuple(scratch.store(column, folder, ops) for column in loaded)


def _read_only(column: Any) -> Any:
    """Return a view that no stage can write to, where an array may be the caller's own."""
    if isinstance(column, np.ndarray):
        column = column.view()
        column.flags.writeable = False
    return column


def placed(array: Any, backend: Backend, *, on_device: bool) -> Any:
    """Return an array of the backend's, or of the host's, where a graph lies: there or here."""
    if isinstance(array, np.ndarray) and not on_device:
        return array
    ops = array_module(backend)
    return ops.asarray(array) if on_device else ops.to_host(array)


def as_index(ids: NDArray[Any], num_vertices: int) -> NDArray[Any]:
    """Return vertex ids as int32 or int64, without a copy where they have 32 or 64 bits."""
    dtype = np.dtype(np.int32 if num_vertices <= 2**31 else np.int64)
    if ids.itemsize == 8 or ids.itemsize == dtype.itemsize:  # ids of 64 bits are small enough
        return ids.view(f"i{ids.itemsize}")
    return ids.astype(dtype)
