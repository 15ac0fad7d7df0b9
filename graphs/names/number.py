"""Open a graph whose vertices have names: read the pairs, and number the vertices."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import MemoryBoundError, OptionError
from ..files import file_fingerprint, paths_of
from .beyond_memory import number_beyond_memory, numbered_before, pairs_divided
from .in_memory import number_in_memory
from .pairs import named_pairs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from os import PathLike

    from ..edge_list import EdgeList
    from ..source import EdgeSource
    from .pairs import Pairs

#: Folder of a checkpoint with the numbered pairs.
FOLDER = "pairs"
#: Bytes that numbering in memory needs for each byte of the columns.
_GROWTH = 4
#: Bytes of memory with which DuckDB numbers names.
_LEAST = 2**28


def number_graph(
    graph: Any,
    ends: Sequence[str],
    weight: str | None,
    *,
    format: str | None = None,  # noqa: A002
    num_vertices: int | None = None,
    memory: int | None = None,
    checkpoint: str | PathLike[str] | None = None,
) -> EdgeList | EdgeSource:
    """Return the graph of `named_pairs` with its vertices numbered.

    It is a source if the pairs need more than `memory` bytes: DuckDB then numbers them on disk. The
    folder `checkpoint` keeps numbered pairs that come from files. The names determine the number of
    vertices, so `num_vertices` must be None.
    """
    names = [ends] if isinstance(ends, str) else list(ends)
    if len(names) != 2 or names[0] == names[1] or not all(isinstance(n, str) for n in names):
        raise OptionError(f"ends must be the names of two columns, not {ends!r}")
    if num_vertices is not None:
        message = "num_vertices= is for numbered vertices; with ends=, the names determine it"
        raise OptionError(message)
    folder = identity = None
    files = paths_of(graph)
    if checkpoint is not None and files:
        folder = Path(checkpoint) / FOLDER
        identity = [*names, weight, *map(file_fingerprint, files)]
        known = numbered_before(folder, identity)
        if known is not None:
            return known
        if memory is not None and (done := pairs_divided(folder, identity)) is not None:
            rest = named_pairs(graph, names, weight, format, first=done)
            return _number_on_disk(rest, memory, folder, identity)
    pairs = named_pairs(graph, names, weight, format)
    held: deque[Pairs] = deque()
    size = 0
    for each in pairs:
        held.append(each)
        size += each.nbytes
        if memory is not None and size * _GROWTH > memory:
            return _number_on_disk(_all(held, pairs), memory, folder, identity)
    return number_in_memory(_all(held, pairs))


def _number_on_disk(
    pairs: Iterator[Pairs], memory: int, folder: Path | None, identity: Any
) -> EdgeSource:
    if memory < _LEAST:
        message = f"{memory:,} bytes are not enough to number the names, even on disk"
        raise MemoryBoundError(message, _LEAST)
    return number_beyond_memory(pairs, memory // 2, folder, identity)


def _all(held: deque[Pairs], rest: Iterator[Pairs]) -> Iterator[Pairs]:
    """Yield the held pairs, dropping each of them, then the remaining pairs."""
    while held:
        yield held.popleft()
    yield from rest
