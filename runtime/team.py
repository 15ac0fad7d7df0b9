"""Teams of threads that divide a range into equal shares."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .host import processors
from .sizes import sizes


class Each(NamedTuple):
    """An argument that differs between calls: call i gets ``values[i]``."""

    values: Sequence[Any] | NDArray[Any]


class Team:
    """The calling thread and `size` - 1 worker threads, which start on first use.

    Only functions that release the GIL run faster on a team.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._others: ThreadPoolExecutor | None
        self._forget()
        if hasattr(os, "register_at_fork"):  # threads do not survive a fork
            os.register_at_fork(after_in_child=self._forget)

    def shares(self, length: int, per_place: int = 1) -> list[tuple[int, int]]:
        """Divide the range up to `length` into consecutive shares, at most one per thread.

        If each place of the range stands for several elements, `per_place` is their number.
        """
        most = min(self.size, length, length * per_place // sizes().smallest_share)
        return divide(length, max(1, most))

    def share(
        self, function: Callable[..., Any], length: int, *arguments: Any, per_place: int = 1
    ) -> list[Any]:
        """Call ``function(start, stop, *arguments)`` on each share of the range up to `length`.

        Arguments of type `Each` differ between the calls.
        """
        shares = self.shares(length, per_place)
        if len(shares) == 1:
            return [function(0, length, *_arguments_of(0, arguments))]
        return self.call(
            function, [(*share, *_arguments_of(i, arguments)) for i, share in enumerate(shares)]
        )

    def run(self, function: Callable[..., Any], count: int, *arguments: Any) -> list[Any]:
        """Call a function `count` times concurrently; arguments of type `Each` differ."""
        return self.call(function, [_arguments_of(i, arguments) for i in range(count)])

    def call(self, function: Callable[..., Any], arguments: Iterable[tuple[Any, ...]]) -> list[Any]:
        """Call `function` on all tuples of arguments concurrently; return the results in order.

        If calls fail, the exception of the first failed call propagates after all calls that have
        begun have ended. A call that no thread has begun runs in this thread, so a call may use the
        same team.
        """
        first, *others = arguments
        if not others or self.size == 1:
            return [function(*given) for given in (first, *others)]
        if self._others is None:
            self._others = ThreadPoolExecutor(self.size - 1, "mstflow")
        tasks: list[Future[Any]] = []
        results: list[Any] = []
        try:
            for other in others:
                tasks += [self._others.submit(function, *other)]
        finally:
            try:
                results = [
                    function(*first)
                ]  # also if no thread starts: others may wait for its end
            finally:  # calls may write to the arguments until they end
                waiting = [task for task in tasks if not task.cancel()]
                for task in waiting:
                    task.exception()  # waits; takes half the time of `concurrent.futures.wait`
        for task, other in zip(tasks, others, strict=True):
            results.append(function(*other) if task.cancelled() else task.result())
        return results

    def _forget(self) -> None:
        self._others = None


def divide(length: int, count: int) -> list[tuple[int, int]]:
    """Divide the range up to `length` into `count` consecutive ranges."""
    return [(length * i // count, length * (i + 1) // count) for i in range(count)]


def _arguments_of(call: int, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arguments of the call with this number."""
    return tuple(
        argument.values[call] if type(argument) is Each else argument for argument in arguments
    )


@functools.cache
def team(size: int) -> Team:
    """Return this process's team of this size."""
    return Team(size)


_sharing = ContextVar("sharing", default=1)


@contextmanager
def sharing(threads: int) -> Iterator[None]:
    """Return a context in which `survey`, `copied` and `in_shares` use this number of threads."""
    token = _sharing.set(threads)
    try:
        yield
    finally:
        _sharing.reset(token)


def in_shares(function: Callable[[int, int], Any], length: int, per_place: int = 1) -> list[Any]:
    """Call ``function(start, stop)`` on each share of a range, on the threads of `sharing`.

    If each place of the range stands for several elements, `per_place` is their number.
    """
    return team(_sharing.get()).share(function, length, per_place=per_place)


class Survey(NamedTuple):
    """Facts about the columns of a graph."""

    #: The largest id of each column, where ids are viewed as unsigned; -1 without edges.
    u: int
    v: int
    has_nan: bool
    #: Whether any weight may have its sign bit set.
    may_be_signed: bool


def survey(u: NDArray[Any], v: NDArray[Any], weight: NDArray[Any]) -> Survey:
    """Survey columns of equal length."""
    if len(weight) and not weight.strides[0]:
        weight = weight[:1]  # all weights are equal
    kind = weight.dtype.kind
    has_nan = kind == "f" and bool(np.isnan(_largest(weight)))
    top_u, top_v = (int(_largest(ids.view(f"u{ids.itemsize}"))) for ids in (u, v))
    return Survey(top_u, top_v, has_nan, kind not in "bu")


def _largest(array: NDArray[Any]) -> Any:
    """Return the largest element, NaN if any is NaN; -1 if the array is empty."""
    if not len(array):
        return -1
    if len(array) < 2 * sizes().smallest_share or not isinstance(array, np.ndarray):
        return array.max()  # also on a device
    return np.max(in_shares(lambda start, stop: array[start:stop].max(), len(array)))


def copied(array: NDArray[Any], dtype: DTypeLike) -> tuple[NDArray[Any], bool]:
    """Return a copy with another dtype, and whether each element is less than the next one."""
    if not isinstance(array, np.ndarray):  # on a device
        return array.astype(dtype), bool((array[:-1] < array[1:]).all())
    out = np.empty(len(array), dtype)

    def copy(start: int, stop: int) -> bool:
        out[start:stop] = array[start:stop]
        return bool((array[start : stop - 1] < array[start + 1 : stop]).all()) and (
            start == 0 or bool(array[start - 1] < array[start])
        )

    return out, all(in_shares(copy, len(array)))


def kernel_threads() -> int:
    """Return the default number of threads of a kernel.

    The environment variable OMP_NUM_THREADS limits it. Dask's workers set this variable to 1.
    """
    allowed = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(processors(), int(allowed))) if allowed.isdigit() else processors()
