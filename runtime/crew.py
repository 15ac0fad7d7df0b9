"""Threads that run kernels together, and wait in machine code, without the GIL, between them."""

from __future__ import annotations

import contextlib
import ctypes
import platform
import sys
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from .native import Kernels, address_of, call_block

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

#: The number of the system call by which threads sleep; 0 if crews cannot be used.
FUTEX = {"x86_64": 202, "aarch64": 98}.get(platform.machine(), 0) * (sys.platform == "linux")
#: How often an idle thread looks for work before it sleeps: for one to four milliseconds, which is
#: longer than a run works in one thread. Waking a thread takes about as long as 50 hand-overs.
_LOOKS = 2**16
#: The number of 64-bit words in a cache line.
_LINE = 8

_sections = Kernels(f"{__package__}.sections")


class Crew:
    """The calling thread and `size` - 1 other threads, or fewer if the system allows no more.

    Parameters
    ----------
    size : int
        The number of threads.
    looks : bool
        Whether idle threads look for work for a short time before they sleep. It pays if there is a
        processor for each thread.

    Notes
    -----
    The threads are daemons. At exit they sleep in a system call, or look for work in memory that
    is never freed.
    """

    def __init__(self, size: int, looks: bool) -> None:
        board = np.zeros(size * _LINE, np.uint64)
        _sections.serve(0, board)  # returns at once; errors of compiling are raised here
        syscall = ctypes.cast(ctypes.CDLL(None).syscall, ctypes.c_void_p).value or 0
        board[3:6] = _LOOKS * looks, syscall, FUTEX
        self._board, self._size = board, 1
        table = np.zeros((0, 3), np.uint64)
        function, words, _ = _sections.run_sections.lowered((board, table))  # type: ignore[attr-defined]
        self._call = function.block(words)
        with contextlib.suppress(RuntimeError):
            for place in range(1, size):
                run, name = _sections.serve, f"mstflow-{place}"
                threading.Thread(None, run, name, (place, board), daemon=True).start()
                self._size += 1

    def run(self, sections: Sequence[NDArray[Any]]) -> bool:
        """Call the functions of all blocks of each section, one section after another.

        If a function raises an exception, later sections do not begin. Return False, without a
        call, if a section has too many blocks.
        """
        if max(map(len, sections)) > self._size:
            return False
        rows = [(len(blocks), address_of(blocks), blocks.strides[0]) for blocks in sections]
        table = np.array(rows, np.uint64)
        self._call[-3:-1] = address_of(table), len(table)
        call_block(ctypes.addressof(self._call))
        return True
