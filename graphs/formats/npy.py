"""NumPy arrays: a `.npz` archive, or a folder of `.npy` columns, which can be streamed."""

from __future__ import annotations

import itertools
import json
import math
import zipfile
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

from ...errors import FileFormatError, GraphError
from ...runtime.memory import empty
from ...runtime.team import in_shares
from ..edge_list import LARGEST_ID, Columns, EdgeList, NamedColumns, ones, unchecked
from ..file_checks import (
    FileState,
    check_decompressed,
    check_state,
    file_errors,
    file_fingerprint,
    without_warnings,
)
from ..places.url import Place
from ..segments import Range, Read
from ..source import EdgeSource
from .edge_table import EdgeTable
from .file_format import IDENTITY, Format, SavedForest, parse_identity

_WEIGHTS = ("w", "weight")
#: Exceptions of NumPy and zipfile for damaged arrays. NumPy evaluates headers as expressions.
_ERRORS = (EOFError, ValueError, SyntaxError, TypeError, RuntimeError, TokenError, zlib.error)
#: Bytes that are read and then checked while they are in the cache.
#: `python -m benchmarks record files` measures it.
_CACHED = 2**20
#: Readers of headers, by version. Later versions differ only in named fields.
_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


# Archives.


def read_npz(path: Place) -> EdgeList:
    """Read an archive of arrays `u`, `v` and optionally `w` or `weight`, and a scalar `n`."""
    columns = _archived(path)
    stated = columns.pop("n", None)
    if stated is not None and (stated.ndim or stated.dtype.kind not in "iu"):
        raise FileFormatError(f"{path}: n must be one integer")
    return _graph(path, columns, None if stated is None else int(stated))


def read_archived_forest(path: Place, _: np.dtype[Any]) -> SavedForest:
    """Read all arrays of an archive; one of them may be the identity of the graph."""
    columns = _archived(path)
    stated = columns.pop(IDENTITY, None)
    with file_errors(path, ValueError):
        return columns, parse_identity(None if stated is None else str(stated))


def write_npz(path: Path, table: EdgeTable) -> None:
    """Write an array for each column, and the number of vertices of a graph.

    A table that is not in memory is first written to a folder next to the archive.
    """
    arrays: dict[str, Any]
    if table.columns is None:
        folder = path.with_name("columns")
        _write_columns(folder, table)
        arrays = {file.stem: np.load(file, mmap_mode="r") for file in folder.iterdir()}
    else:
        arrays = {_array_name(name, table): values for name, values in table.columns.items()}
    if table.identity is not None:
        arrays[IDENTITY] = np.array(json.dumps(table.identity))
    if table.is_graph and table.num_vertices is not None:
        arrays["n"] = np.array(table.num_vertices)
    with path.open("wb") as file:  # np.savez would append a suffix to a name
        np.savez(file, **arrays)


def _archived(path: Place) -> dict[str, NDArray[Any]]:
    """Read all arrays of an archive."""
    with file_errors(path), path.open("rb") as file:
        if file.read(2) != b"PK" or not zipfile.is_zipfile(file):
            raise FileFormatError(f"{path}: is not a .npz file")
    archived_bytes(path)
    arrays = {}
    with (
        file_errors(path, zipfile.BadZipFile),
        path.open("rb") as file,
        np.load(file, allow_pickle=False) as archive,
    ):
        for name in archive.files:
            with file_errors(f"{path}: array {name}", *_ERRORS), without_warnings():
                arrays[name] = archive[name]
    return arrays


def archived_bytes(path: Place) -> int:
    """Return the bytes of all arrays, which the archive states; check the headers against them."""
    with (
        file_errors(path, zipfile.BadZipFile),
        path.open("rb") as whole,
        zipfile.ZipFile(whole) as archive,
    ):
        members = archive.infolist()
        total = sum(member.file_size for member in members)
        check_decompressed(path, total)
        if len({member.filename for member in members}) < len(members):
            raise FileFormatError(f"{path}: two arrays have the same name")
        for member in members:
            name = member.filename.removesuffix(".npy")
            with file_errors(f"{path}: array {name}", *_ERRORS), archive.open(member) as file:
                shape, dtype = _shape_and_dtype(file)
                if not 0 <= math.prod(shape) * dtype.itemsize <= member.file_size:
                    raise ValueError(f"states shape {shape} in {member.file_size:,} bytes")
    return total


# Folders.


def read_npy(path: Place) -> EdgeList:
    """Read a folder of `u.npy`, `v.npy` and optionally `w.npy` or `weight.npy`, and `n.txt`."""
    files, stated = _opened_folder(path)
    columns, (in_u, in_v, *in_weight) = _in_memory(files)
    needed, signed = [*in_u, *in_v], [each for found in in_weight for each in found]
    if needed and None not in (*needed, *signed):
        u, v, weight = columns if in_weight else (*columns, ones(columns[0]))
        num_vertices = max(needed) if stated is None else stated
        if num_vertices >= max(needed):
            return unchecked(u, v, weight, num_vertices, unsigned=not any(signed))
    # Find the error, or convert the columns.
    return _graph(path, dict(zip((file.path.stem for file in files), columns, strict=True)), stated)


def read_forest_folder(path: Place, _: np.dtype[Any]) -> SavedForest:
    """Read all columns of a folder, and the identity of the graph if there is one."""
    found = (file for file in path.iterdir() if file.suffix == ".npy")
    files = [_opened(file) for file in sorted(found, key=str)]
    columns = {file.path.stem: _in_memory([file])[0][0] for file in files}
    stated = path / f"{IDENTITY}.json"
    with file_errors(stated, ValueError):
        return columns, parse_identity(stated.read_bytes() if stated.exists() else None)


def npy_source(path: Place) -> EdgeSource:
    """Return a folder of columns (see `read_npy`) as a source, reading only the headers."""
    columns, num_vertices = _opened_folder(path)
    return EdgeSource((NpyColumns(columns, stop=columns[0].length),), num_vertices)


def write_folder(path: Path, table: EdgeTable) -> None:
    """Write a file for each column, and the number of vertices of a graph."""
    _write_columns(path, table)
    if table.identity is not None:
        (path / f"{IDENTITY}.json").write_text(json.dumps(table.identity) + "\n")
    if table.is_graph and table.num_vertices is not None:
        (path / "n.txt").write_text(f"{table.num_vertices}\n")


@dataclass(frozen=True)
class _Column:
    """A `.npy` file, with its state at the time when its header was read.

    Files are read, never memory-mapped. If a mapped file is truncated, an access ends the process.
    Also, mapped pages count as memory of the process.
    """

    path: Place
    dtype: np.dtype[Any]
    length: int
    header: bytes
    state: FileState

    def rows(self, start: int, stop: int) -> NDArray[Any]:
        """Read values `start` to `stop` - 1 into memory that the next block can reuse."""
        (values,) = self.reading(start, [empty(stop - start, self.dtype)])
        return values

    def reading(self, start: int, parts: Iterable[NDArray[Any]]) -> Iterator[NDArray[Any]]:
        """Read consecutive values from `start` on into arrays; yield each array when it is full."""
        # A scan reads many blocks, so each takes few system calls. The state is compared only after
        # the read: a file that changed before the read still differs then.
        is_local = isinstance(self.path, Path)
        with file_errors(self.path), self.path.open("rb", buffering=0) as file:
            if file.read(len(self.header)) != self.header:
                check_state(self.path, self.state)
                message = f"{self.path} changed while it was being read: its header differs"
                raise FileFormatError(message)
            file.seek(len(self.header) + start * self.dtype.itemsize)
            rest = memoryview(b"")
            for values in parts:
                rest = values.view(np.uint8).data
                while rest and (done := file.readinto(rest)):
                    rest = rest[done:]
                if rest:
                    break
                yield values
            check_state(self.path, self.state, file.fileno() if is_local else None)
            if rest:
                raise FileFormatError(f"{self.path}: ends before edge {start + len(values)}")

    def summary(self, values: NDArray[Any]) -> Any:
        """Return the number of vertices that ids need, or whether a weight has its sign bit set.

        None if a value is invalid, or the column must be converted.
        """
        dtype = values.dtype
        if not dtype.isnative or dtype.itemsize > 8:
            return None
        if self.path.stem not in ("u", "v"):
            least = values.min()
            if np.isnan(least):
                return None
            if least or dtype.kind != "f":
                return bool(least < 0)
            return bool(np.signbit(values).any())  # the zero may be negative
        # A negative id, viewed as unsigned, exceeds every valid id.
        largest = int(values.view(f"u{dtype.itemsize}").max())
        return None if largest > min(np.iinfo(dtype).max, LARGEST_ID) else largest + 1


def _in_memory(files: Sequence[_Column]) -> tuple[list[NDArray[Any]], list[list[Any]]]:
    """Read columns of one length; return their values, and summaries of the blocks of each.

    Each thread reads a share of every column, and summarises blocks while they are in the cache.
    """
    columns = [empty(file.length, file.dtype) for file in files]
    summaries: list[list[Any]] = [[] for _ in files]

    def read(start: int, stop: int) -> None:
        for file, values, summary in zip(files, columns, summaries, strict=True):
            cuts = [*range(start, stop, _CACHED // file.dtype.itemsize), stop]
            blocks = [values[low:high] for low, high in itertools.pairwise(cuts)]
            for block in file.reading(start, blocks):
                summary.append(file.summary(block))

    in_shares(read, files[0].length)
    for values in columns:
        values.flags.writeable = False
    return columns, summaries


@dataclass(frozen=True)
class NpyColumns(Range):
    """Rows of columns u, v and optionally weight."""

    columns: tuple[_Column, ...]

    @property
    def is_weighted(self) -> bool:
        """Whether there is a column of weights."""
        return len(self.columns) == 3

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
        u, v, *weight = (column.rows(start, stop) for column in self.columns)
        return u, v, weight[0] if weight else None


def _opened(path: Place) -> _Column:
    """Read the header of a column, and check that the file holds the numbers that it states."""
    state = FileState.of(path)
    with file_errors(path, *_ERRORS), path.open("rb") as file:
        shape, dtype = _shape_and_dtype(file)
        size = file.tell()
        file.seek(0)
        header = file.read(size)
    if len(shape) != 1 or shape[0] < 0:
        raise FileFormatError(f"{path}: must be one-dimensional, not of shape {shape}")
    (length,) = shape
    kinds, wanted = ("iu", "integers") if length and path.stem in "uv" else ("biuf", "numbers")
    if dtype.kind not in kinds:
        raise FileFormatError(f"{path}: must hold {wanted}, not {dtype}")
    expected = size + length * dtype.itemsize
    if state.size < expected:
        raise FileFormatError(
            f"{path}: has {state.size:,} bytes, expected {expected:,} for {length:,} edges"
        )
    return _Column(path, dtype, length, header, state)


def _opened_folder(path: Place) -> tuple[tuple[_Column, ...], int | None]:
    """Read the headers of the columns u, v and maybe weight, and the number in `n.txt`, if any."""
    with file_errors(path):
        files = {file.stem: file for file in path.iterdir() if file.suffix == ".npy"}
    columns = tuple(_opened(files[name]) for name in _column_names(path, files))
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


def _write_columns(folder: Path, table: EdgeTable) -> None:
    folder.mkdir()
    with ExitStack() as stack:
        files = {}
        for name, dtype in table.dtypes.items():
            path = folder / f"{_array_name(name, table)}.npy"
            files[name] = stack.enter_context(path.open("wb"))
            descr = np.lib.format.dtype_to_descr(dtype)
            header = {"descr": descr, "fortran_order": False, "shape": (table.num_edges,)}
            np.lib.format.write_array_header_1_0(files[name], header)
        for columns in table.blocks():
            for name, values in columns.items():
                files[name].write(np.ascontiguousarray(values).data)


# Archives and folders.


def _shape_and_dtype(file: Any) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Read the header of an array, up to its values."""
    with without_warnings():
        magic = file.read(8)
        if magic[:6] != np.lib.format.MAGIC_PREFIX:
            raise ValueError("is not in the .npy format")
        if (version := tuple(magic[6:])) not in _HEADERS:
            raise ValueError(f"version {version} of the format is not supported")
        shape, _, dtype = _HEADERS[version](file)
    return shape, dtype


def _graph(path: Place, columns: NamedColumns, num_vertices: int | None) -> EdgeList:
    used = [columns[name] for name in _column_names(path, columns)]
    with file_errors(path, GraphError):
        return EdgeList(*used, num_vertices=num_vertices)


def _column_names(path: Place, found: Iterable[str]) -> list[str]:
    """Return the names of the columns of a graph. A saved forest is also a graph."""
    names = set(found)
    weights = [name for name in _WEIGHTS if name in names]
    # Otherwise a graph whose weights are misspelt would be taken as unweighted.
    others = names - {"edge_id", IDENTITY, "u", "v", *weights}
    if not {"u", "v"} <= names or others or len(weights) > 1:
        shown = ", ".join(sorted(names)) or "nothing"
        raise FileFormatError(
            f"{path}: expected arrays u, v and at most one of w, weight; found {shown}"
        )
    return ["u", "v", *weights]


def _array_name(column: str, table: EdgeTable) -> str:
    """Return the name of a column's array: the weights of a graph are called `w`."""
    return "w" if column == "weight" and table.is_graph else column


ARCHIVE = Format(
    "npz",
    (".npz",),
    read_npz,
    size=archived_bytes,
    write=write_npz,
    read_forest=read_archived_forest,
    begins=lambda line: line.startswith(b"PK\x03\x04"),
)
FOLDER = Format(
    "npy",
    read=read_npy,
    stream=npy_source,
    write=write_folder,
    read_forest=read_forest_folder,
    is_folder=True,
)
