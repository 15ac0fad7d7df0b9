"""The names of the vertices of a graph; the doors have classes for other sources of names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import OptionError
from .libraries import compute, kinds, pa


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
            return look_up(names, self)
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


def look_up(names: Any, known: Iterable[Any]) -> NDArray[np.int64]:
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
