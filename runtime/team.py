"""Teams of threads that divide a range into equal shares."""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import ContextVar
from queue import SimpleQueue
from threading import Lock, Thread, get_ident
from typing import Any, NamedTuple

from numpy.typing import NDArray

from .host import processors
from .sizes import sizes

#: The time for an element of arrays that a kernel only reads or writes in order, compared with an
#: element that it looks up.
STREAMED = 1 / 4


class Each(NamedTuple):
    """An argument that differs between calls: call i gets ``values[i]``."""

    values: Sequence[Any] | NDArray[Any]


class Team:
    """A number of threads that share calls: the calling thread and `size` - 1 workers.

    All teams of a process use the same workers. Only functions that release the GIL run faster on a
    team.
    """

    def __init__(self, size: int) -> None:
        self.size = size

    def shares(self, length: int, per_place: float = 1) -> list[tuple[int, int]]:
        """Divide the range up to `length` into consecutive shares, at most one per thread.

        A place of the range takes as long as `per_place` elements.
        """
        most = min(self.size, length, int(length * per_place / sizes().smallest_share))
        return divide(length, max(1, most))

    def share(
        self, function: Callable[..., Any], length: int, *arguments: Any, per_place: float = 1
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

        Calls begin in order. If calls fail, no further call begins, and the exception of the first
        failed call propagates after all calls that have begun have ended. This thread waits only
        for calls that have begun, so a call may use the same team.
        """
        calls = deque(enumerate(arguments))
        if len(calls) == 1 or self.size == 1:
            return [function(*given) for _, given in calls]
        results: list[Any] = [None] * len(calls)
        errors: dict[int, BaseException] = {}
        working: set[int] = set()  # the workers that may have begun calls
        left: SimpleQueue[None] = SimpleQueue()

        def work() -> None:
            while calls:
                try:
                    place, given = calls.popleft()
                except IndexError:  # another thread was faster
                    return
                try:
                    results[place] = function(*given)
                except BaseException as error:  # also an interrupt: other calls must end first
                    errors[place] = error
                    calls.clear()

        def assist() -> None:
            working.add(get_ident())  # before it takes a call
            work()
            working.remove(get_ident())
            left.put(None)

        def wait() -> None:
            while working:
                left.get()

        try:
            _workers.wake(assist, min(self.size, len(calls)) - 1)
            work()
            wait()
        finally:  # calls may write to the arguments until they end
            calls.clear()
            wait()
        if errors:
            try:
                raise errors[min(errors)]
            finally:
                errors.clear()  # the frames of the traceback refer to it
        return results


class _Workers:
    """The worker threads of this process, which start when a team needs them."""

    def __init__(self) -> None:
        self._forget()
        atexit.register(self._end)
        if hasattr(os, "register_at_fork"):  # threads do not survive a fork
            os.register_at_fork(after_in_child=self._forget)

    def wake(self, work: Callable[[], None], count: int) -> None:
        """Call `work` in up to `count` workers, as soon as they are idle."""
        if len(self._threads) < count:
            self._start(count)
        for _ in range(count):
            self._queue.put(work)

    def _start(self, count: int) -> None:
        """Start threads until there are `count`, or until the system refuses."""
        with self._starting, contextlib.suppress(RuntimeError):
            while len(self._threads) < count:
                name = f"mstflow_{len(self._threads)}"
                thread = Thread(target=_serve, args=(self._queue,), name=name, daemon=True)
                thread.start()
                self._threads.append(thread)

    def _end(self) -> None:
        """End all threads: at exit, a daemon thread could be stopped inside a call."""
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads:
            thread.join()

    def _forget(self) -> None:
        self._threads: list[Thread] = []
        self._queue: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._starting = Lock()


def _serve(queue: SimpleQueue[Callable[[], None] | None]) -> None:
    """Call the functions from a queue, until None."""
    while work := queue.get():
        work()
        del work  # it refers to arrays


_workers = _Workers()


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


@contextlib.contextmanager
def sharing(threads: int) -> Iterator[None]:
    """Return a context in which `in_shares` uses this number of threads."""
    token = _sharing.set(threads)
    try:
        yield
    finally:
        _sharing.reset(token)


def threads_sharing() -> int:
    """Return the number of threads of `sharing`."""
    return _sharing.get()


def in_shares(function: Callable[[int, int], Any], length: int, per_place: float = 1) -> list[Any]:
    """Call ``function(start, stop)`` on each share of a range, on the threads of `sharing`.

    A place of the range takes as long as `per_place` elements.
    """
    return team(threads_sharing()).share(function, length, per_place=per_place)


def kernel_threads() -> int:
    """Return the default number of threads of a kernel.

    The environment variable OMP_NUM_THREADS limits it. Dask's workers set this variable to 1.
    """
    allowed = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(processors(), int(allowed))) if allowed.isdigit() else processors()
