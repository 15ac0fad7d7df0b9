"""Number the vertices of named pairs that Dask computes, on the workers of a cluster.

Each chunk numbers its names from 0. One task merges these dictionaries, in the order of the chunks,
so one worker holds all distinct names. Only the number of names and its type reach the caller:

    divide   the pairs of a chunk      its ends in its own numbers; its names
    merge    the names of all chunks   the number of each name of each chunk; all distinct names
    number   the numbers of a chunk    u, v and weight
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import repeat
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import GraphError
from ...graphs.segments import Delayed
from ...graphs.source import EdgeSource
from ...graphs.vertex_names import VertexNames
from ..column_names import Column
from ..libraries.dask import dask_chunks
from .codes import encode, number_names
from .pairs import named_pairs


def number_on_workers(
    graph: Any, ends: Sequence[Any] | None, weight: Column | None, scheduler: Any
) -> EdgeSource:
    """Return, as a source, a graph that Dask computes; columns and names stay on the workers."""
    chunks = [chunk for chunk, _ in dask_chunks(graph)]

    def submit(name: str, calls: Iterable[Sequence[Any]]) -> list[Any]:
        """Submit calls, each a function and handles; return a handle for the result of each."""
        return [
            scheduler.submit(function, *handles, key=f"{name}-{at}")
            for at, (function, *handles) in enumerate(calls)
        ]

    divide = partial(_divide, ends=ends, weight=weight)
    calls = ((partial(divide, at), scheduler.compute(chunk)) for at, chunk in enumerate(chunks))
    divided = submit("divide", calls)
    own_names = submit("names", ((itemgetter(-1), chunk) for chunk in divided))
    merged = scheduler.submit(_merge, *own_names, key="merge")
    count, name_type, names, *numbers = submit(
        "merged", ((itemgetter(at), merged) for at in range(len(chunks) + 3))
    )
    columns = submit("number", zip(repeat(_number), divided, numbers, strict=False))
    num_vertices, name_type = scheduler.gather([count, name_type])
    scheduler.gather([])  # waits for all tasks, so errors are raised here
    segments = tuple(
        Delayed(scheduler.keep(handle), label=str(at)) for at, handle in enumerate(columns)
    )
    stored = RemoteNames(scheduler.keep(names), num_vertices, name_type)
    return EdgeSource(segments, num_vertices, names=stored)


class RemoteNames(VertexNames):
    """Names of `count` vertices in the memory of a worker: a future for all of them."""

    def __init__(self, future: Any, count: int, name_type: Any) -> None:
        self._future, self._values, self._type, self._length = future, None, name_type, count

    @property
    def values(self) -> Any:
        """The name of each vertex, as a `pyarrow.Array`; fetches them from the worker."""
        return self._future.result()


def _divide(
    position: int, chunk: Any, *, ends: Sequence[Any] | None, weight: Column | None
) -> tuple[Any, ...]:
    """Return u, v and the weights of a chunk in its own numbers, and its names."""
    try:
        tables = list(named_pairs([chunk], ends, weight))
    except GraphError as error:
        raise GraphError(f"chunk {position}: {error}") from error
    return number_names(tables)


def _merge(*names: Any) -> tuple[Any, ...]:
    """Return the number, the type and an array of all distinct names, then the numbers by chunk.

    A name has the number of its first appearance.
    """
    splits = np.cumsum([len(each) for each in names])[:-1]
    codes, distinct = encode([each for each in names if len(each)])
    return len(distinct), distinct.type, distinct, *np.split(codes, splits)


def _number(divided: Sequence[Any], number: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    """Return the columns of a chunk."""
    u, v, weight, _ = divided
    return number[u], number[v], *([] if weight is None else [weight])
