"""The names of the vertices of a graph: an Arrow array in memory, or a Parquet file."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import OptionError
from ..libraries.pyarrow import compute, kinds, pa, parquet

if TYPE_CHECKING:
    import contextlib
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray


class VertexNames:
    """The names of the vertices: strings or integers, all different.

    Vertices are numbered in the order in which their names first appear in the pairs: row by row,
    the first end before the second.

    Parameters
    ----------
    values : pyarrow.Array
        The name of each vertex.
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

    def take(self, vertices: Any) -> Any:
        """Return the names of the vertices of an integer array, as a `pyarrow.Array`."""
        return self.values.take(_arrow(vertices))

    def numbers(self, names: Any) -> NDArray[np.int64]:
        """Return the vertices that have the given names.

        Parameters
        ----------
        names : sequence of str or int, or pyarrow.Array of length p

        Returns
        -------
        int64 array of length p

        Raises
        ------
        OptionError
            If no vertex has one of the names, or a name is of another type.
        """
        try:
            known = pa.array(names, self.type) if isinstance(names, list | tuple) else _arrow(names)
            numbers = compute.index_in(known.cast(self.type), value_set=self.values)
        except (pa.ArrowException, TypeError, OverflowError) as error:
            raise OptionError(f"names of vertices must be of type {self.type}: {error}") from error
        if numbers.null_count:
            unknown = known[numbers.is_null().index(True).as_py()].as_py()
            raise OptionError(f"no vertex has the name {unknown!r}")
        return np.asarray(numbers).astype(np.int64)

    def blocks(self, size: int) -> Iterator[Any]:
        """Yield the names in blocks of `size`, the last one shorter, as `pyarrow.Array`."""
        for start in range(0, len(self), size):
            yield self.values[start : start + size]

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[str | int]:
        for block in self.blocks(2**16):
            yield from block.to_pylist()

    def __getitem__(self, vertex: int) -> str | int:
        name: str | int = self.values[int(vertex)].as_py()
        return name

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


def _arrow(values: Any) -> Any:
    is_arrow = isinstance(values, pa.Array | pa.ChunkedArray)
    return values if is_arrow else pa.array(np.asarray(values))
