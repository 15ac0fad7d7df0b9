"""Read blocks in several threads, with the results in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from numpy.typing import NDArray

from ...primitives import Backend, array_module

T = TypeVar("T")
#: The first edge id of a block, its length, and the function that reads its columns.
Block = tuple[int, int, Callable[[], tuple[NDArray[Any], ...]]]


def in_order(calls: Iterable[Callable[[], T]], backend: Backend) -> Iterator[T]:
    """Yield the results of all calls in order; meanwhile, threads execute later calls."""
    ops = array_module(backend)

    def call_within(context: AbstractContextManager[Any], call: Callable[[], T]) -> T:
        with context:
            return call()

    with ThreadPoolExecutor(backend.threads, "mstflow-scan") as pool:
        ahead: deque[Future[T]] = deque()
        try:
            for call in calls:
                ahead.append(pool.submit(call_within, ops.beside(), call))
                if len(ahead) > backend.threads + 1:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()
        finally:  # on an error or an early end, cancel calls that no thread has started
            for future in ahead:
                future.cancel()
