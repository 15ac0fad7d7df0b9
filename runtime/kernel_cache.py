"""The folder where Numba stores compiled kernels.

Numba's default is a folder beside the source. `pip uninstall` leaves such files behind, and Python
would import the remaining folder as a package. Numba also compiles a kernel again only if its own
file changes, but kernels call functions of other files. Therefore each version of the sources has
its own folder in the user's cache folder, and unused folders are removed after a month.

This module does not import Numba, so a process can choose not to load kernels without the time and
the memory of the import.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import shutil
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from .host import private_cache_folder
from .scratch import LOCK, try_lock, unlock

#: The folders of the package whose functions and constants kernels use.
_SOURCES = "pointsets", "primitives", "runtime"
#: Days after which an unused folder of kernels is removed.
_DAYS = 30


@functools.cache
def cache_folder() -> Path | None:
    """Return the folder of the kernels of this version; None if it cannot be written.

    Each process then compiles its own kernels.
    """
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    parent = Path(chosen, "mstflow") if chosen else private_cache_folder("numba")
    if parent is None:
        return None
    folder = parent / source_key(Path(__file__).parents[1])
    try:
        is_new = not folder.exists()
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)  # the time of the last use; fails if the folder cannot be written
        if is_new:
            remove_unused(parent)
    except OSError:
        return None
    return folder


def source_key(package: Path) -> str:
    """Return a key of the sources of kernels, of their place, and of the compiler's version.

    Numba's own index distinguishes processors and versions of Python. It drops its entries if a
    source has another time, and then gives their numbers to new ones, which would mislead processes
    that started before; so the key covers the times, too.
    """
    versions = [version(library) for library in ("numba", "llvmlite", "numpy")]
    key = hashlib.sha256(repr((str(package), versions)).encode())
    for name in _SOURCES:
        for path in sorted((package / name).rglob("*.py")):
            key.update(path.read_bytes() + repr(path.stat().st_mtime_ns).encode())
    return key.hexdigest()[:16]


def remove_unused(parent: Path) -> None:
    """Remove the folders of other versions that no process has used for a month."""
    oldest = time.time() - _DAYS * 86_400
    for folder in parent.iterdir():
        with contextlib.suppress(OSError):  # such as another process that removes it
            if folder.stat().st_mtime < oldest:
                shutil.rmtree(folder)


@contextlib.contextmanager
def storing(patience: float = 10.0) -> Iterator[None]:
    """Lock the folder while a kernel is stored, so that one process at a time does so.

    Kernels are stored in a few milliseconds. After `patience` seconds, or if the file system has no
    locks, the kernel is stored without a lock.
    """
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            if folder := cache_folder():
                file = os.open(folder / LOCK, os.O_CREAT | os.O_RDWR, 0o600)
                stack.callback(os.close, file)
                latest = time.monotonic() + patience
                while not try_lock(file) and time.monotonic() < latest:
                    time.sleep(0.002)
                stack.callback(unlock, file)
        yield


def is_cached(kernel: str) -> bool:
    """Return whether the cache has any compiled version of the kernel with this name."""
    folder = cache_folder()
    return folder is not None and any(folder.rglob(f"*.{kernel}-*.nbi"))
