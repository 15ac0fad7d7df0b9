"""Partitions: ranges of edge ids, each read by the task that needs it."""

from __future__ import annotations

import itertools
import os
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import OptionError
from ...graphs.formats.npy import npy_source
from ...graphs.segments import ArraySegment, Delayed
from ...graphs.source import EdgeSource
from ...graphs.write import write_graph
from ...primitives.vocabulary import ArrayModule  # noqa: TC001  # `stage` reads annotations
from ...stages.declare import stage
from ...stages.fields import Columns, Count
from .chunks import num_chunks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...graphs.segments import Segment
    from .schedulers import Scheduler


def split(source: EdgeSource, partitions: int, scheduler: Scheduler) -> list[EdgeSource]:
    """Return ranges of edge ids of about equal size that tasks of the scheduler can read.

    Partitions of arrays are views if tasks share the caller's memory; otherwise the arrays are
    written to files first. If the number of partitions is that of Dask's chunks, each partition is
    one chunk.

    Raises
    ------
    OptionError
        If tasks do not share the caller's memory, and the graph is on a GPU or can be read only
        once.
    """
    if scheduler.input_folder is not None:
        source = _for_others(source, scheduler.name, scheduler.input_folder)
    if partitions == 1:
        return [source]
    count, sizes = source.num_edges or 0, [segment.num_edges or 0 for segment in source.segments]
    if partitions == num_chunks(source):
        bounds = list(itertools.accumulate(sizes, initial=0))
    else:
        bounds = [count * part // partitions for part in range(partitions + 1)]
    return [source.slice(start, stop) for start, stop in itertools.pairwise(bounds)]


def _for_others(source: EdgeSource, scheduler: str, folder: str) -> EdgeSource:
    """Return the source in a form that other processes can read."""
    if source.is_on_device:
        message = (
            f"tasks of scheduler {scheduler!r} cannot read arrays on the GPU of this process; copy "
            "them to the host (cupy.asnumpy), or choose scheduler 'inline' or 'threads'"
        )
        raise OptionError(message)
    if source.is_read_once:
        message = (
            f"a graph that can be read only once cannot be sent to tasks of {scheduler!r}; choose "
            "scheduler 'inline' or 'threads'"
        )
        raise OptionError(message)
    segments = (
        _to_files(segment, os.path.join(folder, f"input-{place}"))
        if isinstance(segment, ArraySegment)
        else _absolute(segment)
        for place, segment in enumerate(source.segments)
    )
    return replace(source, segments=tuple(segments))


def _to_files(segment: ArraySegment, folder: str) -> Segment:
    write_graph(folder, EdgeSource((segment,), is_checked=True))
    (written,) = npy_source(Path(folder)).segments
    return written


def _absolute(value: Any) -> Any:
    """Return a segment with absolute paths, for tasks with another working directory."""
    if isinstance(value, Path):
        return value.absolute()
    if type(value) is tuple:
        return tuple(map(_absolute, value))
    if not is_dataclass(value) or isinstance(value, Delayed | type):
        return value
    parts = {each.name: _absolute(getattr(value, each.name)) for each in fields(value)}
    return replace(value, **parts)


@stage(writes="columns")
def load_partition(ops: ArrayModule, source: Any, num_edges: Count) -> Columns:
    """Read a partition into arrays.

    The dtype of the edge ids is int32 if they fit, otherwise int64. Vertex ids of 32 or 64 bits
    are not copied.
    """
    u, v, weight = map(ops.asarray, source.columns())
    stop = source.first_id + len(u)
    edge_id = ops.consecutive(source.first_id, len(u), ops.index_dtype(max(num_edges, stop)))
    u, v = (as_index(ids, source.num_vertices or 0) for ids in (u, v))
    return Columns(read_only(u), read_only(v), read_only(weight), edge_id)


def read_only(column: Any) -> Any:
    """Return a read-only view of an array, which may belong to the caller."""
    if isinstance(column, np.ndarray):
        column = column.view()
        column.flags.writeable = False
    return column


def as_index(ids: NDArray[Any], num_vertices: int) -> NDArray[Any]:
    """Return vertex ids as int32 or int64, without a copy if they have 32 or 64 bits."""
    dtype = np.dtype(np.int32 if num_vertices <= 2**31 else np.int64)
    if ids.itemsize == 8 or ids.itemsize == dtype.itemsize:  # all ids are less than 2^63
        return ids.view(f"i{ids.itemsize}")
    return ids.astype(dtype)
