"""Partitions: ranges of edge ids, each read by the task that needs it.

Chunks that Dask computes are inputs of tasks: each task runs on a worker that holds its chunks.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from ..errors import GraphError, OptionError
from ..graphs.segments import ArraySegment, Delayed
from ..graphs.source import EdgeSource, SegmentSizes
from ..plugins import wing
from ..runtime.identity import digest
from ..runtime.team import divide
from .schedulers.scheduler import Scheduler, add_place


def split(source: EdgeSource, partitions: int, scheduler: Scheduler) -> list[EdgeSource]:
    """Return ranges of edge ids of about equal size that tasks of the scheduler can read.

    Partitions of arrays are views if tasks share the caller's memory; otherwise the arrays are
    sent to the tasks. If the number of partitions is that of Dask's chunks, each partition is one
    chunk.
    """
    if partitions == 1:
        parts = [source]
    else:
        ranges = divide(source.num_edges or 0, partitions)
        if partitions == num_chunks(source):
            sizes = (segment.num_edges or 0 for segment in source.segments)
            ranges = [*itertools.pairwise(itertools.accumulate(sizes, initial=0))]
        parts = [source.slice(start, stop) for start, stop in ranges]
    return [_for_processes(part, scheduler) for part in parts] if scheduler.is_remote else parts


def _for_processes(source: EdgeSource, scheduler: Scheduler) -> EdgeSource:
    """Return the source in a form that other processes can read."""
    if source.is_on_device:
        raise OptionError(
            f"tasks of scheduler {scheduler.name!r} cannot read arrays on the GPU of this process; "
            "copy them to the host (cupy.asnumpy), or choose scheduler 'inline' or 'threads'"
        )
    if source.is_read_once:
        raise OptionError(
            f"a graph that can be read only once cannot be sent to tasks of {scheduler.name!r}; "
            "choose scheduler 'inline' or 'threads'"
        )
    doors = wing("doors")
    segments: list[Any] = []
    for segment in source.segments:
        if not isinstance(segment, ArraySegment):
            segments.append(doors.for_hosts(segment))
        elif scheduler.input_folder is None:
            sent = scheduler.send(tuple(segment.columns))
            segments.append(Delayed(sent, stop=segment.num_edges))
        else:
            path = Path(scheduler.input_folder, f"input-{source.first_id}-{len(segments)}")
            if not path.exists():  # written before a worker died
                doors.write_graph(path, EdgeSource((segment,), is_checked=True))
            segments += doors.npy_source(path).segments
    return replace(source, segments=tuple(segments))


def num_chunks(source: EdgeSource) -> int:
    """Return the number of chunks that Dask computes; 0 if the source has other segments too."""
    count = len(chunks_of(source))
    return count if count == len(source.segments) else 0


def is_persisted(source: EdgeSource) -> bool:
    """Return whether Dask has computed all of its chunks, or is computing them."""
    distributed = sys.modules.get("distributed")
    return distributed is not None and all(map(distributed.futures_of, chunks_of(source)))


def sized(source: EdgeSource, scheduler: Scheduler) -> EdgeSource:
    """Return a source with its sizes; a cluster counts the edges of Dask's chunks."""
    if source.is_measured or not _is_on_cluster(source, scheduler):
        return source.with_sizes()
    return source.with_segment_sizes(_run_on_chunks(count_chunk, source, scheduler))


def fingerprint_input(source: EdgeSource, scheduler: Scheduler) -> str:
    """Return a digest that identifies the input; a cluster computes digests of Dask's chunks."""
    is_counted = all(segment.checksums for segment in source.segments)
    if is_counted or not _is_on_cluster(source, scheduler):
        return source.fingerprint()
    digests = _run_on_chunks(EdgeSource.fingerprint, source, scheduler)
    return digest(repr((source.first_id, source.unweighted, digests)).encode())


def count_chunk(source: EdgeSource) -> SegmentSizes:
    """Return the sizes and checksums of one chunk; errors count its edges from 0 and name it."""
    segment: Any = source.segments[0]
    try:
        return source.count_segment(segment, source.first_id)
    except GraphError as error:
        name = segment.name(0)
        if str(error).startswith(name):
            raise
        raise GraphError(f"{name}: {error}") from error


def _is_on_cluster(source: EdgeSource, scheduler: Scheduler) -> bool:
    """Return whether Dask computes all chunks of a source in other processes."""
    return scheduler.is_remote and num_chunks(source) > 0


def _run_on_chunks(
    task: Callable[[EdgeSource], Any], source: EdgeSource, scheduler: Scheduler
) -> list[Any]:
    """Run a task on each of Dask's chunks, on the workers that hold them; return the results."""
    handles = []
    for place, (segment, chunk) in enumerate(zip(source.segments, chunks_of(source), strict=True)):
        bare = with_chunks(replace(source, segments=(segment,)), ["to come"])
        call, key = partial(_on_chunk, task, bare), f"{task.__name__}-{place}"
        handles.append(scheduler.submit(call, scheduler.compute(chunk), key=key))
    return scheduler.gather(handles)


def _on_chunk(task: Callable[[EdgeSource], Any], source: EdgeSource, chunk: Any) -> Any:
    try:
        return task(with_chunks(source, [chunk]))
    except Exception as error:
        add_place(error, task.__name__, on_cluster=True)
        raise


def chunks_of(source: EdgeSource) -> list[Any]:
    """Return the Dask collections or futures of a source, or what stands for them, in order."""
    return [segment.chunks for segment in source.segments if isinstance(segment, Delayed)]


def with_chunks(source: EdgeSource, chunks: Iterable[Any]) -> EdgeSource:
    """Return a source with other values in place of its chunks."""
    values = iter(chunks)
    segments = (
        replace(segment, chunks=next(values)) if isinstance(segment, Delayed) else segment
        for segment in source.segments
    )
    return replace(source, segments=tuple(segments))
