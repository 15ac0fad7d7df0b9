"""Number the vertices of named pairs that Dask computes, on the workers of a cluster.

Each chunk numbers its own names. These are divided by a hash into parts, so that each name is in
one part. All steps are tasks, and only sizes reach the caller:

    divide   the pairs of a chunk     its ends by own numbers; its names, by part
    match    the names of a part      a code for each name; which names are new in each chunk
    count    the marks of a chunk     its new names, in the order of first appearance
    assign   the count before it      the numbers of its new names, by part
    look up  the numbers of a part    the numbers of the names of each chunk
    number   the numbers of a chunk   u, v and weight
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import GraphError
from ..column_names import Column
from ..libraries.dask import dask_chunks
from ..libraries.pyarrow import kinds, pa
from ..segments import Delayed
from ..source import EdgeSource
from .codes import encoded, numbered
from .pairs import common_type, named_pairs
from .vertex_names import VertexNames

#: The number of parts, if there are as many workers.
_MOST_PARTS = 16
#: Odd factors of the hash.
_FACTOR, _MIXER = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)
_ONE = np.uint64(1)


def number_on_workers(
    graph: Any, ends: Sequence[Any] | None, weight: Column | None, scheduler: Any
) -> EdgeSource:
    """Return a graph that Dask computes as a source; columns and names stay on the workers."""
    chunks = [chunk for chunk, _ in dask_chunks(graph)]
    count = len(chunks)
    places, parts = range(count), range(min(scheduler.workers, _MOST_PARTS))

    def each(name: str, call: Callable[..., Any], rows: Sequence[Sequence[Any]]) -> list[Any]:
        """Return a handle for the result of each call."""
        return [
            scheduler.submit(partial(call, at), *row, key=f"{name}-{at}")
            for at, row in enumerate(rows)
        ]

    def pick(name: str, handles: Sequence[Any], items: range) -> list[list[Any]]:
        """Return a handle for each item of each result."""
        return [
            [
                scheduler.submit(partial(_item, item), handle, key=f"{name}-{at}-{item}")
                for item in items
            ]
            for at, handle in enumerate(handles)
        ]

    divide = partial(_divide, ends=ends, weight=weight, parts=len(parts))
    divided = each("divide", divide, [[scheduler.compute(chunk)] for chunk in chunks])
    names = pick("names", divided, range(1, len(parts) + 1))
    matched = each("match", _match, [[row[part] for row in names] for part in parts])
    marks = pick("marks", matched, range(count, 2 * count))
    counted = each("count", _count, [[divided[at], *(row[at] for row in marks)] for at in places])
    sizes = pick("sizes", counted, range(1, 3))
    facts = scheduler.gather([handle for row in sizes for handle in row])
    counts, types = facts[0::2], [kind for kind in facts[1::2] if kind is not None]
    bounds = np.cumsum([0, *counts]).tolist()
    assign = partial(_assign, bounds)
    assigned = each("assign", assign, [[divided[at], counted[at]] for at in places])
    numbers = pick("numbers", assigned, range(len(parts)))
    found = each(
        "look_up", _look_up, [[matched[part], *(row[part] for row in numbers)] for part in parts]
    )
    looked = pick("found", found, range(count))
    dtype = np.dtype(np.int32 if bounds[-1] < 2**31 else np.int64)
    columns = each(
        "number",
        partial(_number, dtype=dtype),
        [[divided[at], *(row[at] for row in looked)] for at in places],
    )
    scheduler.gather(columns[:0])  # waits for all tasks, so errors are raised here
    segments = tuple(
        Delayed(scheduler.keep(handle), label=str(at)) for at, handle in enumerate(columns)
    )
    stored = [scheduler.keep(row[0]) for row in pick("new_names", counted, range(3, 4))]
    kind = common_type(types) if types else pa.string()
    return EdgeSource(segments, bounds[-1], names=RemoteNames(stored, bounds[-1], kind))


class RemoteNames(VertexNames):
    """Names of `count` vertices in the memory of workers: a future for each range of them."""

    def __init__(self, futures: Sequence[Any], count: int, kind: Any) -> None:
        self._futures, self._values, self._type, self._length = futures, None, kind, count

    @property
    def values(self) -> Any:
        """The name of each vertex, as a `pyarrow.Array`; fetches them from the workers."""
        chunks = [future.result().cast(self._type) for future in self._futures]
        return pa.concat_arrays(chunks) if chunks else pa.array([], self._type)


def _item(item: int, results: Sequence[Any]) -> Any:
    return results[item]


def _divide(
    place: int, chunk: Any, *, ends: Sequence[Any] | None, weight: Column | None, parts: int
) -> tuple[Any, ...]:
    """Return the columns of a chunk with own numbers, its names and their parts; names by part."""
    try:
        tables = list(named_pairs([chunk], ends, weight))
    except GraphError as error:
        raise GraphError(f"chunk {place}: {error}") from error
    u, v, weights, names = numbered(tables)
    part = _parts_of(names, parts)
    own = (u, v, weights, part, names)
    return own, *(names.filter(pa.array(part == each)) for each in range(parts))


def _match(_: int, *names: Any) -> tuple[NDArray[Any], ...]:
    """Return a code for each name of each chunk, in the order of first appearance; new names."""
    ends = np.cumsum([len(each) for each in names])[:-1]
    codes, _ = encoded([each for each in names if len(each)])
    before = np.maximum.accumulate(np.concatenate([[-1], codes]))[:-1]
    return *np.split(codes, ends), *np.split(codes > before, ends)


def _count(_: int, divided: Sequence[Any], *marks: NDArray[Any]) -> tuple[Any, ...]:
    """Return which names of a chunk are new, their number and type, and the new names."""
    *_, part, names = divided[0]
    is_new = _in_place(part, marks, bool)
    kind = names.type if len(names) else None
    return is_new, int(is_new.sum()), kind, names.filter(pa.array(is_new))


def _assign(
    bounds: Sequence[int], place: int, divided: Sequence[Any], counted: Sequence[Any]
) -> list[NDArray[Any]]:
    """Return the numbers of the new names of a chunk, by part."""
    *_, part, _ = divided[0]
    new = part[counted[0]]
    number = np.arange(bounds[place], bounds[place + 1])
    return [number[new == each] for each in range(len(divided) - 1)]


def _look_up(_: int, matched: Sequence[Any], *numbers: NDArray[Any]) -> list[NDArray[Any]]:
    """Return the numbers of the names of each chunk; those of new names are in order of codes."""
    number = np.concatenate(numbers)
    return [number[codes] for codes in matched[: len(numbers)]]


def _number(
    _: int, divided: Sequence[Any], *numbers: NDArray[Any], dtype: np.dtype[Any]
) -> tuple[NDArray[Any], ...]:
    """Return the columns of a chunk."""
    u, v, weight, part, _ = divided[0]
    number = _in_place(part, numbers, dtype)
    return number[u], number[v], *([] if weight is None else [weight])


def _in_place(part: NDArray[Any], values: Sequence[NDArray[Any]], dtype: Any) -> NDArray[Any]:
    """Return the values of all names of a chunk, from those of each part."""
    placed = np.empty(len(part), dtype)
    for each, found in enumerate(values):
        placed[part == each] = found
    return placed


def _parts_of(names: Any, count: int) -> NDArray[np.uint64]:
    """Return the part of each name, by a hash that is the same in all processes."""
    hashed = _hashed(names)
    mixed: NDArray[np.uint64] = (hashed ^ (hashed >> np.uint64(32))) * _MIXER
    return (mixed >> np.uint64(33)) % np.uint64(count)


def _hashed(names: Any) -> NDArray[np.uint64]:
    """Return a hash of each name, of strings, integers, or structs of these."""
    hashed: NDArray[np.uint64]
    if kinds.is_struct(names.type):
        hashed = np.zeros(len(names), np.uint64)
        for place in range(names.type.num_fields):
            hashed = hashed * _FACTOR + _hashed(names.field(place))
    elif kinds.is_integer(names.type):
        signed = np.asarray(names).astype("u8" if kinds.is_uint64(names.type) else "i8")
        hashed = signed.view("u8")
    else:
        _, offsets, data = names.cast(pa.large_string()).buffers()
        ends = np.frombuffer(offsets, np.int64)[: len(names) + 1]
        letters = np.frombuffer(data or b"", np.uint8)[ends[0] : ends[-1]]
        lengths = np.diff(ends)
        powers = np.multiply.accumulate(np.full(lengths.max(initial=0), _FACTOR))
        place = np.arange(len(letters)) - np.repeat(ends[:-1] - ends[0], lengths)
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum((letters + _ONE) * powers[place])])
        hashed = np.diff(sums[ends - ends[0]])
    return hashed
