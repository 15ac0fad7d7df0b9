"""How tasks hand each other arrays: as they are, from host to host, or in scratch files."""

from __future__ import annotations

import os
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...errors import WorkerError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from ...primitives.vocabulary import ArrayModule


#: In place of a folder: the scheduler keeps what tasks return, and may send it anywhere.
ON_HOST = ""


class Stored(NamedTuple):
    """An array in a scratch file, or the rows `start` to `stop` of it."""

    path: str
    start: int | None = None
    stop: int | None = None


def store(value: Any, folder: str | None, ops: ArrayModule) -> Any:
    """Leave an array of the module's, or each of a tuple, for other tasks; anything else stays.

    Parameters
    ----------
    folder : str or None
        Where it goes, into a new file. None: it stays as it is. `ON_HOST`: it is returned in the
        memory of the host.

    Raises
    ------
    WorkerError
        If it cannot be written.
    """
    if type(value) is tuple:
        return tuple(store(item, folder, ops) for item in value)
    if folder is None or not getattr(value, "ndim", 0):
        return value
    value = ops.to_host(value)
    if folder == ON_HOST:
        return value
    path = os.path.join(folder, f"{uuid.uuid4().hex}.npy")
    try:
        np.save(path, value, allow_pickle=False)
    except OSError as error:
        reason = error.strerror or error  # NumPy gives none where fewer bytes were written
        message = (
            f"a scratch file cannot be written in {folder}: {reason}; Dask's option "
            "temporary-directory says where else"
        )
        raise WorkerError(message) from error
    return Stored(path)


def load(value: Any, ops: ArrayModule) -> Any:
    """Return an array that another task left as one of the module's; anything else as it is."""
    if type(value) is tuple:
        return tuple(load(item, ops) for item in value)
    if isinstance(value, Stored):
        value = _mapped(value)
    return ops.asarray(value) if isinstance(value, np.ndarray) else value


def _mapped(value: Stored) -> NDArray[Any]:
    """Return the array a `Stored` stands for, as a read-only memory map."""
    try:
        column: NDArray[Any] = np.load(value.path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError as error:
        message = (
            f"a worker cannot see {value.path}: all workers must share the caller's file system; "
            "Dask's option temporary-directory says where on it"
        )
        raise WorkerError(message) from error
    return column[value.start : value.stop]


def fetch(value: Any) -> Any:
    """Return the array a `Stored` stands for, in memory; others as they are."""
    if type(value) is tuple:
        return tuple(map(fetch, value))
    return np.array(_mapped(value)) if isinstance(value, Stored) else value


def keep_only(folder: str, values: Iterable[Any]) -> None:
    """Remove the files of `folder` that none of `values` stands for; subfolders stay."""
    kept = set(_paths(values))
    for path in Path(folder).glob("*.npy"):
        if str(path) not in kept:
            path.unlink()


def _paths(values: Iterable[Any]) -> Iterator[str]:
    for value in values:
        if isinstance(value, Stored):
            yield value.path
        elif type(value) is tuple:
            yield from _paths(value)
