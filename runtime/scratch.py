"""Scratch folders, and scratch files that are arrays.

Folders are locked while a run uses them. A later run removes those of killed runs.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import platform
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

try:
    import fcntl
except ModuleNotFoundError:  # Windows: folders of killed runs are not removed
    fcntl = None  # type: ignore[assignment]

_LOCK = "lock"


@contextlib.contextmanager
def scratch_folder(parent: str | None) -> Iterator[str]:
    """Yield a new folder in `parent` (the system's folder if None), and remove it at the end."""
    # Hosts may share the parent but not see each other's locks, so a host removes only its folders.
    prefix = f"mstflow-{re.sub(r'[^A-Za-z0-9]', '_', platform.node())}-"
    _remove_abandoned(Path(parent or tempfile.gettempdir()), prefix)
    with tempfile.TemporaryDirectory(prefix=prefix, dir=parent) as folder:
        draft = os.path.join(folder, f"{_LOCK}.draft")
        file = os.open(draft, os.O_CREAT | os.O_RDWR, 0o600)
        try:
            if fcntl is not None:
                with contextlib.suppress(OSError):  # a file system without locks
                    fcntl.flock(file, fcntl.LOCK_EX)
                    os.rename(draft, os.path.join(folder, _LOCK))  # other runs see a held lock
            yield folder
        finally:
            os.close(file)


def _remove_abandoned(parent: Path, prefix: str) -> None:
    """Remove this user's folders whose lock is free, because a killed process holds no lock."""
    if fcntl is None:
        return
    for path in parent.glob(f"{prefix}*"):
        with contextlib.suppress(OSError):
            if path.lstat().st_uid != os.geteuid():
                continue
            file = os.open(path / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(file)


class _ScratchMap(mmap.mmap):
    """The memory map of a file without a name; see `mapped`."""


def mapped(
    blocks: Iterable[NDArray[Any]], length: int, dtype: DTypeLike, folder: str | os.PathLike[str]
) -> NDArray[Any]:
    """Write blocks to a file in `folder`; return a read-only array of `length` that maps the file.

    The file has no name. The system removes it when the array is freed, or when the process ends.
    """
    with tempfile.TemporaryFile(dir=folder) as file:
        for block in blocks:
            file.write(block.data)
        file.flush()
        mapping = _ScratchMap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return np.ndarray(length, dtype, mapping)


def is_mapped(array: Any) -> bool:
    """Return whether an array is the result of `mapped`."""
    return isinstance(getattr(array, "base", None), _ScratchMap)


def release_pages(array: NDArray[Any]) -> None:
    """Release the memory of an array if it is `mapped`; later accesses read the file again."""
    if is_mapped(array) and hasattr(mmap, "MADV_DONTNEED"):
        array.base.madvise(mmap.MADV_DONTNEED)  # type: ignore[union-attr]
