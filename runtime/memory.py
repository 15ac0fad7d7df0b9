"""A pool that reuses the memory of freed arrays, because the first write to a page takes long.

The pool is one range of addresses. An array gets the lowest free addresses that are large enough;
small arrays, and arrays that do not fit, come from NumPy.

The first run of a process returns all memory to the system. Later runs only offer it: the next run
reuses the pages that the system has not taken, and tools show them as memory of this process.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .host import addresses_are_limited
from .sizes import sizes

#: Blocks are whole huge pages: writing to 4 kB of new memory takes as long as writing to 50 kB of a
#: new huge page.
PAGE = 2**21


class Pool:
    """The free blocks of a range of `size` bytes, and the number of blocks in use.

    Linux provides the memory of the range page by page, on the first write.
    """

    def __init__(self, size: int = 2**32) -> None:
        self.size = size
        self.lock = threading.Lock()
        self.returned: deque[tuple[int, int]] = deque()  # not in `free` yet; see `collect`
        self.mapping: Any = None
        self.free: list[tuple[int, int]] = []  # start and stop; ascending, never adjacent
        self.leases = 0  # blocks in use
        self.open_runs = self.num_runs = 0
        self.kept = 0  # the lowest addresses, whose free pages stay between runs

    def take(self, size: int) -> _Lease | None:
        """Return a block at the lowest address; None if there is none of this size."""
        lease = None
        with self.lock:
            self._free_returned()
            if self.mapping is None:
                self.mapping, self.free = _mapped(self.size)
            for place, (start, stop) in enumerate(self.free):
                if stop - start >= size:
                    self.free[place : place + 1] = _joined([(start + size, stop)])
                    self.leases += 1
                    lease = _Lease(self, self.mapping, start, start + size)
                    break
        self.collect()
        return lease

    @contextlib.contextmanager
    def keeping_blocks(self, for_next: bool = True, most: int | None = None) -> Iterator[None]:
        """Return a context of a run, in which free blocks keep their pages.

        At the end of the outermost run, the pages are returned to the system. With `for_next`, up
        to `most` bytes are only offered, so that the next run may reuse them.
        """
        with self.lock:
            self._free_returned()
            if not self.open_runs:
                self.num_runs += 1
                keeps = for_next and self.num_runs > 1 and hasattr(mmap, "MADV_FREE")
                most = self.size + PAGE if most is None else most
                self.kept = most // PAGE * PAGE if keeps else 0
            self.open_runs += 1
        self.collect()
        try:
            yield
        finally:
            with self.lock:
                self._free_returned()
                self.open_runs -= 1
                if not self.open_runs:
                    self._give_to_system(self.free, self.kept)
            self.collect()

    def trim(self) -> None:
        """Return the pages of all free blocks to the system."""
        with self.lock:
            self._free_returned()
            self._give_to_system(self.free, kept=0)
        self.collect()

    def collect(self) -> None:
        """Free the returned blocks, unless the lock is held: then its holder frees them.

        The holder may be this thread: the garbage collector returns blocks at any time. Only `with`
        takes the lock; an interrupt between taking it and a `try` would keep it for good.
        """
        while self.returned and not self.lock.locked():
            with self.lock:
                self._free_returned()

    def _free_returned(self) -> None:
        while self.returned:
            block = self.returned.popleft()
            self.leases -= 1
            self.free = _joined([*self.free, block])
            if not self.open_runs:
                self._give_to_system([block], self.kept)

    def _give_to_system(self, blocks: list[tuple[int, int]], kept: int) -> None:
        """Offer the pages of blocks below the address `kept`, and return all others.

        Unmap the whole range if nothing needs it.
        """
        for start, stop in blocks:
            middle = min(max(start, kept), stop)
            if start < middle:
                self._advise(mmap.MADV_FREE, start, middle)
            if middle < stop:
                self._advise(mmap.MADV_DONTNEED, middle, stop)
        if not (self.leases or self.kept):
            self.mapping, self.free = None, []

    def _advise(self, advice: int, start: int, stop: int) -> None:
        with contextlib.suppress(OSError):
            self.mapping.madvise(advice, start, stop - start)


class _Lease:
    """A block in use. It returns to the pool when no NumPy array uses it."""

    def __init__(self, pool: Pool, mapping: Any, start: int, stop: int) -> None:
        self._pool, self._block = pool, (start, stop)
        self.__array_interface__ = np.frombuffer(mapping, "u1")[start:stop].__array_interface__

    def __del__(self, is_ending: Callable[[], bool] = sys.is_finalizing) -> None:
        if not is_ending():  # at exit, globals may be gone
            self._pool.returned.append(self._block)
            self._pool.collect()


def _joined(blocks: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return blocks in ascending order, without empty ones; adjacent ones become one block."""
    merged: list[tuple[int, int]] = []
    for start, stop in sorted(blocks):
        if merged and merged[-1][1] == start:
            merged[-1] = merged[-1][0], stop
        elif start < stop:
            merged.append((start, stop))
    return merged


def _mapped(size: int) -> tuple[Any, list[tuple[int, int]]]:
    """Map a range, and return it with its free block; nothing if the system limits addresses."""
    if not hasattr(mmap, "MADV_DONTNEED") or addresses_are_limited():
        return None, []
    try:
        mapping = mmap.mmap(-1, size + PAGE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except (OSError, OverflowError):  # the system has fewer addresses
        return None, []
    with contextlib.suppress(OSError, AttributeError):  # the system may have no huge pages
        mapping.madvise(mmap.MADV_HUGEPAGE)
    start = -np.frombuffer(mapping, "u1").ctypes.data % PAGE
    return mapping, [(start, start + size)]


#: The pool of this process.
_pool = Pool()
if hasattr(os, "register_at_fork"):  # in a child, a lock of another thread is never released
    _unlock = _pool.lock.release
    os.register_at_fork(before=_pool.lock.acquire, after_in_parent=_unlock, after_in_child=_unlock)


def pool() -> Pool:
    """Return the pool from which `empty` takes memory."""
    return _pool


def empty(length: int, dtype: DTypeLike) -> NDArray[Any]:
    """Return an uninitialised one-dimensional array, from the pool if it is large."""
    dtype = np.dtype(dtype)
    size = length * dtype.itemsize
    lease = _pool.take(-(-size // PAGE) * PAGE) if size >= sizes().smallest_block else None
    return np.empty(length, dtype) if lease is None else np.asarray(lease)[:size].view(dtype)


def keeping_blocks(
    for_next: bool = True, most: int | None = None
) -> contextlib.AbstractContextManager[None]:
    """Return `Pool.keeping_blocks` of the pool of this process."""
    return _pool.keeping_blocks(for_next, most)
