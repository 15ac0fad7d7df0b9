"""Writes columns to a file or folder, whole or not at all."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

    Columns = Mapping[str, NDArray[Any]]


def check_output(path: str | os.PathLike[str]) -> None:
    """Check that `path` names an output that can be written, before the work that fills it.

    Raises
    ------
    OptionError
        On an unknown suffix, a missing parent folder, or something in the way: a folder in place
        of a file, a file in place of a folder, or a folder that is not empty.
    """
    target = Path(path)
    is_folder = _writer(path) is _write_folder
    if not target.parent.is_dir():
        message = f"{target}: there is no folder {target.parent}"
    elif not os.access(target.parent, os.W_OK):
        message = f"{target}: the folder {target.parent} cannot be written to"
    elif is_folder and target.exists() and not target.is_dir():
        message = f"{target}: is a file; the columns need a folder, .npz or .csv"
    elif is_folder and target.is_dir() and any(target.iterdir()):
        message = f"{target}: the folder is not empty"
    elif not is_folder and target.is_dir():
        message = f"{target}: is a folder"
    else:
        return
    raise OptionError(message)


def write_columns(path: str | os.PathLike[str], columns: Columns) -> None:
    """Write columns under their names, in the form that the name of `path` asks for.

    Parameters
    ----------
    path : path
        `.npz` for an archive of arrays, `.csv` for text with a header (booleans as 0 and 1,
        floats so that they read back exactly), no suffix or a slash at the end for a folder of
        `.npy` files. A file is replaced. Nothing is left behind on failure.
    columns : mapping of str to bool, integer or floating array of length m

    Raises
    ------
    OptionError
        As `check_output`, or if writing fails.
    ValueError
        If columns differ in length or hold objects.
    """
    _check_columns(columns)
    with replacing(path) as draft:
        _writer(path)(draft, columns)


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a place to make a file or folder in, which then takes the place of `path`.

    Nothing is left behind if that fails.

    Raises
    ------
    OptionError
        As `check_output`, or if writing fails.
    """
    check_output(path)
    target = Path(path)
    try:
        with TemporaryDirectory(dir=target.parent, prefix=".mstflow-") as folder:
            draft = Path(folder) / "draft"  # inside, it gets ordinary permissions
            yield draft
            if target.is_dir():  # an empty one: not every system renames onto it
                target.rmdir()
            draft.replace(target)
    except OSError as error:
        message = f"{target}: {error.strerror or error}"
        raise OptionError(message) from error


def _writer(path: str | os.PathLike[str]) -> Callable[[Path, Columns], None]:
    suffix = Path(path).suffix
    if suffix == "" or os.fspath(path).endswith(("/", os.sep)):
        return _write_folder
    if suffix not in _WRITERS:
        known = ", ".join(_WRITERS)
        message = f"{path}: cannot write {suffix!r}; choose {known}, or no suffix for a folder"
        raise OptionError(message)
    return _WRITERS[suffix]


def _check_columns(columns: Columns) -> None:
    for name, values in columns.items():
        if values.ndim != 1 or values.dtype.kind not in "biuf":
            message = f"column {name} must be one-dimensional numbers, not {values.dtype}"
            raise ValueError(message)
    if len({len(values) for values in columns.values()}) > 1:
        message = "columns differ in length"
        raise ValueError(message)


def _write_npz(draft: Path, columns: Columns) -> None:
    with draft.open("wb") as file:  # given a name, np.savez would add a suffix to it
        np.savez(file, **columns)  # type: ignore[arg-type]


def _write_folder(draft: Path, columns: Columns) -> None:
    draft.mkdir()
    for name, values in columns.items():
        np.save(draft / f"{name}.npy", values, allow_pickle=False)


def _write_csv(draft: Path, columns: Columns) -> None:
    import pyarrow as pa
    from pyarrow import csv

    # pyarrow writes the shortest text that reads back as the same float.
    table = pa.table({name: pa.array(_as_numbers(values)) for name, values in columns.items()})
    with draft.open("wb") as file:
        file.write((",".join(columns) + "\n").encode())  # pyarrow would put names in quotes
        csv.write_csv(table, file, csv.WriteOptions(include_header=False))


def _as_numbers(values: NDArray[Any]) -> NDArray[Any]:
    if values.dtype.kind == "b":
        return values.astype(np.uint8)
    return values.astype(np.float32) if values.dtype == np.float16 else values


_WRITERS = {".npz": _write_npz, ".csv": _write_csv}
