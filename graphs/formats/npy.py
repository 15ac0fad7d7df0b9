"""A folder of `.npy` columns as a piece of a source: rows read into memory that is used again."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import FileFormatError
from ...runtime.memory import empty
from ..file_errors import NPY_ERRORS, file_errors
from ..pieces import file_fingerprint
from ..source import EdgeSource
from .npz import column_files, stated_num_vertices

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from ..pieces import Columns, Read


@dataclass(frozen=True)
class _Column:
    """Where the values of a `.npy` file lie."""

    path: Path
    dtype: np.dtype[Any]
    length: int
    offset: int

    def rows(self, start: int, stop: int) -> NDArray[Any]:
        """Read some values: not mapped, so that no page of the file counts as memory of ours."""
        values = empty(stop - start, self.dtype)
        view = memoryview(values.data).cast("B") if len(values) else memoryview(b"")
        done = 0
        with file_errors(self.path), self.path.open("rb", buffering=0) as file:
            file.seek(self.offset + start * self.dtype.itemsize)
            while done < len(view) and (count := file.readinto(view[done:])):
                done += count
        if done < len(view):
            edge = start + done // self.dtype.itemsize
            message = f"{self.path}: ends at edge {edge}, but should hold {self.length}"
            raise FileFormatError(message)
        return values


@dataclass(frozen=True)
class NpyColumns:
    """Rows `start` to `stop` of columns u, v and maybe weight."""

    columns: tuple[_Column, ...]
    start: int
    stop: int
    is_direct = True

    @property
    def num_edges(self) -> int:
        """Number of edges."""
        return self.stop - self.start

    def reads(self, size: int) -> Iterator[Read]:
        """Yield functions that read rows."""
        for start in range(self.start, self.stop, size):
            stop = min(start + size, self.stop)
            yield stop - start, partial(self._read, start, stop)

    def part(self, start: int, stop: int) -> NpyColumns:
        """Return some of these rows."""
        return replace(self, start=self.start + start, stop=self.start + stop)

    def fingerprint(self) -> str:
        """Return a digest of sizes, times and a sample of each file, and which rows."""
        files = [file_fingerprint(column.path) for column in self.columns]
        return f"{'-'.join(files)}[{self.start}:{self.stop}]"

    def _read(self, start: int, stop: int) -> Columns:
        u, v, *weight = (column.rows(start, stop) for column in self.columns)
        return u, v, weight[0] if weight else None


def npy_source(path: Path) -> EdgeSource:
    """Return a folder of columns (see `arrays.read_npy`) as a source; only headers are read.

    Raises
    ------
    FileFormatError
        If the folder does not hold what it should. Names the file.
    """
    columns = tuple(_opened(file) for file in column_files(path))
    lengths = {column.path.name: column.length for column in columns}
    if len(set(lengths.values())) > 1:
        message = f"{path}: columns differ in length: {lengths}"
        raise FileFormatError(message)
    piece = NpyColumns(columns, 0, columns[0].length)
    return EdgeSource((piece,), stated_num_vertices(path / "n.txt"))


def _opened(path: Path) -> _Column:
    with file_errors(path, *NPY_ERRORS), path.open("rb") as file:
        version = np.lib.format.read_magic(file)
        read = (
            np.lib.format.read_array_header_1_0
            if version == (1, 0)
            else np.lib.format.read_array_header_2_0
        )
        shape, _, dtype = read(file)
        offset, size = file.tell(), os.fstat(file.fileno()).st_size
    if len(shape) != 1:
        message = f"{path}: must be one-dimensional, not of shape {shape}"
        raise FileFormatError(message)
    if dtype.hasobject or shape[0] < 0 or offset + shape[0] * dtype.itemsize > size:
        message = f"{path}: does not hold {shape[0]} values of {dtype}"
        raise FileFormatError(message)
    if shape[0] and dtype.kind not in ("iu" if path.stem in "uv" else "biuf"):
        message = f"{path}: must hold {'integers' if path.stem in 'uv' else 'numbers'}, not {dtype}"
        raise FileFormatError(message)
    return _Column(path, dtype, shape[0], offset)
