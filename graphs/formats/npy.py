"""NumPy arrays: a `.npz` archive, or a folder of `.npy` columns, which can be streamed."""

from __future__ import annotations

import itertools
import json
import math
import tokenize
import zipfile
import zlib
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import FileFormatError, GraphError
from ...runtime.memory import empty, fresh
from ...runtime.team import in_shares
from ..edge_list import LARGEST_ID, EdgeList, ones, unchecked
from ..files import (
    FileState,
    check_decompressed,
    check_state,
    file_errors,
    file_fingerprint,
    without_warnings,
)
from ..format import IDENTITY, Format, parse_identity
from ..segments import Segment
from ..source import EdgeSource

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from ..edge_list import Columns, NamedColumns
    from ..format import EdgeTable, SavedForest
    from ..segments import Read

_WEIGHTS = ("w", "weight")
#: Exceptions of NumPy for a damaged header. NumPy evaluates headers as Python expressions.
_NPY_ERRORS = (EOFError, ValueError, SyntaxError, TypeError, tokenize.TokenError)
#: Bytes that are read and then checked while they are in the cache.
_CACHED = 2**20
_MAGIC = np.lib.format.MAGIC_PREFIX
#: Readers of headers, by version. Later versions differ only in named fields.
_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


# Archives.


def read_npz(path: Path) -> EdgeList:
    """Read an archive of arrays `u`, `v` and optionally `w` or `weight`, and a scalar `n`."""
    columns = _archived(path)
    num_vertices = columns.pop("n", None)
    if num_vertices is None:
        return _graph(path, columns, None)
    if num_vertices.ndim or num_vertices.dtype.kind not in "iu":
        message = f"{path}: n must be one integer"
        raise FileFormatError(message)
    return _graph(path, columns, int(num_vertices))


def read_archived_forest(path: Path, _: np.dtype[Any]) -> SavedForest:
    """Read all arrays of an archive; one of them may be the identity of the graph."""
    columns = _archived(path)
    stated = columns.pop(IDENTITY, None)
    with file_errors(path, ValueError):
        return columns, parse_identity(None if stated is None else str(stated))


def write_npz(path: Path, table: EdgeTable) -> None:
    """Write an array for each column, and the number of vertices of a graph.

    A table that is not in memory is first written to a folder next to the archive.
    """
    if table.columns is None:
        folder = path.with_name("columns")
        _write_columns(folder, table)
        maps = {file.stem: np.load(file, mmap_mode="r") for file in folder.iterdir()}
        arrays: dict[str, Any] = dict(maps)
    else:
        arrays = {_array_name(name, table): values for name, values in table.columns.items()}
    if table.identity is not None:
        arrays[IDENTITY] = np.array(json.dumps(table.identity))
    if table.is_graph and table.num_vertices is not None:
        arrays["n"] = np.array(table.num_vertices)
    with path.open("wb") as file:  # np.savez would append a suffix to a name
        np.savez(file, **arrays)


def _archived(path: Path) -> dict[str, NDArray[Any]]:
    """Read all arrays of an archive."""
    with file_errors(path, zipfile.BadZipFile):
        with path.open("rb") as file:
            is_archive = file.read(2) == b"PK" and zipfile.is_zipfile(file)
        if not is_archive:
            message = f"{path}: is not a .npz file"
            raise FileFormatError(message)
        archived_bytes(path)
        with np.load(path, allow_pickle=False) as archive:
            return {name: _loaded(path, name, archive) for name in archive.files}


def archived_bytes(path: Path) -> int:
    """Return the bytes of all arrays that the archive and their headers state.

    Raises
    ------
    FileFormatError
        If the sizes are impossible. Names the array.
    """
    with file_errors(path, zipfile.BadZipFile), zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        total = sum(member.file_size for member in members)
        check_decompressed(path, total)
        if len({member.filename for member in members}) < len(members):
            message = f"{path}: two arrays have the same name"
            raise FileFormatError(message)
        for member in members:
            name = member.filename.removesuffix(".npy")
            with _array_errors(path, name), archive.open(member) as file, without_warnings():
                if file.read(len(_MAGIC)) != _MAGIC:
                    continue  # not an array: `_loaded` raises an error
                file.seek(0)
                version = np.lib.format.read_magic(file)
                if version in _HEADERS:
                    shape, _, dtype = _HEADERS[version](file)
                    stated = math.prod(shape) * dtype.itemsize
                    if not 0 <= stated <= member.file_size:
                        message = f"states shape {shape} in {member.file_size:,} bytes"
                        raise ValueError(message)
    return total


@contextmanager
def _array_errors(path: Path, name: str) -> Iterator[None]:
    try:
        yield
    except (*_NPY_ERRORS, RuntimeError, zlib.error, NotImplementedError) as error:
        message = f"{path}: array {name}: {error}"
        raise FileFormatError(message) from error


def _loaded(path: Path, name: str, archive: Mapping[str, Any]) -> NDArray[Any]:
    with _array_errors(path, name), without_warnings():
        array = archive[name]
    if not isinstance(array, np.ndarray):  # np.load returns other members as bytes
        message = f"{path}: {name} is not an array"
        raise FileFormatError(message)
    return array


# Folders.


def read_npy(path: Path) -> EdgeList:
    """Read a folder of `u.npy`, `v.npy` and optionally `w.npy` or `weight.npy`, and `n.txt`."""
    files = [_opened(file) for file in _column_files(path)]
    stated = _stated_num_vertices(path / "n.txt")
    columns, needed = zip(*(file.checked_values() for file in files), strict=True)
    if None not in needed and len({file.length for file in files}) == 1:
        u, v, *weight = columns
        num_vertices = max(needed) if stated is None else stated
        if num_vertices >= max(needed):
            return unchecked(u, v, weight[0] if weight else ones(u), num_vertices)
    # Find the error, or convert the columns.
    return _graph(path, dict(zip((file.path.stem for file in files), columns, strict=True)), stated)


def read_forest_folder(path: Path, _: np.dtype[Any]) -> SavedForest:
    """Read all columns of a folder, and the identity of the graph if there is one."""
    columns = {file.stem: _opened(file).values() for file in sorted(path.glob("*.npy"))}
    stated = path / f"{IDENTITY}.json"
    with file_errors(stated, ValueError):
        return columns, parse_identity(stated.read_bytes() if stated.exists() else None)


def npy_source(path: Path) -> EdgeSource:
    """Return a folder of columns (see `read_npy`) as a source, reading only the headers."""
    columns = tuple(_opened(file) for file in _column_files(path))
    lengths = {column.path.name: column.length for column in columns}
    if len(set(lengths.values())) > 1:
        message = f"{path}: columns differ in length: {lengths}"
        raise FileFormatError(message)
    segment = NpyColumns(columns, 0, columns[0].length)
    return EdgeSource((segment,), _stated_num_vertices(path / "n.txt"))


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

    path: Path
    dtype: np.dtype[Any]
    length: int
    header: bytes
    state: FileState

    def values(self) -> NDArray[Any]:
        """Read all values."""
        return self.checked_values()[0]

    def checked_values(self) -> tuple[NDArray[Any], int | None]:
        """Read all values, in shares by threads, and check them while they are in the cache.

        Returns
        -------
        values : array
        needed : int or None
            The number of vertices that the ids need; 0 for weights. None if the column has an
            error or must be converted.
        """
        values = fresh(self.length, self.dtype)

        def read(start: int, stop: int) -> list[int | None]:
            step = max(1, _CACHED // self.dtype.itemsize)
            cuts = [*range(start, stop, step), stop]
            parts = [values[low:high] for low, high in itertools.pairwise(cuts)]
            return [self._vertices_needed(part) for part in self._reading(start, parts)]

        found = [needed for share in in_shares(read, self.length) for needed in share]
        values.flags.writeable = False
        is_valid = self.length and None not in found
        return values, max(n for n in found if n is not None) if is_valid else None

    def rows(self, start: int, stop: int) -> NDArray[Any]:
        """Read values `start` to `stop` - 1 into memory that the next block can reuse."""
        values = empty(stop - start, self.dtype)
        for _ in self._reading(start, [values]):
            pass
        return values

    def _reading(self, start: int, parts: Iterable[NDArray[Any]]) -> Iterator[NDArray[Any]]:
        """Read consecutive values from `start` on into arrays; yield each array when it is full."""
        # A scan reads many blocks, so each takes few system calls. The state is compared only after
        # the read: a file that changed before the read still differs then.
        with file_errors(self.path), open(self.path, "rb", buffering=0) as file:
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
            check_state(self.path, self.state, FileState.of_open(file.fileno()))
            if rest:
                message = f"{self.path}: ends before edge {start + len(values)}"
                raise FileFormatError(message)

    def _vertices_needed(self, values: NDArray[Any]) -> int | None:
        dtype = values.dtype
        if not dtype.isnative or dtype.itemsize > 8:
            return None
        if self.path.stem not in ("u", "v"):
            return None if dtype.kind == "f" and np.isnan(values.min()) else 0
        # A negative id, viewed as unsigned, exceeds every valid id.
        largest = int(values.view(f"u{dtype.itemsize}").max())
        return None if largest > min(np.iinfo(dtype).max, LARGEST_ID) else largest + 1


@dataclass(frozen=True)
class NpyColumns(Segment):
    """Edges `start` to `stop` - 1 of columns u, v and optionally weight."""

    columns: tuple[_Column, ...]
    start: int
    stop: int

    @property
    def num_edges(self) -> int:
        """Number of edges."""
        return self.stop - self.start

    @property
    def origin(self) -> tuple[str, int]:
        """The folder, and the first row of the range."""
        return str(self.columns[0].path.parent), self.start

    def reads(self, size: int) -> Iterator[Read]:
        """Yield functions that read blocks."""
        for start in range(self.start, self.stop, size):
            stop = min(start + size, self.stop)
            yield stop - start, partial(self._read, start, stop)

    def slice(self, start: int, stop: int) -> NpyColumns:
        """Return a slice of these edges."""
        return replace(self, start=self.start + start, stop=self.start + stop)

    def fingerprint(self) -> str:
        """Return the fingerprints of the files, and the range of edges."""
        files = [file_fingerprint(column.path) for column in self.columns]
        return f"{'-'.join(files)}[{self.start}:{self.stop}]"

    def _read(self, start: int, stop: int) -> Columns:
        u, v, *weight = (column.rows(start, stop) for column in self.columns)
        return u, v, weight[0] if weight else None


def _opened(path: Path) -> _Column:
    """Read the header of a column.

    Raises
    ------
    FileFormatError
        If the file is not a column of numbers, or is shorter than its header states.
    """
    state = FileState.of(path)
    with file_errors(path, *_NPY_ERRORS), path.open("rb") as file, without_warnings():
        version = np.lib.format.read_magic(file)
        if version not in _HEADERS:
            message = f"version {version} of the format is not supported"
            raise ValueError(message)
        shape, _, dtype = _HEADERS[version](file)
        size = file.tell()
        file.seek(0)
        header = file.read(size)
    if len(shape) != 1 or shape[0] < 0:
        message = f"{path}: must be one-dimensional, not of shape {shape}"
        raise FileFormatError(message)
    (length,) = shape
    if length and dtype.kind not in ("iu" if path.stem in "uv" else "biuf"):
        wanted = "integers" if path.stem in "uv" else "numbers"
        message = f"{path}: must hold {wanted}, not {dtype}"
        raise FileFormatError(message)
    expected = size + length * dtype.itemsize
    if state.size < expected:
        message = f"{path}: has {state.size:,} bytes, expected {expected:,} for {length:,} edges"
        raise FileFormatError(message)
    return _Column(path, dtype, length, header, state)


def _column_files(path: Path) -> list[Path]:
    """Return the files of the columns u, v and optionally weight in a folder."""
    with file_errors(path):
        files = {file.stem: file for file in path.iterdir() if file.suffix == ".npy"}
    return [files[name] for name in _column_names(path, files)]


def _stated_num_vertices(file: Path) -> int | None:
    """Return the number of vertices in `file`, or None if the file is missing."""
    with file_errors(file):
        if not file.exists():
            return None
        text = file.read_bytes().strip()
    if not text.isdigit() or len(text) > 18:
        message = f"{file}: line 1: expected a number of vertices, found {text[:24]!a}"
        raise FileFormatError(message)
    return int(text)


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


def _graph(path: Path, columns: NamedColumns, num_vertices: int | None) -> EdgeList:
    used = [columns[name] for name in _column_names(path, columns)]
    with file_errors(path, GraphError):
        return EdgeList(*used, num_vertices=num_vertices)


def _column_names(path: Path, found: Iterable[str]) -> list[str]:
    """Return the names of the columns of a graph. A saved forest is also a graph."""
    names = set(found)
    weights = [name for name in _WEIGHTS if name in names]
    # Otherwise a graph whose weights are misspelt would be taken as unweighted.
    if (
        not {"u", "v"} <= names
        or names - {"edge_id", IDENTITY, "u", "v", *_WEIGHTS}
        or len(weights) > 1
    ):
        shown = ", ".join(sorted(names)) or "nothing"
        message = f"{path}: expected arrays u, v and at most one of w, weight; found {shown}"
        raise FileFormatError(message)
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
