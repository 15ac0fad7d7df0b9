"""Chunks that Dask computes, each in a separate task on a worker that holds it."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from ...graphs.files import digest
from ...graphs.segments import Delayed
from ...graphs.source import Counted, EdgeSource
from .workers import add_place

if TYPE_CHECKING:
    from collections.abc import Callable

    from .schedulers import Scheduler

#: Placeholder of a chunk that another task computes.
_TO_COME = "to come"


class Chunked(NamedTuple):
    """A source whose chunks Dask computes in separate tasks.

    Attributes
    ----------
    source : EdgeSource
    chunks : tuple
        Each chunk in order: its value, or a placeholder for it.
    """

    source: EdgeSource
    chunks: tuple[Any, ...]

    def filled(self) -> EdgeSource:
        """Return the source with its chunks."""
        values = iter(self.chunks)
        segments = (_with_chunk(segment, values) for segment in self.source.segments)
        return replace(self.source, segments=tuple(segments))


class OnDemand(NamedTuple):
    """A Dask collection or future, which the scheduler computes for each task that reads it."""

    collection: Any


def num_chunks(source: EdgeSource) -> int:
    """Return the number of chunks that Dask computes; 0 if the source has other segments too."""
    chunks = [chunk_of(segment) is not None for segment in source.segments]
    return len(chunks) if all(chunks) else 0


def sized(source: EdgeSource, scheduler: Scheduler) -> EdgeSource:
    """Return a source with its sizes; a cluster counts the edges of Dask's chunks."""
    is_known = source.num_edges is not None and source.num_vertices is not None
    if is_known or not _computed_elsewhere(source, scheduler):
        return source.with_sizes()
    return source.of_sizes(_of_each_chunk(count_chunk, source, scheduler))


def fingerprint_input(source: EdgeSource, scheduler: Scheduler) -> str:
    """Return a digest that identifies the input; a cluster computes digests of Dask's chunks."""
    is_counted = all(getattr(segment, "checksums", ()) for segment in source.segments)
    if is_counted or not _computed_elsewhere(source, scheduler):
        return source.fingerprint()
    digests = _of_each_chunk(EdgeSource.fingerprint, source, scheduler)
    return digest(repr((source.first_id, source.unweighted, digests)).encode())


def count_chunk(source: EdgeSource) -> Counted:
    """Return the sizes and checksums of one chunk."""
    found = source.with_sizes()
    checksums = found.segments[0].checksums  # type: ignore[attr-defined]
    return Counted(found.num_edges or 0, found.num_vertices or 0, found.weight_dtype, checksums)


def _computed_elsewhere(source: EdgeSource, scheduler: Scheduler) -> bool:
    """Return whether Dask computes all chunks of a source in other processes."""
    return scheduler.input_folder is not None and num_chunks(source) > 0


def _of_each_chunk(
    task: Callable[[EdgeSource], Any], source: EdgeSource, scheduler: Scheduler
) -> list[Any]:
    """Run a task on each of Dask's chunks, on the workers that hold them; return the results."""
    handles = [
        scheduler.submit(
            partial(
                _on_chunk, task, as_field(replace(source, segments=(segment,)), scheduler).source
            ),
            scheduler.compute(chunk_of(segment)),
            key=f"{task.__name__}-{place}",
        )
        for place, segment in enumerate(source.segments)
    ]
    return scheduler.gather(handles)


def _on_chunk(task: Callable[[EdgeSource], Any], source: EdgeSource, chunk: Any) -> Any:
    try:
        return task(Chunked(source, (chunk,)).filled())
    except Exception as error:
        add_place(error, task.__name__, on_cluster=True)
        raise


def as_field(source: EdgeSource, scheduler: Scheduler) -> Any:
    """Return the source of a partition as a value that tasks of the scheduler can read."""
    chunks = [chunk for segment in source.segments if (chunk := chunk_of(segment)) is not None]
    if not chunks or scheduler.input_folder is None:
        return source
    bare = replace(
        source, segments=tuple(_with_chunk(p, itertools.repeat(_TO_COME)) for p in source.segments)
    )
    return Chunked(bare, tuple(OnDemand(chunk) for chunk in chunks))


def chunk_of(segment: Any) -> Any:
    """Return the Dask collection or future of a segment; None for other segments."""
    if isinstance(segment, Delayed):
        return segment.chunk
    inner = getattr(segment, "segment", None)
    return None if inner is None else chunk_of(inner)


def _with_chunk(segment: Any, values: Any) -> Any:
    """Replace the chunk of a segment by the next value, if the segment has a chunk."""
    if isinstance(segment, Delayed):
        return replace(segment, chunk=next(values))
    if chunk_of(segment) is None:
        return segment
    return replace(segment, segment=_with_chunk(segment.segment, values))
