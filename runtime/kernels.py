"""Compile functions with Numba. Importing this module imports Numba.

Numba compiles a loop for the types of its arguments on the first call, and stores the result in the
folder that `kernel_cache` chooses.
"""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba import njit
from numba.core import event
from numba.extending import register_jitable
from numpy.typing import NDArray

from ..progress import report_progress
from .kernel_cache import cache_folder, storing

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

#: Numba's settings; Numba creates them from its environment variables when it is imported.
_config: Any = numba.config
#: Held while `kernel` changes the settings.
_changing = threading.Lock()


def kernel(function: Any) -> Any:
    """Decorate a loop that Python calls: compile it to release the GIL, and cache the result.

    Numba reads the setting of its cache folder only while it decorates, so the setting is restored
    at once and does not affect functions of other packages.
    """
    if folder := cache_folder():
        with _changing, contextlib.suppress(RuntimeError):  # raised if it cannot be written
            chosen, _config.CACHE_DIR = _config.CACHE_DIR, str(folder)
            try:
                compiled = njit(cache=True, nogil=True, **_OPTIONS)(function)
            finally:
                _config.CACHE_DIR = chosen
            # If the disk is full, Numba may choose another folder, such as that of the source.
            if Path(compiled.stats.cache_path).is_relative_to(folder):
                return compiled
    return njit(nogil=True, **_OPTIONS)(function)


class _Compiling(event.Listener):
    """Reports that Numba compiles a kernel, and lets one process at a time store the result.

    Numba numbers the stored versions of a kernel by an index, which it reads and writes without a
    lock: two processes could give one number to two versions, and later ones would load the code of
    other types. Numba stores a version after it has compiled it and before it releases its own lock
    of the compiler, so this thread holds a lock of the folder from the one to the other.
    """

    def __init__(self) -> None:
        self._thread = _ThreadState()

    def on_start(self, event: Any) -> None:
        """Report a kernel to the listener of the calling thread, or count Numba's lock."""
        if event.kind == _COMPILER_LOCK:
            self._thread.depth += 1
        elif _is_kernel(event):
            report_progress("compiling kernels, once", 0, 0)

    def on_end(self, event: Any) -> None:
        """Lock the folder if a kernel is compiled, and unlock it if it is stored."""
        thread = self._thread
        if event.kind == _COMPILER_LOCK:
            thread.depth -= 1
            if thread.depth < thread.stored_at:
                thread.stored_at = 0
                thread.lock.close()
        elif _is_kernel(event):
            thread.stored_at = thread.depth
            thread.lock.enter_context(storing())


class _ThreadState(threading.local):
    """How often a thread holds Numba's lock, where it stores a kernel, and the folder's lock."""

    depth = 0
    #: The depth at which Numba stores a kernel, which may be compiled within another; else 0.
    stored_at = 0

    def __init__(self) -> None:
        self.lock = contextlib.ExitStack()


def _is_kernel(compilation: Any) -> bool:
    """Return whether Numba compiles a function of this package."""
    module = compilation.data["dispatcher"].py_func.__module__ or ""  # None in code from `exec`
    return bool(module.partition(".")[0] == __name__.partition(".")[0])


_COMPILER_LOCK = "numba:compiler_lock"
_register: Any = event.register  # has no types
_listener = _Compiling()
for _kind in ("numba:compile", _COMPILER_LOCK):
    _register(_kind, _listener)


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
