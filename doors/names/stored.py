"""Names of vertices that are not an Arrow array: a Parquet file, or the nodes of a library."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import GraphError, OptionError
from ...graphs.libraries import compute, kinds, pa, parquet
from ...graphs.vertex_names import VertexNames, look_up


class StoredNames(VertexNames):
    """Names in the column `name` of a Parquet file, which is read on each use.

    `resources` are closed when the names are freed, which removes a temporary file.
    Strings in a file of more than `few_bytes` have 64-bit offsets.
    """

    def __init__(self, path: Path, resources: contextlib.ExitStack, few_bytes: int) -> None:
        self._path, self._values = path, None
        with parquet.ParquetFile(path) as file:
            self._length, self._type = file.metadata.num_rows, file.schema_arrow.field("name").type
        if kinds.is_string(self._type) and path.stat().st_size > few_bytes:
            self._type = pa.large_string()  # offsets of `string` have 31 bits
        weakref.finalize(self, resources.close)

    @property
    def values(self) -> Any:
        """The name of each vertex, as a `pyarrow.Array`; reads the file."""
        names = parquet.read_table(self._path, partitioning=None)["name"]
        return names.cast(self._type).combine_chunks()

    def blocks(self, size: int) -> Iterator[Any]:
        """Yield the names in blocks of `size`, the last one shorter, as `pyarrow.Array`."""
        with parquet.ParquetFile(self._path) as file:
            yield from (batch.column(0).cast(self._type) for batch in file.iter_batches(size))


class NodeNames(VertexNames):
    """The nodes of a networkx graph, or the names of igraph's vertices: any objects.

    In Arrow and files, nodes are text unless all are strings, or all integers of 64 bits.
    """

    def __init__(self, nodes: list[Any]) -> None:
        self._nodes, self._length = nodes, len(nodes)

    def loaded(self) -> NodeNames:
        """Return the names, which are in memory."""
        return self

    @cached_property
    def _array(self) -> Any:
        """The nodes as a `pyarrow.Array` of strings or integers; None if they are others."""
        classes = set(map(type, self._nodes))
        if classes <= {str}:
            return pa.array(self._nodes, pa.string())
        are_integers = bool not in classes and all(issubclass(c, int | np.integer) for c in classes)
        numbers = np.array(self._nodes if are_integers else [])
        return pa.array(numbers) if numbers.dtype.kind in "iu" else None

    @cached_property
    def values(self) -> Any:
        """The name of each vertex, as a `pyarrow.Array`."""
        if self._array is not None:
            return self._array
        texts = dict(zip(map(str, self._nodes), self._nodes, strict=False))
        if len(texts) < len(self):
            node = next(node for node in self._nodes if texts[str(node)] != node)
            raise OptionError(
                f"nodes {node!r} and {texts[str(node)]!r} have the same text, so columns of text "
                "cannot tell them apart; relabel one of them"
            )
        return pa.array(list(texts))

    @property
    def type(self) -> Any:
        """The `pyarrow.DataType` of `values`."""
        return self.values.type

    @property
    def nbytes(self) -> int:
        """Bytes of the references to the nodes, which belong to their graph."""
        return 8 * len(self)

    def columns(self, label: str, vertices: Any, *, as_given: bool = False) -> dict[str, Any]:
        """Return the names of vertices as one column; see `VertexNames.columns`."""
        if self._array is not None or not as_given:
            return super().columns(label, vertices)
        column = np.empty(len(vertices), object)
        column[:] = [self._nodes[vertex] for vertex in vertices.tolist()]
        return {label: column}

    def numbers(self, names: Any) -> NDArray[np.int64]:
        """Return the vertices that have the given names; see `VertexNames.numbers`."""
        return look_up(names, self._nodes)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._nodes)

    def __getitem__(self, vertex: int) -> Any:
        return self._nodes[int(vertex)]


def names_of(nodes: list[Any]) -> NodeNames | None:
    """Return nodes as names; None if they are 0, 1, 2 and so on, or not distinct."""
    if nodes == list(range(len(nodes))) or len(set(nodes)) < len(nodes):
        return None
    return NodeNames(nodes)


def joined_names(names: VertexNames, more: VertexNames) -> tuple[VertexNames, NDArray[np.int64]]:
    """Return `names` followed by the new names in `more`, and the vertex of each name in `more`."""
    if isinstance(names, NodeNames):
        number = {name: vertex for vertex, name in enumerate(names)}
        numbers = np.array([number.setdefault(name, len(number)) for name in more], np.int64)
        return NodeNames(list(number)), numbers
    if kinds.is_integer(names.type) != kinds.is_integer(more.type):
        raise GraphError(
            f"names are of type {more.type}, but those of the graph of type {names.type}"
        )
    added = more.values.cast(names.type)
    if kinds.is_struct(names.type):
        number = {name: vertex for vertex, name in enumerate(names)}
        numbers = np.array([number.get(name, -1) for name in more], np.int64)
    else:
        numbers = np.asarray(compute.index_in(added, value_set=names.values).fill_null(-1))
        numbers = numbers.astype(np.int64)
    new = np.flatnonzero(numbers < 0)
    numbers[new] = len(names) + np.arange(len(new))
    return VertexNames(pa.concat_arrays([names.values, added.take(pa.array(new))])), numbers
