"""Read blocks in several threads, with the results in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import partial
from threading import Semaphore
from typing import Any, TypeVar

from numpy.typing import NDArray

from ...primitives import Backend, array_module

T = TypeVar("T")
#: The columns of a block.
Block = tuple[NDArray[Any], ...]


def readers(threads: int) -> int:
    """Return the number of blocks that are in memory while `threads` threads compute."""
    return threads + 1


def read_in_order(
    calls: Iterable[tuple[Callable[[], Block], Callable[[Block], T]]], backend: Backend
) -> Iterator[T]:
    """Read blocks, and yield the results of functions of them, in order.

    A thread more than those of the backend reads the next block while they compute.
    """
    computing = Semaphore(backend.threads)

    def call(read: Callable[[], Block], function: Callable[[Block], T]) -> T:
        block = read()
        with computing:
            return function(block)

    return in_order((partial(call, *both) for both in calls), backend, readers(backend.threads))


def in_order(
    calls: Iterable[Callable[[], T]], backend: Backend, threads: int | None = None
) -> Iterator[T]:
    """Yield the results of all calls in order; meanwhile, threads execute later calls.

    By default, there are as many threads as the backend has.
    """
    ops, threads = array_module(backend), threads or backend.threads

    def call_within(context: AbstractContextManager[Any], call: Callable[[], T]) -> T:
        with context:
            return call()

    with ThreadPoolExecutor(threads, "mstflow-scan") as pool:
        ahead: deque[Future[T]] = deque()
        try:
            for call in calls:
                ahead.append(pool.submit(call_within, ops.beside(), call))
                if len(ahead) > threads + 1:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()
        finally:  # on an error or an early end, cancel calls that no thread has started
            for future in ahead:
                future.cancel()
