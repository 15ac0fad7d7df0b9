"""A pool that reuses the memory of freed arrays.

The first write to a new page takes several times as long as a later write, and a run creates and
frees arrays at every step. The pool keeps freed blocks, joins adjacent ones, and splits them for
smaller arrays. So a run gets little more than its peak memory from the system. An array gets the
lowest addresses at which it fits, so arrays of a repeated run have the same pages as before.

After the first run of a process, all memory is returned to the system. A process that runs again
may do so often: after later runs for graphs in memory, idle blocks are offered to the system. It
takes their pages when it is short of memory. Until then, the next run reuses them, and tools show
them as memory of this process.
"""

from __future__ import annotations

import bisect
import contextlib
import mmap
import os
import sys
import threading
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .host import addresses_are_limited

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import DTypeLike, NDArray

#: Smaller arrays come from NumPy's allocator, which also reuses memory.
_SMALLEST = 2**20
#: Blocks consist of whole, aligned huge pages. Otherwise they would end with small pages, and the
#: first write to a small page takes as long as the first write to 50 kB of a huge page.
_PAGE = 2**21
#: The pool maps this many bytes at once, because only adjacent blocks of one mapping can be joined.
#: Linux provides their memory page by page, on the first write.
_RESERVE = 2**32 if hasattr(mmap, "MADV_HUGEPAGE") else 0
#: A process may call several functions in turn, so idle memory is kept for the largest of this many
#: last runs.
_LAST_RUNS = 4
#: Whether the system can take pages later, when it is short of memory.
_OFFERS = hasattr(mmap, "MADV_FREE")


class _Block(NamedTuple):
    """A range of a mapping."""

    mapping: Any
    start: int
    size: int

    def array(self) -> NDArray[np.uint8]:
        """Return the bytes as an array."""
        return np.frombuffer(self.mapping, np.uint8, self.size, self.start)

    def split(self, size: int) -> tuple[_Block, _Block]:
        """Return the first `size` bytes, and the others."""
        rest = _Block(self.mapping, self.start + size, self.size - size)
        return self._replace(size=size), rest

    def address(self) -> tuple[int, int]:
        """Return a key of which the order is that of addresses within each mapping."""
        return id(self.mapping), self.start

    def precedes(self, other: _Block) -> bool:
        """Return whether another block begins where this one ends."""
        return self.mapping is other.mapping and self.start + self.size == other.start

    def joined(self, other: _Block) -> _Block:
        """Return this block and the next one as one block."""
        return self._replace(size=self.size + other.size)

    def offer(self) -> None:
        """Let the system take the pages, with their contents, when it is short of memory."""
        try:
            self.mapping.madvise(mmap.MADV_FREE, self.start, self.size)
        except OSError:  # an old or emulated system
            self.release()

    def release(self) -> None:
        """Return whole pages to the system; other parts of the mapping may be in use."""
        if hasattr(mmap, "MADV_DONTNEED"):
            with contextlib.suppress(OSError):
                self.mapping.madvise(mmap.MADV_DONTNEED, self.start, self.size)


def _add(blocks: list[_Block], block: _Block) -> None:
    """Insert a block, unless it is empty, into a list by address; join it to adjacent ones."""
    if not block.size:
        return
    place = bisect.bisect_left(blocks, block.address(), key=_Block.address)
    if place < len(blocks) and block.precedes(blocks[place]):
        block = block.joined(blocks.pop(place))
    if place and blocks[place - 1].precedes(block):
        place -= 1
        block = blocks.pop(place).joined(block)
    blocks.insert(place, block)


def _taken(blocks: list[_Block], size: int) -> _Block | None:
    """Remove and return `size` bytes at the lowest address of the list where they fit."""
    for place, block in enumerate(blocks):
        if block.size >= size:
            del blocks[place]
            first, rest = block.split(size)
            _add(blocks, rest)
            return first
    return None


class _Pool:
    """The sizes of the blocks in use, and the idle blocks for reuse."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.returned: deque[_Block] = deque()
        # Both lists ascend by address, and no block of a list is adjacent to another one.
        self.idle: list[_Block] = []
        self.unused: list[_Block] = []  # addresses without pages
        self.reserves = False  # whether addresses are kept that have no pages
        self.leases = self.keepers = self.runs = 0
        self.can_offer = False  # whether idle blocks may stay between runs
        self.reuses = False  # whether those of the present or last run do
        self.used = self.most = self.held = 0  # bytes in use now, at most, and with idle blocks
        self.peaks: deque[int] = deque(maxlen=_LAST_RUNS)

    def take(self, size: int) -> _Block:
        """Return a block of `size` bytes, which are whole pages; reuse idle memory if possible."""
        with self.lock:
            self._take_back()
            most = max(self.most, self.used + size)
            block = _taken(self.idle, size) or self._new(size, most)
            self.leases, self.used, self.most = self.leases + 1, self.used + size, most
        self._settle()
        return block

    def give_back(self, block: _Block) -> None:
        """Return a block.

        The garbage collector may call this at any time, even while this thread is in `take` and
        holds the lock. So the block is first added to a queue.
        """
        self.returned.append(block)
        self._settle()

    def begin(self, for_next: bool = True) -> None:
        """Enter a context in which idle blocks are kept; the outermost one begins a new peak."""
        with self.lock:
            self._take_back()
            if not self.keepers:
                self.most = self.used
                self.runs += 1
                if self.runs == 2:
                    self.can_offer = _OFFERS and not addresses_are_limited()
                self.reuses = self.can_offer and for_next
            self.keepers += 1
        self._settle()

    def end(self) -> None:
        """Leave a context; keep at most what the last ones needed, or nothing, for the next one."""
        with self.lock:
            self._take_back()
            self.keepers -= 1
            if not self.keepers:
                self.peaks.append(self.most)
                self._trim(self._bound(self.most) if self.reuses else 0)
                for block in self.idle:
                    block.offer()
                self._rest()
        self._settle()

    def _new(self, size: int, most: int) -> _Block:
        """Return a block of unused addresses and of the idle block before them.

        Release other blocks beyond the bound for the peak in use (`most`).
        """
        block = _taken(self.unused, size) or self._reserve(size)
        self.held += size
        for place, other in enumerate(self.idle):
            if other.precedes(block):
                block = self.idle.pop(place).joined(block)
                self.held -= other.size
                break
        block, rest = block.split(size)
        _add(self.unused, rest)
        self._trim(self._bound(most))
        return block

    def _bound(self, most: int) -> int:
        """Return how many bytes may be held for a peak of bytes in use.

        Idle blocks between others may be too small for the next array. If runs repeat, the pool
        keeps these blocks too: otherwise each run would return their pages and get new ones.
        """
        return max(most, *self.peaks) * 3 // 2 if self.reuses else most

    def _reserve(self, size: int) -> _Block:
        """Return new memory of `size` bytes; keep more addresses if only memory is limited."""
        if _RESERVE and not addresses_are_limited():
            with contextlib.suppress(MemoryError):
                block, rest = _mapped(max(size, _RESERVE)).split(size)
                _add(self.unused, rest)
                self.reserves = True
                return block
        self.reserves = False
        return _mapped(size)

    def _settle(self) -> None:
        """Process the queue, unless the lock is held: then its holder processes the queue.

        The holder may be this thread. Only `with` takes the lock: an interrupt between taking it
        and a `try` would keep it for good.
        """
        while self.returned and not self.lock.locked():
            with self.lock:
                self._take_back()

    def _take_back(self) -> None:
        """Move the blocks in the queue to the idle blocks; the caller has the lock."""
        while self.returned:
            block = self.returned.popleft()
            self.leases -= 1
            self.used -= block.size
            if self.reuses and not self.keepers:
                block.offer()
            _add(self.idle, block)
        self._rest()

    def _rest(self) -> None:
        """If nothing is in use or kept, return all memory and its addresses to the system."""
        if not (self.leases or self.keepers or self.reuses):
            self._trim(0)
            self.most = 0
            self.unused.clear()

    def _trim(self, size: int) -> None:
        """Return memory of the highest idle blocks until at most `size` bytes are held."""
        while self.idle and self.held > size:
            block = self.idle.pop()
            kept, freed = block.split(max(0, block.size - (self.held - size)))
            freed.release()
            self.held -= freed.size
            _add(self.idle, kept)
            if self.reserves:
                _add(self.unused, freed)


def _mapped(size: int) -> _Block:
    """Return new memory that is returned to the system when it is freed.

    NumPy's allocator might keep freed memory.

    Raises
    ------
    MemoryError
        If the system has not enough memory.
    """
    if not hasattr(mmap, "MAP_ANONYMOUS"):  # Windows
        return _Block(np.empty(size, np.uint8), 0, size)
    try:
        block = mmap.mmap(-1, size + _PAGE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except (OSError, OverflowError) as error:  # a size may have more bits than an address
        message = f"cannot allocate {size:,} bytes: {error.args[-1]}"
        raise MemoryError(message) from error
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with contextlib.suppress(OSError):  # Linux may be built without huge pages
            block.madvise(mmap.MADV_HUGEPAGE)  # fewer page faults
    start = -np.frombuffer(block, np.uint8).ctypes.data % _PAGE  # other pages are never touched
    return _Block(block, start, size)


_pool = _Pool()
if hasattr(os, "register_at_fork"):  # in a child, a lock of another thread is never released
    _release = _pool.lock.release
    os.register_at_fork(
        before=_pool.lock.acquire, after_in_parent=_release, after_in_child=_release
    )


class _Lease:
    """A block in use. It returns to the pool when no NumPy array uses it."""

    def __init__(self, block: _Block) -> None:
        self._block = block
        self.__array_interface__ = block.array().__array_interface__

    def __del__(self, is_ending: Callable[[], bool] = sys.is_finalizing) -> None:
        if not is_ending():  # at exit, globals may be gone
            _pool.give_back(self._block)


def empty(length: int, dtype: DTypeLike) -> NDArray[Any]:
    """Return an uninitialised one-dimensional array, from the pool if it is large.

    Raises
    ------
    MemoryError
        If the system has not enough memory.
    """
    dtype = np.dtype(dtype)
    size = length * dtype.itemsize
    if size < _SMALLEST:
        return np.empty(length, dtype)
    lease = _Lease(_pool.take(-(-size // _PAGE) * _PAGE))
    return np.asarray(lease)[:size].view(dtype)


@contextlib.contextmanager
def keeping_blocks(for_next: bool = True) -> Iterator[None]:
    """Return a context in which the pool keeps freed blocks: a run.

    At its end, idle blocks are returned to the system, or stay `for_next` run.
    """
    _pool.begin(for_next)
    try:
        yield
    finally:
        _pool.end()
