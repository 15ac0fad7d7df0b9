"""Memory that is handed on: an array that goes leaves its pages to the next one.

The first touch of fresh memory costs several times what writing to it does, and a run makes and
drops an array for every step. Blocks that go are kept while any other is in use, so that a run
takes its peak from the system once; when the last has gone, all are given back.
"""

from __future__ import annotations

import bisect
import contextlib
import mmap
import sys
import threading
from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import DTypeLike, NDArray

#: Smaller arrays are left to NumPy, which keeps their memory itself.
_SMALLEST = 2**20
#: Blocks are whole huge pages, and begin where one does: the ends of others would get small pages,
#: of which each first touch takes as long as that of 50 kB of a huge one.
_PAGE = 2**21


class _Pool:
    """Blocks in use, and idle ones that are kept for those to come."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.returned: deque[tuple[NDArray[np.uint8], int]] = deque()
        self.idle: list[NDArray[np.uint8]] = []  # by size
        self.leases = 0
        self.used = self.most = self.held = 0  # bytes now in use, at most, and with idle blocks

    def take(self, size: int) -> NDArray[np.uint8]:
        with self.lock:
            self._take_back()
            most = max(self.most, self.used + size)
            position = bisect.bisect_left(self.idle, size, key=len)
            if position < len(self.idle) and len(self.idle[position]) <= 2 * size:
                block = self.idle.pop(position)
            else:
                self._trim(most - size)  # no more is held than was in use at once
                block = _mapped(size)
                self.held += size
            self.leases, self.used, self.most = self.leases + 1, self.used + size, most
        self._settle()
        return block

    def give_back(self, block: NDArray[np.uint8], size: int) -> None:
        """Return a block: at any time, since a collection of garbage may do so within `take`."""
        self.returned.append((block, size))
        self._settle()

    def clear(self) -> None:
        """Let all idle blocks go."""
        with self.lock:
            self._take_back()
            self._trim(0)
        self._settle()

    def _settle(self) -> None:
        """Take back what is returned, or leave it to the one who has the lock, who does so next."""
        while self.returned and self.lock.acquire(blocking=False):
            try:
                self._take_back()
            finally:
                self.lock.release()

    def _take_back(self) -> None:
        while self.returned:
            block, size = self.returned.popleft()
            self.leases -= 1
            self.used -= size
            bisect.insort(self.idle, block, key=len)
        if not self.leases:
            self.most = 0
            self._trim(0)

    def _trim(self, size: int) -> None:
        """Let idle blocks go until no more than so many bytes are held."""
        while self.idle and self.held > size:
            self.held -= len(self.idle.pop())


def _mapped(size: int) -> NDArray[np.uint8]:
    """Return memory that the system has back when it goes: NumPy's allocator may keep it.

    Raises
    ------
    MemoryError
        If there is no more.
    """
    if not hasattr(mmap, "MAP_ANONYMOUS"):  # Windows
        return np.empty(size, np.uint8)
    try:
        block = mmap.mmap(-1, size + _PAGE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as error:
        message = f"{size:,} bytes: {error.strerror}"
        raise MemoryError(message) from error
    if hasattr(mmap, "MADV_HUGEPAGE"):
        block.madvise(mmap.MADV_HUGEPAGE)  # first touches are fewer
    pages = np.frombuffer(block, np.uint8)
    start = -pages.ctypes.data % _PAGE  # what lies before and after is never touched
    return pages[start : start + size]


_pool = _Pool()


class _Lease:
    """A block in use: the owner of the arrays that look at it."""

    def __init__(self, block: NDArray[np.uint8], size: int) -> None:
        self._block, self._size = block, size
        self.__array_interface__ = self._block.__array_interface__

    def __del__(self, is_ending: Callable[[], bool] = sys.is_finalizing) -> None:
        if not is_ending():  # or names are gone
            _pool.give_back(self._block, self._size)


def _lease(size: int) -> _Lease:
    size = -(-size // _PAGE) * _PAGE
    return _Lease(_pool.take(size), size)


def empty(length: int, dtype: DTypeLike) -> NDArray[Any]:
    """Return an array of unspecified values."""
    dtype = np.dtype(dtype)
    size = length * dtype.itemsize
    if size < _SMALLEST:
        return np.empty(length, dtype)
    return np.asarray(_lease(size))[:size].view(dtype)


@contextlib.contextmanager
def keeping_blocks() -> Iterator[None]:
    """Keep blocks that go for those to come, also while none is in use; none afterwards."""
    lease = _lease(1)
    yield
    del lease
    _pool.clear()
