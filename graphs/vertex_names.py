"""The names of the vertices of a graph: an Arrow array, a Parquet file, or nodes of a library."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import GraphError, OptionError
from .libraries import compute, kinds, pa, parquet


class VertexNames:
    """The names of the vertices: strings, integers or tuples of these, all different.

    Vertices are numbered in the order in which their names first appear in the pairs: row by row,
    the first end before the second.

    Parameters
    ----------
    values : pyarrow.Array
        The name of each vertex. A tuple is a struct, with a field for each column of names.
    """

    def __init__(self, values: Any) -> None:
        self._values, self._type, self._length = values, values.type, len(values)

    @property
    def values(self) -> Any:
        """The name of each vertex, as a `pyarrow.Array`."""
        return self._values

    @property
    def type(self) -> Any:
        """The `pyarrow.DataType` of the names."""
        return self._type

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the names use."""
        return 0 if self._values is None else int(self._values.nbytes)

    def loaded(self) -> VertexNames:
        """Return the names in memory, which are read or fetched once for many calls of `take`."""
        return self if self._values is not None else VertexNames(self.values)

    def take(self, vertices: Any) -> Any:
        """Return the names of the vertices of an integer array, as a `pyarrow.Array`."""
        return self.values.take(_as_arrow(vertices))

    def columns(self, label: str, vertices: Any, *, as_given: bool = False) -> dict[str, Any]:
        """Return the names of vertices as columns, called as `name_columns` defines.

        If `as_given`, names that Arrow cannot hold are an object array, otherwise text.
        """
        columns = fields_of(self.take(vertices))
        return dict(zip(name_columns(label, self.type), columns, strict=True))

    def numbers(self, names: Any) -> NDArray[np.int64]:
        """Return the vertices that have the given names.

        Parameters
        ----------
        names : sequence of names, or pyarrow.Array of length p

        Returns
        -------
        int64 array of length p

        Raises
        ------
        OptionError
            If no vertex has one of the names, or a name is of another type.
        """
        if kinds.is_struct(self.type):
            return _look_up(names, self)
        try:
            is_plain = isinstance(names, list | tuple)
            wanted = pa.array(names, self.type) if is_plain else _as_arrow(names)
            numbers = compute.index_in(wanted.cast(self.type), value_set=self.values)
        except (pa.ArrowException, TypeError, OverflowError) as error:
            raise OptionError(f"names of vertices must be of type {self.type}: {error}") from error
        if numbers.null_count:
            unknown = wanted[numbers.is_null().index(True).as_py()].as_py()
            raise OptionError(f"no vertex has the name {unknown!r}")
        return np.asarray(numbers).astype(np.int64)

    def blocks(self, size: int) -> Iterator[Any]:
        """Yield the names in blocks of `size`, the last one shorter, as `pyarrow.Array`."""
        for start in range(0, len(self), size):
            yield self.values[start : start + size]

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Any]:
        for block in self.blocks(2**16):
            yield from map(_as_tuple, block.to_pylist())

    def __getitem__(self, vertex: int) -> Any:
        return _as_tuple(self.values[int(vertex)].as_py())

    def __repr__(self) -> str:
        return f"<VertexNames: {len(self)} of type {self.type}>"


class StoredNames(VertexNames):
    """Names in the column `name` of a Parquet file, which is read on each use.

    `resources` are closed when the names are no longer used, which removes a temporary file.
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
        return _look_up(names, self._nodes)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._nodes)

    def __getitem__(self, vertex: int) -> Any:
        return self._nodes[int(vertex)]


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


def names_of(nodes: list[Any]) -> NodeNames | None:
    """Return nodes as names; None if they are 0, 1, 2 and so on, or not distinct."""
    if nodes == list(range(len(nodes))) or len(set(nodes)) < len(nodes):
        return None
    return NodeNames(nodes)


def name_columns(label: str, name_type: Any) -> dict[str, Any]:
    """Return the types of the columns of names by their titles: one, or one for each field.

    The title of a field is ``label.field``, or ``field`` if the label is empty.
    """
    if not kinds.is_struct(name_type):
        return {label: name_type}
    return {f"{label}.{field.name}".removeprefix("."): field.type for field in name_type}


def fields_of(names: Any) -> list[Any]:
    """Return the columns of an array of names."""
    columns: list[Any] = names.flatten() if kinds.is_struct(names.type) else [names]
    return columns


def _as_tuple(name: Any) -> Any:
    """Return a struct as a tuple; other names are returned unchanged."""
    return tuple(name.values()) if isinstance(name, dict) else name


def _look_up(names: Any, known: Iterable[Any]) -> NDArray[np.int64]:
    """Return the position in `known` of each name."""
    number = {name: vertex for vertex, name in enumerate(known)}
    wanted = names.tolist() if hasattr(names, "tolist") else names
    try:
        return np.array([number[_as_tuple(name)] for name in wanted], np.int64)
    except KeyError as error:
        raise OptionError(f"no vertex has the name {error.args[0]!r}") from error


def _as_arrow(values: Any) -> Any:
    is_arrow = isinstance(values, pa.Array | pa.ChunkedArray)
    return values if is_arrow else pa.array(np.asarray(values))
