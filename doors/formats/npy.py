"""Folders of NumPy arrays: a `.npy` file for each column, which can be streamed."""

from __future__ import annotations

import itertools
import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import FileFormatError, GraphError, file_errors
from ...graphs.edge_list import LARGEST_ID, Columns, EdgeList, NamedColumns, ones, unchecked
from ...graphs.edge_table import EdgeTable
from ...graphs.segments import Range, Read
from ...graphs.source import EdgeSource
from ...runtime.memory import empty
from ...runtime.team import in_shares
from ..file_checks import FileState, check_state, file_fingerprint, without_warnings
from ..places.url import Place
from .file_format import IDENTITY, Format, SavedForest, parse_identity

#: Exceptions of NumPy and zipfile for damaged arrays. NumPy evaluates headers as expressions.
ARRAY_ERRORS = (EOFError, ValueError, SyntaxError, TypeError, RuntimeError, TokenError, zlib.error)
#: Bytes of a block, which is checked after it is read, while it is in the cache.
#: Chosen by measurement, with `python -m benchmarks record files`.
_BLOCK_BYTES = 2**20
#: Readers of headers, by version. A later version is only for names of fields, which columns lack.
_HEADER_READERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def read_npy(path: Place) -> EdgeList:
    """Read a folder of `u.npy` and `v.npy`, and optionally `w.npy` or `weight.npy`, and `n.txt`."""
    files, stated_vertices = _open_folder(path)
    columns, (u_results, v_results, *weight_results) = _read_checked(files)
    vertices_needed, has_signs = [*u_results, *v_results], list(itertools.chain(*weight_results))
    if vertices_needed and None not in (*vertices_needed, *has_signs):
        u, v, weight = columns if weight_results else (*columns, ones(columns[0]))
        num_vertices = max(vertices_needed) if stated_vertices is None else stated_vertices
        if num_vertices >= max(vertices_needed):
            return unchecked(u, v, weight, num_vertices, unsigned=not any(has_signs))
    # Convert the columns, or raise the error of the first invalid edge.
    names = (file.path.stem for file in files)
    return graph_of(path, dict(zip(names, columns, strict=True)), stated_vertices)


def read_npy_forest(path: Place, _: np.dtype[Any]) -> SavedForest:
    """Read all columns of a folder, and the identity of the graph if there is one."""
    npy_files = (file for file in path.iterdir() if file.suffix == ".npy")
    files = [_open_column(file) for file in sorted(npy_files, key=str)]
    columns = {file.path.stem: _read_checked([file])[0][0] for file in files}
    identity = path / f"{IDENTITY}.json"
    with file_errors(identity, ValueError):
        return columns, parse_identity(identity.read_bytes() if identity.exists() else None)


def npy_source(path: Place) -> EdgeSource:
    """Return a folder of columns (see `read_npy`) as a source, reading only the headers."""
    columns, num_vertices = _open_folder(path)
    return EdgeSource((NpyColumns(columns, stop=columns[0].length),), num_vertices)


def write_npy(path: Path, table: EdgeTable) -> None:
    """Write a file for each column, and the number of vertices of a graph."""
    write_columns(path, table)
    if table.identity is not None:
        (path / f"{IDENTITY}.json").write_text(json.dumps(table.identity) + "\n")
    if table.is_graph and table.num_vertices is not None:
        (path / "n.txt").write_text(f"{table.num_vertices}\n")


@dataclass(frozen=True)
class _Column:
    """A `.npy` file, with its header and its state when the header was read.

    The file is not memory-mapped: if a mapped file is truncated, an access ends the process, and
    mapped pages count as memory of the process.
    """

    path: Place
    dtype: np.dtype[Any]
    length: int
    header: bytes
    state: FileState

    def rows(self, start: int, stop: int) -> NDArray[Any]:
        """Read values `start` to `stop` - 1 into memory of the pool."""
        (values,) = self.fill(start, [empty(stop - start, self.dtype)])
        return values

    def fill(self, start: int, blocks: Iterable[NDArray[Any]]) -> Iterator[NDArray[Any]]:
        """Read consecutive values from `start` on into arrays; yield each array when it is full."""
        # A scan reads many blocks, so each takes few system calls. One comparison of the state,
        # after the read, also finds changes before it.
        is_local = isinstance(self.path, Path)
        with file_errors(self.path), self.path.open("rb", buffering=0) as file:
            if file.read(len(self.header)) != self.header:
                check_state(self.path, self.state)
                message = f"{self.path} changed while it was being read: its header differs"
                raise FileFormatError(message)
            file.seek(len(self.header) + start * self.dtype.itemsize)
            rest = memoryview(b"")
            for values in blocks:
                rest = values.view(np.uint8).data
                while rest and (done := file.readinto(rest)):
                    rest = rest[done:]
                if rest:
                    break
                yield values
            check_state(self.path, self.state, file.fileno() if is_local else None)
            if rest:
                raise FileFormatError(f"{self.path}: ends before edge {start + len(values)}")

    def check(self, values: NDArray[Any]) -> int | bool | None:
        """Return the number of vertices that ids need, or whether a weight has its sign bit set.

        Return None if a value is invalid or must be converted.
        """
        if not values.dtype.isnative or values.dtype.itemsize > 8:
            return None
        return _num_ids(values) if self.path.stem in ("u", "v") else _has_sign(values)


def _num_ids(ids: NDArray[Any]) -> int | None:
    """Return the largest id plus one; None if an id is invalid."""
    # A negative id, viewed as unsigned, exceeds every valid id.
    largest = int(ids.view(f"u{ids.itemsize}").max())
    return None if largest > min(np.iinfo(ids.dtype).max, LARGEST_ID) else largest + 1


def _has_sign(weights: NDArray[Any]) -> bool | None:
    """Return whether a weight has its sign bit set; None if a weight is NaN."""
    least = weights.min()
    if np.isnan(least):
        return None
    if least or weights.dtype.kind != "f":
        return bool(least < 0)
    return bool(np.signbit(weights).any())  # the zero may be negative


def _read_checked(files: Sequence[_Column]) -> tuple[list[NDArray[Any]], list[list[Any]]]:
    """Read columns of one length; return their values, and the results of `check` for each block.

    Each thread reads a share of every column, and checks a block while it is in the cache.
    """
    columns = [empty(file.length, file.dtype) for file in files]
    results: list[list[Any]] = [[] for _ in files]

    def read(start: int, stop: int) -> None:
        for file, values, results_of_file in zip(files, columns, results, strict=True):
            cuts = [*range(start, stop, _BLOCK_BYTES // file.dtype.itemsize), stop]
            blocks = [values[low:high] for low, high in itertools.pairwise(cuts)]
            for block in file.fill(start, blocks):
                results_of_file.append(file.check(block))

    in_shares(read, files[0].length)
    for values in columns:
        values.flags.writeable = False
    return columns, results


@dataclass(frozen=True)
class NpyColumns(Range):
    """Rows of columns u, v and optionally weight."""

    columns: tuple[_Column, ...]
    detects_changes = True

    @property
    def is_weighted(self) -> bool:
        """Whether there is a column of weights."""
        return len(self.columns) == 3

    @property
    def format_name(self) -> str:
        """The name of the format."""
        return "npy"

    @property
    def file_bytes(self) -> int:
        """Bytes of the rows of all columns."""
        return self.num_edges * sum(column.dtype.itemsize for column in self.columns)

    @property
    def origin(self) -> tuple[str, int]:
        """The folder, and the first row of the range."""
        return str(self.columns[0].path.parent), self.start

    def reads(self, size: int) -> Iterator[Read]:
        """Yield functions that read blocks."""
        for start in range(self.start, self.stop, size):
            stop = min(start + size, self.stop)
            yield stop - start, partial(self._read, start, stop)

    def fingerprint(self) -> str:
        """Return the fingerprints of the files, and the range of edges."""
        files = [file_fingerprint(column.path) for column in self.columns]
        return f"{'-'.join(files)}[{self.start}:{self.stop}]"

    def _read(self, start: int, stop: int) -> Columns:
        read = (column.rows(start, stop) for column in self.columns)
        u, v, *weight = (rows.astype(rows.dtype.newbyteorder("="), copy=False) for rows in read)
        return u, v, weight[0] if weight else None


def _open_column(path: Place) -> _Column:
    """Read the header of a column, and check that the file is long enough for its values."""
    state = FileState.of(path)
    with file_errors(path, *ARRAY_ERRORS), path.open("rb") as file:
        shape, dtype = read_header(file)
        header_size = file.tell()
        file.seek(0)
        header = file.read(header_size)
    if len(shape) != 1 or shape[0] < 0:
        raise FileFormatError(f"{path}: must be one-dimensional, not of shape {shape}")
    (length,) = shape
    kinds, wanted = ("iu", "integers") if length and path.stem in "uv" else ("biuf", "numbers")
    if dtype.kind not in kinds:
        raise FileFormatError(f"{path}: must hold {wanted}, not {dtype}")
    expected = header_size + length * dtype.itemsize
    if state.size < expected:
        raise FileFormatError(
            f"{path}: has {state.size:,} bytes, expected {expected:,} for {length:,} edges"
        )
    return _Column(path, dtype, length, header, state)


def _open_folder(path: Place) -> tuple[tuple[_Column, ...], int | None]:
    """Read the headers of the columns u, v and maybe weight, and the number in `n.txt`, if any."""
    with file_errors(path):
        files = {file.stem: file for file in path.iterdir() if file.suffix == ".npy"}
    columns = tuple(_open_column(files[name]) for name in _column_names(path, files))
    lengths = {column.path.name: column.length for column in columns}
    if len(set(lengths.values())) > 1:
        raise FileFormatError(f"{path}: columns differ in length: {lengths}")
    file = path / "n.txt"
    with file_errors(file):
        if not file.exists():
            return columns, None
        text = file.read_bytes().strip()
    if not text.isdigit() or len(text) > 18:
        raise FileFormatError(f"{file}: line 1: expected a number of vertices, found {text[:24]!a}")
    return columns, int(text)


def write_columns(folder: Path, table: EdgeTable) -> None:
    """Write a file for each column to a new folder."""
    folder.mkdir()
    with ExitStack() as stack:
        files = {}
        for name, dtype in table.dtypes.items():
            path = folder / f"{array_name(name, table)}.npy"
            files[name] = stack.enter_context(path.open("wb"))
            descr = np.lib.format.dtype_to_descr(dtype)
            header = {"descr": descr, "fortran_order": False, "shape": (table.num_edges,)}
            np.lib.format.write_array_header_1_0(files[name], header)
        for columns in table.blocks():
            for name, values in columns.items():
                files[name].write(np.ascontiguousarray(values).data)


def read_header(file: Any) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Read the header of an array, up to its values; return the shape and the dtype."""
    with without_warnings():
        magic = file.read(8)
        if magic[:6] != np.lib.format.MAGIC_PREFIX:
            raise ValueError("is not in the .npy format")
        if (version := tuple(magic[6:])) not in _HEADER_READERS:
            raise ValueError(f"version {version} of the format is not supported")
        shape, _, dtype = _HEADER_READERS[version](file)
    return shape, dtype


def graph_of(path: Place, columns: NamedColumns, num_vertices: int | None) -> EdgeList:
    """Return the graph of the arrays of a folder or an archive."""
    used = [columns[name] for name in _column_names(path, columns)]
    with file_errors(path, GraphError):
        return EdgeList(*used, num_vertices=num_vertices)


def _column_names(path: Place, found: Iterable[str]) -> list[str]:
    """Return the names of the columns of a graph.

    `edge_id` and the identity are allowed, because a saved forest can be read as a graph.
    """
    names = set(found)
    weights = [name for name in ("w", "weight") if name in names]
    # Refuse other names: with misspelt weights, the graph would seem unweighted.
    others = names - {"edge_id", IDENTITY, "u", "v", *weights}
    if not {"u", "v"} <= names or others or len(weights) > 1:
        shown = ", ".join(sorted(names)) or "nothing"
        message = f"{path}: expected arrays u, v and at most one of w, weight; found {shown}"
        if {"format", "shape", "data"} <= names:
            message += "; for a matrix of scipy, pass scipy.sparse.load_npz(path)"
        elif "arr_0" in names:
            message += "; pass the arrays of numpy.load(path) as a tuple, (u, v, weight)"
        raise FileFormatError(message)
    return ["u", "v", *weights]


def array_name(column: str, table: EdgeTable) -> str:
    """Return the name of a column's array: the weights of a graph are called `w`."""
    return "w" if column == "weight" and table.is_graph else column


FORMAT = Format(
    "npy",
    read=read_npy,
    stream=npy_source,
    write=write_npy,
    read_forest=read_npy_forest,
    is_folder=True,
)
