"""Number the vertices of named pairs that Dask computes, on the workers of a cluster.

Each chunk numbers its names from 0, and divides them by a hash into parts, so that a name is in the
same part in every chunk. A name is new in a chunk if no earlier chunk has it. All steps are tasks,
and only sizes reach the caller:

    divide   the pairs of a chunk           its ends in its own numbers; its names, by part
    match    the names of a part            a code for each name; marks of new names, by chunk
    count    the marks of a chunk           its new names, in the order of first appearance
    assign   the counts of earlier chunks   the numbers of a chunk's new names, by part
    look up  the numbers of a part          the numbers of the names of each chunk
    number   the numbers of a chunk         u, v and weight
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import GraphError
from ...graphs.libraries import kinds, pa
from ...graphs.segments import Delayed
from ...graphs.source import EdgeSource
from ...graphs.vertex_names import VertexNames
from ..column_names import Column
from ..libraries.dask import dask_chunks
from .codes import encode, number_names
from .pairs import common_type, named_pairs

#: The largest number of parts; otherwise there is one for each worker.
_MAX_PARTS = 16
#: Odd factors of the hash.
_FACTOR, _MIXER = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)


def number_on_workers(
    graph: Any, ends: Sequence[Any] | None, weight: Column | None, scheduler: Any
) -> EdgeSource:
    """Return, as a source, a graph that Dask computes; columns and names stay on the workers."""
    chunks = [chunk for chunk, _ in dask_chunks(graph)]
    count, num_parts = len(chunks), min(scheduler.workers, _MAX_PARTS)

    def submit(name: str, calls: Iterable[Sequence[Any]]) -> list[Any]:
        """Submit calls, each a function and handles; return a handle for the result of each."""
        return [
            scheduler.submit(function, *handles, key=f"{name}-{at}")
            for at, (function, *handles) in enumerate(calls)
        ]

    def items(name: str, handles: Sequence[Any], indices: range) -> list[list[Any]]:
        """Return for each index the handles of this item of all results."""
        return [
            submit(f"{name}-{index}", ((itemgetter(index), handle) for handle in handles))
            for index in indices
        ]

    divide = partial(_divide, ends=ends, weight=weight, num_parts=num_parts)
    calls = ((partial(divide, at), scheduler.compute(chunk)) for at, chunk in enumerate(chunks))
    divided = submit("divide", calls)
    names = items("names", divided, range(1, num_parts + 1))
    matched = submit("match", ((_match, *of_part) for of_part in names))
    marks = items("marks", matched, range(count, 2 * count))
    rows = zip(divided, marks, strict=True)
    counted = submit("count", ((_count, chunk, *of_chunk) for chunk, of_chunk in rows))
    counts, types = map(scheduler.gather, items("sizes", counted, range(1, 3)))
    *firsts, num_vertices = np.cumsum([0, *counts]).tolist()
    assign = (partial(_assign, first) for first in firsts)
    assigned = submit("assign", zip(assign, divided, counted, strict=True))
    new_numbers = items("new_numbers", assigned, range(num_parts))
    rows = zip(matched, new_numbers, strict=True)
    looked_up = submit("look_up", ((_look_up, part, *of_part) for part, of_part in rows))
    numbers = items("numbers", looked_up, range(count))
    number = partial(_number, dtype=np.dtype(np.int32 if num_vertices < 2**31 else np.int64))
    rows = zip(divided, numbers, strict=True)
    columns = submit("number", ((number, chunk, *of_chunk) for chunk, of_chunk in rows))
    scheduler.gather([])  # waits for all tasks, so errors are raised here
    segments = tuple(
        Delayed(scheduler.keep(handle), label=str(at)) for at, handle in enumerate(columns)
    )
    (new_names,) = items("new_names", counted, range(3, 4))
    known_types = [name_type for name_type in types if name_type is not None]
    name_type = common_type(known_types) if known_types else pa.string()
    futures = [scheduler.keep(handle) for handle in new_names]
    return EdgeSource(segments, num_vertices, names=RemoteNames(futures, num_vertices, name_type))


class RemoteNames(VertexNames):
    """Names of `count` vertices in the memory of workers: a future for each range of them."""

    def __init__(self, futures: Sequence[Any], count: int, name_type: Any) -> None:
        self._futures, self._values, self._type, self._length = futures, None, name_type, count

    @property
    def values(self) -> Any:
        """The name of each vertex, as a `pyarrow.Array`; fetches them from the workers."""
        chunks = [future.result().cast(self._type) for future in self._futures]
        return pa.concat_arrays(chunks) if chunks else pa.array([], self._type)


def _divide(
    position: int,
    chunk: Any,
    *,
    ends: Sequence[Any] | None,
    weight: Column | None,
    num_parts: int,
) -> tuple[Any, ...]:
    """Return the columns of a chunk in its own numbers, with its names and their parts.

    Further items are the names of each part.
    """
    try:
        tables = list(named_pairs([chunk], ends, weight))
    except GraphError as error:
        raise GraphError(f"chunk {position}: {error}") from error
    u, v, weights, names = number_names(tables)
    part = _parts_of(names, num_parts)
    by_part = (names.filter(pa.array(part == each)) for each in range(num_parts))
    return (u, v, weights, part, names), *by_part


def _match(*names: Any) -> tuple[NDArray[Any], ...]:
    """Return a code for each name of each chunk; codes are numbered by first appearance.

    Further items mark the names of each chunk that no earlier chunk has.
    """
    splits = np.cumsum([len(each) for each in names])[:-1]
    codes, _ = encode([each for each in names if len(each)])
    before = np.maximum.accumulate(np.concatenate([[-1], codes]))[:-1]
    return *np.split(codes, splits), *np.split(codes > before, splits)


def _count(divided: Sequence[Any], *marks: NDArray[Any]) -> tuple[Any, ...]:
    """Return which names of a chunk are new, their number and type, and the new names."""
    *_, part, names = divided[0]
    is_new = _in_order(part, marks, bool)
    name_type = names.type if len(names) else None
    return is_new, int(is_new.sum()), name_type, names.filter(pa.array(is_new))


def _assign(first: int, divided: Sequence[Any], counted: Sequence[Any]) -> list[NDArray[Any]]:
    """Return the numbers of the new names of a chunk, from `first` on, by part."""
    *_, part, _ = divided[0]
    new = part[counted[0]]
    return [first + np.flatnonzero(new == each) for each in range(len(divided) - 1)]


def _look_up(matched: Sequence[Any], *numbers: NDArray[Any]) -> list[NDArray[Any]]:
    """Return the numbers of the names of each chunk; `numbers` are in the order of the codes."""
    number = np.concatenate(numbers)
    return [number[codes] for codes in matched[: len(numbers)]]


def _number(
    divided: Sequence[Any], *numbers: NDArray[Any], dtype: np.dtype[Any]
) -> tuple[NDArray[Any], ...]:
    """Return the columns of a chunk."""
    u, v, weight, part, _ = divided[0]
    number = _in_order(part, numbers, dtype)
    return number[u], number[v], *([] if weight is None else [weight])


def _in_order(part: NDArray[Any], values: Sequence[NDArray[Any]], dtype: Any) -> NDArray[Any]:
    """Return a value for each name of a chunk, from the values of the names of each part."""
    ordered = np.empty(len(part), dtype)
    for each, of_part in enumerate(values):
        ordered[part == each] = of_part
    return ordered


def _parts_of(names: Any, num_parts: int) -> NDArray[np.uint64]:
    """Return the part of each name, by a hash that is the same in all processes."""
    hashed = _hashed(names)
    mixed: NDArray[np.uint64] = (hashed ^ (hashed >> np.uint64(32))) * _MIXER
    return (mixed >> np.uint64(33)) % np.uint64(num_parts)


def _hashed(names: Any) -> NDArray[np.uint64]:
    """Return a hash of each name: a string, an integer or a struct of these."""
    hashed: NDArray[np.uint64]
    if kinds.is_struct(names.type):
        hashed = np.zeros(len(names), np.uint64)
        for field in names.flatten():
            hashed = hashed * _FACTOR + _hashed(field)
    elif kinds.is_integer(names.type):
        integers = np.asarray(names).astype("u8" if kinds.is_uint64(names.type) else "i8")
        hashed = integers.view("u8")
    else:
        _, offsets, data = names.cast(pa.large_string()).buffers()
        bounds = np.frombuffer(offsets, np.int64)[: len(names) + 1]
        letters = np.frombuffer(data or b"", np.uint8)[bounds[0] : bounds[-1]]
        lengths, bounds = np.diff(bounds), bounds - bounds[0]
        powers = np.multiply.accumulate(np.full(lengths.max(initial=0), _FACTOR))
        position = np.arange(len(letters)) - np.repeat(bounds[:-1], lengths)
        terms = (letters + np.uint64(1)) * powers[position]
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(terms)])
        hashed = np.diff(sums[bounds])
    return hashed
