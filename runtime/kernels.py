"""Compile functions with Numba. Importing this module imports Numba.

Numba compiles a loop for the types of its arguments on the first call, and stores the result. Its
default is a folder beside the source. `pip uninstall` leaves such files behind, and Python would
import the remaining folder as a package. Numba also compiles a kernel again only if its own file
changes, but kernels call functions of other files. Therefore each version of the sources has its
own folder in the user's cache folder, and folders that are no longer used are removed.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import shutil
import threading
import time
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
from numba import njit
from numba.extending import register_jitable
from numpy.typing import NDArray

from .host import private_cache_folder

_OPTIONS: dict[str, Any] = {"boundscheck": False, "error_model": "numpy"}

#: The distance in elements at which loops prefetch.
AHEAD = 16
#: The number of elements that a loop processes at a time if it needs a buffer.
BLOCK = 2048
#: The number of 64-bit words in a cache line. If a loop writes to many places in turn, it
#: prefetches the next line of each place.
LINE = np.uint64(8)
#: Constants of kernels are unsigned: Numba converts the sum of a signed and an unsigned integer to
#: a float.
NONE = np.uint64(2**64 - 1)
ONE = np.uint64(1)

#: Decorator of functions that only kernels call. Unlike `njit`, it compiles no interface to Python,
#: and no further version for arguments that are literals.
helper = register_jitable(**_OPTIONS)

#: The folders of the package whose functions and constants kernels use.
_SOURCES = "pointsets", "primitives", "runtime"
#: Days after which an unused folder of kernels is removed.
_DAYS = 30

#: Numba's settings; Numba creates them from its environment variables when it is imported.
_config: Any = numba.config
#: ``NUMBA_CACHE_DIR``; empty if it is not set.
_CHOSEN = _config.CACHE_DIR
#: Held while `kernel` changes the settings.
_changing = threading.Lock()


def kernel(function: Any) -> Any:
    """Decorate a loop that Python calls: compile it to release the GIL, and cache the result.

    Numba reads the setting of its cache folder only while it decorates, so the setting is restored
    at once and does not affect functions of other packages.
    """
    if folder := cache_folder():
        with _changing, contextlib.suppress(RuntimeError):  # raised if it cannot be written
            _config.CACHE_DIR = str(folder)
            try:
                compiled = njit(cache=True, nogil=True, **_OPTIONS)(function)
            finally:
                _config.CACHE_DIR = _CHOSEN
            # If the disk is full, Numba may choose another folder, such as that of the source.
            if Path(compiled.stats.cache_path).is_relative_to(folder):
                return compiled
    return njit(nogil=True, **_OPTIONS)(function)


@functools.cache
def cache_folder() -> Path | None:
    """Return the folder of the kernels of this version; None if it cannot be written.

    Each process then compiles its own kernels.
    """
    parent = Path(_CHOSEN, "mstflow") if _CHOSEN else private_cache_folder("numba")
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

    Numba's own index distinguishes processors and versions of Python.
    """
    versions = numba.__version__, llvmlite.__version__, np.__version__
    key = hashlib.sha256(repr((str(package), versions)).encode())
    for name in _SOURCES:
        for path in sorted((package / name).rglob("*.py")):
            key.update(path.read_bytes())
    return key.hexdigest()[:16]


def remove_unused(parent: Path) -> None:
    """Remove the folders of other versions that no process has used for a month."""
    oldest = time.time() - _DAYS * 86_400
    for folder in parent.iterdir():
        with contextlib.suppress(OSError):  # such as another process that removes it
            if folder.stat().st_mtime < oldest:
                shutil.rmtree(folder)


def is_cached(function: Any) -> bool:
    """Return whether the cache has any compiled version of a kernel."""
    folder, name = cache_folder(), f"*.{function.__qualname__}-*.nbi"
    return folder is not None and any(folder.rglob(name))


def plain(array: NDArray[Any]) -> NDArray[Any]:
    """Return a contiguous, aligned array that is marked as writable.

    Numba compiles a kernel for each combination of these flags, so it compiles each only once. A
    kernel never writes to its inputs.
    """
    if not array.flags.carray:
        array = _Writable(np.require(array, None, ("C", "A"))).view()
    return array


def raw(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array as `plain` does, and as unsigned integers of the same size."""
    return plain(array).view(f"u{array.itemsize}")


class _Writable:
    """A wrapper that exposes a read-only array as writable, by NumPy's array interface."""

    def __init__(self, array: NDArray[Any]) -> None:
        self._array = array  # keeps the memory
        interface = array.__array_interface__
        self.__array_interface__ = {**interface, "data": (interface["data"][0], False)}

    def view(self) -> NDArray[Any]:
        """Return an array of the same memory."""
        return np.asarray(self)
