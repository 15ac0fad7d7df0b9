"""Locks of folders, scratch folders, and scratch files that are arrays.

The system releases a lock when its process ends, also if it is killed. Scratch folders are locked
while a run uses them. A later run removes those of killed runs.
"""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import platform
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..errors import OptionError

try:
    import fcntl
except ModuleNotFoundError:  # Windows
    fcntl = None  # type: ignore[assignment]

#: The name of the file in a folder that is locked.
LOCK = "mstflow.lock"
#: The folder of a checkpoint with the numbered pairs of names.
NUMBERED_FOLDER = "pairs"
#: Error numbers of a lock that another run holds.
_HELD = {errno.EACCES, errno.EAGAIN, errno.EDEADLK}
#: Error numbers of a file system without locks.
_UNSUPPORTED = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP}
#: The byte that is locked on Windows, where nobody else can read a locked byte.
_BYTE = 2**30


class HeldError(Exception):
    """Another run holds the lock. The text names the process of this run."""


def try_lock(file: int) -> bool:
    """Lock an open file; return whether nobody else holds its lock.

    The lock belongs to the open file, so another thread of this process does not get it, either.
    """
    try:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            import msvcrt

            os.lseek(file, _BYTE, os.SEEK_SET)
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
    except OSError as error:
        if error.errno not in _HELD:
            raise
        return False
    return True


def unlock(file: int) -> None:
    """Release the lock of an open file, which a forked process would otherwise keep."""
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_UN)


@contextlib.contextmanager
def locked_folder(folder: Path, lock: Callable[[int], bool] = try_lock) -> Iterator[bool]:
    """Lock a folder, which may not exist yet; yield whether its file system has locks.

    Raise a HeldError if another run holds the lock. At the end, the file with the lock is removed,
    and so is a folder that was created here if it is empty.
    """
    is_new, path = not folder.exists(), folder / LOCK
    file, has_locks = _open_locked(path, lock)
    try:
        yield has_locks
    finally:
        with contextlib.suppress(OSError):  # Windows does not remove an open file
            path.unlink()
        os.close(file)
        if is_new:
            with contextlib.suppress(OSError):  # the folder is not empty
                folder.rmdir()


def _open_locked(path: Path, lock: Callable[[int], bool]) -> tuple[int, bool]:
    """Open and lock a file, which its last owner may remove meanwhile."""
    while True:
        path.parent.mkdir(exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            file, is_ours = os.open(path, os.O_CREAT | os.O_RDWR, 0o666), False
            try:
                has_locks = _has_lock(file, path, lock)
                is_ours = os.path.samestat(os.fstat(file), path.stat())
            finally:
                if not is_ours:
                    os.close(file)
            if is_ours:
                return file, has_locks


def _has_lock(file: int, path: Path, lock: Callable[[int], bool]) -> bool:
    """Lock a file and write the name of this process to it; return whether locks are possible."""
    try:
        if not lock(file):
            raise HeldError(path.read_text() or "a process that has just started")
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
        return False
    os.ftruncate(file, 0)
    os.lseek(file, 0, os.SEEK_SET)
    os.write(file, f"process {os.getpid()} on {platform.node()}".encode())
    return True


@contextlib.contextmanager
def scratch_folder(parent: str | None = None) -> Iterator[str]:
    """Yield a new folder in `parent` (by default the system's), and remove it at the end."""
    parent = _temporary_folder() if parent is None else parent
    # Hosts may share the parent but not see each other's locks, so a host removes only its folders.
    prefix = f"mstflow-{re.sub(r'[^A-Za-z0-9]', '_', platform.node())}-"
    _remove_abandoned(Path(parent), prefix)
    with contextlib.ExitStack() as stack:
        try:
            created = tempfile.TemporaryDirectory(prefix=prefix, dir=parent)
            folder = stack.enter_context(created)
            file = os.open(os.path.join(folder, f"{LOCK}.draft"), os.O_CREAT | os.O_RDWR, 0o600)
        except OSError as error:
            message = f"cannot create a temporary folder in {parent}: {error.strerror}"
            raise OptionError(message) from error
        stack.callback(os.close, file)
        with contextlib.suppress(OSError):  # no locks; Windows does not rename an open file
            try_lock(file)
            os.rename(f"{folder}/{LOCK}.draft", f"{folder}/{LOCK}")  # others see a held lock
        yield folder


def _temporary_folder() -> str:
    """Return the system's folder for temporary files.

    Python ignores a variable of the environment that names an unusable folder. The files may be too
    large for another folder, so this is an error here.
    """
    for name in ("TMPDIR", "TEMP", "TMP"):  # in Python's order
        if folder := os.environ.get(name):
            if not os.path.isdir(folder) or not os.access(folder, os.W_OK | os.X_OK):
                state = "cannot be written" if os.path.isdir(folder) else "is not a folder"
                raise OptionError(f"the environment variable {name} names {folder}, which {state}")
            break
    try:
        return tempfile.gettempdir()
    except OSError as error:
        raise OptionError(f"{error.strerror}; set the environment variable TMPDIR") from error


def _remove_abandoned(parent: Path, prefix: str) -> None:
    """Remove this user's folders whose lock is free, because a killed process holds no lock."""
    if fcntl is None:
        return
    for path in parent.glob(f"{prefix}*"):
        with contextlib.suppress(OSError):
            if path.lstat().st_uid != os.geteuid():
                continue
            file = os.open(path / LOCK, os.O_RDWR | os.O_NOFOLLOW)
            try:
                if try_lock(file):
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
