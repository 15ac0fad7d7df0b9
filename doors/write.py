"""Write graphs and forests to a file or folder. If writing fails, partial output is removed."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ..errors import OptionError
from ..graphs.edge_table import EdgeTable
from ..graphs.source import EdgeSource
from ..graphs.vertex_names import fields_of, name_columns
from .formats import names_folder, writer_of
from .places.folders import local_files

AnyPath = str | os.PathLike[str]


def check_output(path: AnyPath, *, has_names: bool = False) -> None:
    """Check that an output can be written to `path`, before it is computed."""
    writer_of(path, has_names=has_names)
    _check_target(path)


def write_graph(path: AnyPath, graph: EdgeSource) -> None:
    """Write all edges of a graph in order, with names of vertices in place of their numbers.

    Hold one block in memory at a time. The sizes of the graph must be known, and each column must
    have one dtype in all segments.
    """
    check_overwrite([path], source_paths(graph))
    names = graph.names
    *dtypes_of_ends, weight = (column.dtype for column in graph.first_columns())
    ends: dict[str, Any] = {}
    for label, dtype in zip("uv", dtypes_of_ends, strict=True):
        ends.update({label: dtype} if names is None else name_columns(label, names.type))

    def read(size: int) -> Iterator[list[Any]]:
        loaded = None if names is None else names.loaded()
        for *_, block in graph.blocks(size):
            *columns, weights = block()
            if loaded is not None:
                columns = [part for ids in columns for part in fields_of(loaded.take(ids))]
            yield [*columns, weights]

    dtypes = {**ends, "weight": weight}
    write_table(path, EdgeTable(dtypes, graph.num_edges or 0, graph.num_vertices, read))


def write_columns(
    path: AnyPath,
    columns: Mapping[str, Any],
    *,
    num_vertices: int | None = None,
    identity: Mapping[str, Any] | None = None,
) -> None:
    """Write columns under their names; the suffix of `path` selects the format.

    A path without a suffix, or with a trailing slash, is a folder of `.npy` files. Columns of names
    are a `pyarrow.Array`. `.gr` and `.mtx` need the number of vertices. `identity`, a JSON object,
    identifies the graph of a forest.
    """
    dtypes = {
        name: values.dtype if hasattr(values, "dtype") else values.type
        for name, values in columns.items()
    }
    num_edges = len(next(iter(columns.values())))

    def read(size: int) -> Iterator[list[Any]]:
        for start in range(0, num_edges, size):
            yield [values[start : start + size] for values in columns.values()]

    table = EdgeTable(dtypes, num_edges, num_vertices, read, columns, identity)
    write_table(path, table)


def write_table(path: AnyPath, table: EdgeTable) -> None:
    """Write edges; the suffix of `path` selects the format. An existing file is replaced."""
    write = writer_of(path, has_names=table.has_names)
    with replacing(path) as draft:
        write(draft, table)


@contextmanager
def replacing(path: AnyPath) -> Iterator[Path]:
    """Yield a temporary path; when the block ends, rename it to `path`."""
    _check_target(path)
    target = Path(path).resolve()  # the file of a link is replaced, not the link
    try:
        with TemporaryDirectory(dir=target.parent, prefix=".mstflow-") as folder:
            draft = Path(folder) / "draft"  # its permissions are ordinary, unlike the folder's
            try:
                yield draft
            except OSError as error:
                files = (file for file in (draft, *draft.rglob("*")) if file.is_file())
                written = sum(file.stat().st_size for file in files)
                # NumPy reports only counts of elements, without the reason.
                reason = error.strerror or "the disk is full, or a limit on file sizes was reached"
                raise OptionError(f"{target}: {reason} after {written:,} bytes") from error
            if target.is_dir():  # it is empty; not every system can rename onto a folder
                target.rmdir()
            if target.is_file():
                draft.chmod(stat.S_IMODE(target.stat().st_mode))
            draft.replace(target)
    except OSError as error:
        raise OptionError(f"{target}: {error.strerror or error}") from error


def _check_target(path: AnyPath) -> None:
    target = Path(path)
    is_folder = names_folder(path)
    if os.fspath(path) == "-":
        message = "-: only commands can write to standard output; name a file"
    elif not target.parent.is_dir():
        message = f"{target}: the folder {target.parent} does not exist"
    elif not os.access(target.parent, os.W_OK):
        message = f"{target}: the folder {target.parent} is not writable"
    elif target.exists() and not target.is_file() and not target.is_dir():
        message = f"{target}: is a pipe, a socket or a device, which files cannot replace"
    elif is_folder and target.is_file():
        message = f"{target}: is a file; name a new folder, .npz or .csv"
    elif is_folder and target.is_dir() and any(target.iterdir()):
        message = f"{target}: the folder is not empty"
    elif not is_folder and target.is_dir():
        message = f"{target}: is a folder"
    else:
        return
    raise OptionError(message)


def check_overwrite(outputs: Iterable[AnyPath], inputs: Iterable[AnyPath]) -> None:
    """Check that no output would replace an input, a file of an input folder, or another output."""
    known = dict.fromkeys(local_files(inputs), "input")
    for output in map(Path, outputs):
        for other, role in known.items():
            exist = output.exists() and other.exists()
            if output.samefile(other) if exist else output.resolve() == other.resolve():
                message = f"{output}: would overwrite the {role} {other}; choose another output"
                raise OptionError(message)
        known[output] = "output"


def source_paths(source: Any) -> Iterator[Path]:
    """Yield the files that a source reads: all paths in the fields of its segments."""
    if isinstance(source, Path):
        yield source
    elif isinstance(source, tuple):
        for item in source:
            yield from source_paths(item)
    elif is_dataclass(source):
        for field in fields(source):
            yield from source_paths(getattr(source, field.name))
