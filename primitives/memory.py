"""Memory that is handed on: an array that goes leaves its pages to the next one.

The first touch of fresh memory costs several times what writing to it does, and a run makes and
drops an array for every step. Blocks that go are kept while any other is in use, so that a run
takes its peak from the system once; when the last has gone, all are given back.
"""

from __future__ import annotations

import bisect
import contextlib
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import DTypeLike, NDArray

#: Smaller arrays are left to NumPy, which keeps their memory itself.
_SMALLEST = 2**16
#: Blocks are no smaller: from here on NumPy asks for huge pages, so first touches are fewer.
_BLOCK = 2**22

_lock = threading.RLock()  # a collection of garbage may return a block in the middle of a lease
_idle: list[NDArray[np.uint8]] = []  # by size
_leases = 0


class _Lease:
    """A block in use: the owner of the arrays that look at it."""

    def __init__(self, size: int) -> None:
        global _leases
        with _lock:
            position = bisect.bisect_left(_idle, size, key=len)
            if position < len(_idle):
                self._block = _idle.pop(position)
            else:
                # The largest makes room for this one: what is kept does not grow with every size.
                del _idle[-1:]
                self._block = np.empty(max(size, _BLOCK), np.uint8)
            _leases += 1
        self.__array_interface__ = self._block.__array_interface__

    def __del__(self) -> None:
        global _leases
        with _lock:
            _leases -= 1
            if _leases:
                bisect.insort(_idle, self._block, key=len)
            else:
                _idle.clear()


def empty(length: int, dtype: DTypeLike) -> NDArray[Any]:
    """Return an array of unspecified values."""
    dtype = np.dtype(dtype)
    size = length * dtype.itemsize
    if size < _SMALLEST:
        return np.empty(length, dtype)
    return np.asarray(_Lease(size))[:size].view(dtype)


@contextlib.contextmanager
def kept() -> Iterator[None]:
    """Keep blocks that go for those to come, also while none is in use."""
    lease = _Lease(1)
    yield
    del lease


def copied(values: NDArray[Any]) -> NDArray[Any]:
    """Return a copy in memory that is handed on."""
    copy = empty(len(values), values.dtype)
    copy[:] = values
    return copy
