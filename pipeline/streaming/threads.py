"""Calls in several threads, with their results in order."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from ...primitives import Backend, array_module

T = TypeVar("T")


def in_order(calls: Iterable[Callable[[], T]], backend: Backend) -> Iterator[T]:
    """Yield the results of all calls in order; meanwhile, threads execute later calls."""
    ops = array_module(backend)

    def call_beside(beside: Any, call: Callable[[], T]) -> T:
        with beside:
            return call()

    with ThreadPoolExecutor(backend.threads, "mstflow-scan") as team:
        ahead: collections.deque[Any] = collections.deque()
        try:
            for call in calls:
                ahead.append(team.submit(call_beside, ops.beside(), call))
                if len(ahead) > backend.threads + 1:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()
        finally:  # on an error or an early end, cancel calls that no thread has started
            for future in ahead:
                future.cancel()
