"""A team of threads that share the work of one call: equal shares of a range, in order."""

from __future__ import annotations

import functools
import operator
import os
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

#: Elements below which a share is not worth waking a thread for, and a pass of NumPy's is not.
_SMALLEST_SHARE, _SMALLEST_PASS = 2**16, 2**19


class Team:
    """The calling thread and `size` - 1 others, started when first needed.

    The functions it runs release the GIL, or gain nothing by it.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._others: ThreadPoolExecutor | None = None
        if hasattr(os, "register_at_fork"):  # threads do not survive a fork
            os.register_at_fork(after_in_child=self._forget)

    def shares(self, length: int) -> list[tuple[int, int]]:
        """Return ranges, at most one for each thread, that cover 0 to `length` in order."""
        count = max(1, min(self.size, length // _SMALLEST_SHARE))
        return [(length * i // count, length * (i + 1) // count) for i in range(count)]

    def call(self, function: Callable[..., Any], arguments: Iterable[tuple[Any, ...]]) -> list[Any]:
        """Call `function` on each tuple of arguments at once, and return the results in order."""
        own, *others = arguments
        if not others:
            return [function(*own)]
        if self._others is None:
            self._others = ThreadPoolExecutor(self.size - 1, "mstflow")
        tasks: list[Future[Any]] = []
        try:
            for other in others:
                tasks += [self._others.submit(function, *other)]
            result = function(*own)
        finally:  # they may still write to what the caller lent them
            for task in tasks:
                task.exception()  # which waits, in half the time of `concurrent.futures.wait`
        return [result, *(task.result() for task in tasks)]

    def share(self, function: Callable[..., Any], length: int, *arguments: Any) -> list[Any]:
        """Call ``function(start, stop, *arguments)`` on every share of `length` elements."""
        return self.call(function, [(*share, *arguments) for share in self.shares(length)])

    def _forget(self) -> None:
        self._others = None


@functools.cache
def team(size: int) -> Team:
    """Return the one team of that size in this process."""
    return Team(size)


#: How many threads look for an `extreme`: one where it was not said how many a call may take.
_sharing = ContextVar("sharing", default=1)


@contextmanager
def sharing(threads: int) -> Iterator[None]:
    """Let so many threads look for an `extreme` meanwhile."""
    token = _sharing.set(threads)
    try:
        yield
    finally:
        _sharing.reset(token)


def extreme(op: Literal["min", "max"], array: NDArray[Any]) -> Any:
    """Return the minimum or maximum of an array that is not empty, NaN if any element is."""
    reduce = operator.methodcaller(op)
    if len(array) < _SMALLEST_PASS or not isinstance(array, np.ndarray):  # or it is on a GPU
        return reduce(array)
    helpers = team(_sharing.get())
    parts = [(array[start:stop],) for start, stop in helpers.shares(len(array))]
    return reduce(np.stack(helpers.call(reduce, parts)))


def processors() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def kernel_threads() -> int:
    """Return the default number of threads of a kernel.

    OMP_NUM_THREADS limits it; Dask's workers set it to 1.
    """
    allowed = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(processors(), int(allowed))) if allowed.isdigit() else processors()
