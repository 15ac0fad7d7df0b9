"""Teams of threads that divide the range of one call into equal shares."""

from __future__ import annotations

import functools
import operator
import os
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from .crew import FUTEX, Crew
from .native import HEADER, NativeKernel, call_block

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import DTypeLike, NDArray

    from .native import Function

#: The smallest number of elements for which waking a thread pays: in a share of a kernel, and in a
#: NumPy reduction.
_SMALLEST_SHARE, _SMALLEST_PASS = 2**16, 2**19
#: The number of threads from which a team has a crew. On two processors, solves with a pool are at
#: least as fast, and with a crew some take up to 15 % longer.
_CREW_FROM = 4


class Each(NamedTuple):
    """An argument that differs between shares: share i gets ``values[i]``, an integer or a row."""

    values: Sequence[int] | NDArray[Any]


class Team:
    """The calling thread and `size` - 1 worker threads, which start on first use.

    Only functions that release the GIL run faster on a team.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._has_crew = bool(FUTEX) and size >= _CREW_FROM
        self._others: ThreadPoolExecutor | None
        self._crew: Crew | None
        self._is_claimed: threading.Lock
        self._forget()
        if hasattr(os, "register_at_fork"):  # threads do not survive a fork
            os.register_at_fork(after_in_child=self._forget)

    def shares(self, length: int, each: int = 1) -> list[tuple[int, int]]:
        """Divide the range up to `length` into consecutive shares, at most one per thread.

        If each place of the range stands for several elements, `each` is their number.
        """
        return divide(length, max(1, min(self.size, length * each // _SMALLEST_SHARE, length)))

    def share(
        self, function: Callable[..., Any], length: int, *arguments: Any, each: int = 1
    ) -> list[Any]:
        """Call ``function(start, stop, *arguments)`` on each share of the range up to `length`."""
        starts, stops = zip(*self.shares(length, each), strict=True)
        return self.run(function, len(starts), Each(starts), Each(stops), *arguments)

    def run(self, function: Callable[..., Any], count: int, *arguments: Any) -> list[Any]:
        """Call a function `count` times concurrently; return the results in order.

        Arguments of type `Each` differ between the calls. If calls fail, the exception of the first
        failed call propagates after all calls have ended.
        """
        if count == 1 or not (self._has_crew and isinstance(function, NativeKernel)):
            return self.call(function, [_of_share(i, arguments) for i in range(count)])
        own = _of_share(0, arguments)
        compiled, words = function.lowered(own)
        blocks, column = np.tile(compiled.block(words), (count, 1)), HEADER
        for argument, value in zip(arguments, own, strict=True):
            if isinstance(argument, Each) and isinstance(value, np.ndarray):
                rows: Any = argument.values
                blocks[:, column] += np.arange(count) * rows.strides[0]
            elif isinstance(argument, Each):
                blocks[:, column] = argument.values
            column += 1 + getattr(value, "ndim", 0)
        return self._run_blocks([compiled] * count, blocks)

    def together(self, *calls: tuple[Callable[..., Any], tuple[Any, ...]]) -> list[Any]:
        """Call different functions with their arguments concurrently, as `run` does."""
        lowered = [
            function.lowered(arguments)
            for function, arguments in calls
            if self._has_crew and isinstance(function, NativeKernel)
        ]
        if not 1 < len(lowered) == len(calls):
            return self.call(lambda function, arguments: function(*arguments), calls)
        blocks = np.zeros((len(calls), HEADER + max(len(words) for _, words in lowered)), np.int64)
        for block, (function, words) in zip(blocks, lowered, strict=True):
            block[: HEADER + len(words)] = function.block(words)
        return self._run_blocks([function for function, _ in lowered], blocks)

    def drain(self, function: Callable[..., Any], count: int, *arguments: Any) -> None:
        """Call a function that takes tasks from a common queue until it is empty, as `run` does."""
        self.run(function, count, *arguments)

    def call(self, function: Callable[..., Any], arguments: Iterable[tuple[Any, ...]]) -> list[Any]:
        """Call `function` on all tuples of arguments concurrently; return the results in order.

        If calls fail, the exception of the first failed call propagates after all calls have ended.
        """
        own, *others = arguments
        if not others or self.size == 1:
            return [function(*each) for each in (own, *others)]
        if self._others is None:
            self._others = ThreadPoolExecutor(self.size - 1, "mstflow")
        tasks: list[Future[Any]] = []
        try:
            for other in others:
                tasks += [self._others.submit(function, *other)]
            result = function(*own)
        finally:  # calls may write to the arguments until they end
            for task in tasks:
                task.exception()  # waits; takes half the time of `concurrent.futures.wait`
        return [result, *(task.result() for task in tasks)]

    def _run_blocks(self, functions: Sequence[Function], blocks: NDArray[Any]) -> list[Any]:
        """Call the functions of all blocks concurrently; return their results."""
        self._run_section(blocks)
        results = blocks[:, 1:4].tolist()
        return [function.result(*each) for function, each in zip(functions, results, strict=True)]

    def _run_section(self, blocks: NDArray[Any]) -> None:
        """Run all blocks; alone if another caller uses the threads."""
        if not self._is_claimed.locked():
            with self._is_claimed:  # an interrupt between two statements would keep the lock
                if self._crew is None:
                    self._crew = Crew(self.size, looks=self.size <= processors())
                if self._crew.run(blocks):
                    return
        for block in blocks:
            call_block(block.ctypes.data)

    def _forget(self) -> None:
        self._others = self._crew = None
        self._is_claimed = threading.Lock()


def divide(length: int, count: int) -> list[tuple[int, int]]:
    """Divide the range up to `length` into `count` consecutive ranges."""
    return [(length * i // count, length * (i + 1) // count) for i in range(count)]


def _of_share(place: int, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arguments of one share."""
    return tuple(each.values[place] if isinstance(each, Each) else each for each in arguments)


@functools.cache
def team(size: int) -> Team:
    """Return this process's team of this size."""
    return Team(size)


#: The number of threads that `extreme` and `in_shares` use; see `sharing`.
_sharing = ContextVar("sharing", default=1)


@contextmanager
def sharing(threads: int) -> Iterator[None]:
    """Return a context in which these functions use this number of threads instead of one."""
    token = _sharing.set(threads)
    try:
        yield
    finally:
        _sharing.reset(token)


def in_shares(function: Callable[[int, int], Any], length: int) -> list[Any]:
    """Call ``function(start, stop)`` on each share of a range, on the threads of `sharing`."""
    return team(_sharing.get()).share(function, length)


def extreme(op: Literal["min", "max"], array: NDArray[Any]) -> Any:
    """Return the minimum or maximum of a nonempty array; NaN if it contains NaN."""
    reduce = operator.methodcaller(op)
    if len(array) < _SMALLEST_PASS or not isinstance(array, np.ndarray):  # as CuPy's are
        return reduce(array)
    helpers = team(_sharing.get())
    parts = [(array[start:stop],) for start, stop in helpers.shares(len(array))]
    return reduce(np.stack(helpers.call(reduce, parts)))


def ascends(array: NDArray[Any]) -> bool:
    """Return whether each element is less than the next one."""
    if len(array) < _SMALLEST_PASS or not isinstance(array, np.ndarray):  # as CuPy's are
        return bool((array[:-1] < array[1:]).all())

    def ascends_within(start: int, stop: int) -> bool:
        return bool((array[start:stop] < array[start + 1 : stop + 1]).all())

    return all(in_shares(ascends_within, max(0, len(array) - 1)))


def copied(array: NDArray[Any], dtype: DTypeLike) -> NDArray[Any]:
    """Return a copy with another dtype."""
    if len(array) < _SMALLEST_PASS or not isinstance(array, np.ndarray):
        return array.astype(dtype)
    out = np.empty(len(array), dtype)

    def copy(start: int, stop: int) -> None:
        out[start:stop] = array[start:stop]

    in_shares(copy, len(array))
    return out


def processors() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def kernel_threads() -> int:
    """Return the default number of threads of a kernel.

    The environment variable OMP_NUM_THREADS limits it. Dask's workers set this variable to 1.
    """
    allowed = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(processors(), int(allowed))) if allowed.isdigit() else processors()
