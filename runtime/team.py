"""Teams of threads that divide the range of one call into equal shares."""

from __future__ import annotations

import functools
import operator
import os
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .crew import FUTEX, Crew
from .host import processors
from .native import HEADER, Each, Kernels, NativeKernel, call_block, has_numba

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import DTypeLike, NDArray

    from .native import Function

#: The smallest number of elements for which waking a thread of a pool pays. For a crew, whose
#: threads are usually awake, it is smaller by this factor.
_SMALLEST_SHARE, _CREW_FACTOR = 2**16, 8
#: The number of elements from which a kernel is faster than several NumPy functions.
_SMALLEST_PASS = 2**19
#: The number of threads from which a team has a crew. On two processors, solves with a pool are at
#: least as fast, and with a crew some take up to 15 % longer.
_CREW_FROM = 4

_sections = Kernels(f"{__package__}.sections")
_NUM_RESULTS = operator.attrgetter("num_results")


class Step(NamedTuple):
    """Calls of a function with different shares; see `Team.step` and `Team.run_all`.

    Attributes
    ----------
    function : callable
        The function.
    calls : int
        The number of calls.
    arguments : tuple
        As for `Team.run`.
    drains : bool
        Whether the calls take tasks from a common queue until it is empty.
    """

    function: Callable[..., Any]
    calls: int
    arguments: tuple[Any, ...]
    drains: bool = False


class Section(NamedTuple):
    """The blocks of the calls of a step, or of `Team.together`; see `native.Function`."""

    functions: Sequence[Function]
    blocks: NDArray[Any]
    drains: bool = False

    def results(self) -> list[Any]:
        """Return the results of the calls."""
        is_running, *found = self.blocks[:, 1:4].T.tolist()
        count, *others = {*map(_NUM_RESULTS, self.functions)}
        if others or any(is_running):
            results = zip(self.functions, is_running, *found, strict=True)
            return [function.result(*words) for function, *words in results]
        if count == 2:
            return [*zip(*found, strict=True)]
        return found[0] if count else [None] * len(is_running)


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
        return divide(length, self._count(length, each))

    def _count(self, length: int, each: int) -> int:
        """Return the number of shares."""
        elements = length * each * (_CREW_FACTOR if self._has_crew else 1)
        return max(1, min(self.size, elements // _SMALLEST_SHARE, length))

    def step(
        self, function: Callable[..., Any], length: int, *arguments: Any, each: int = 1
    ) -> Step:
        """Return the calls ``function(start, stop, *arguments)`` for each share of a range."""
        count = self._count(length, each)
        ends = map(Each, _bounds(length, count)) if count > 1 else (0, length)
        return Step(function, count, (*ends, *arguments))

    def share(
        self, function: Callable[..., Any], length: int, *arguments: Any, each: int = 1
    ) -> list[Any]:
        """Call ``function(start, stop, *arguments)`` on each share of the range up to `length`."""
        return self._run_step(self.step(function, length, *arguments, each=each))

    def run(self, function: Callable[..., Any], count: int, *arguments: Any) -> list[Any]:
        """Call a function `count` times concurrently; return the results in order.

        Arguments of type `Each` differ between the calls. If calls fail, the exception of the first
        failed call propagates after all calls have ended.
        """
        return self._run_step(Step(function, count, arguments))

    def run_all(self, *steps: Step) -> list[list[Any]]:
        """Run steps one after another, each as `run` does; return the results of each step.

        The calls of a step begin when all calls of the step before have ended. If all functions are
        kernels, a crew goes from step to step without Python, so steps should get what earlier
        steps found by arrays.
        """
        if all(step.calls == 1 for step in steps) or not all(map(self._can_lower, steps)):
            return [self._run_step(step) for step in steps]
        sections = [_lowered(step) for step in steps]
        self._run_sections(sections)
        return [section.results() for section in sections]

    def _run_step(self, step: Step) -> list[Any]:
        function, count, arguments, _ = step
        if count > 1 and self._can_lower(step):
            (results,) = self.run_all(step)
            return results
        return self.call(function, [_of_share(i, arguments) for i in range(count)])

    def _can_lower(self, step: Step) -> bool:
        return self._has_crew and isinstance(step.function, NativeKernel)

    def together(self, *calls: tuple[Callable[..., Any], tuple[Any, ...]]) -> list[Any]:
        """Call different functions with their arguments concurrently, as `run` does."""
        lowered = [
            function.lowered(arguments)
            for function, arguments in calls
            if self._has_crew and isinstance(function, NativeKernel)
        ]
        if not 1 < len(lowered) == len(calls):
            return self.call(lambda function, arguments: function(*arguments), calls)
        own = [function.block(words) for function, words, _ in lowered]
        blocks = np.zeros((len(calls), max(map(len, own))), np.int64)
        for block, words in zip(blocks, own, strict=True):
            block[: len(words)] = words
        section = Section([function for function, *_ in lowered], blocks)
        self._run_sections([section])
        return section.results()

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
        finally:
            try:
                result = function(*own)  # first if no thread starts: others may wait for its end
            finally:  # calls may write to the arguments until they end
                for task in tasks:
                    task.exception()  # waits; takes half the time of `concurrent.futures.wait`
        return [result, *(task.result() for task in tasks)]

    def _run_sections(self, sections: Sequence[Section]) -> None:
        """Run all sections in order; alone if another caller uses the threads."""
        if not self._is_claimed.locked():
            with self._is_claimed:  # an interrupt between two statements would keep the lock
                if self._crew is None:
                    self._crew = Crew(self.size, looks=self.size <= processors())
                if self._crew.run([section.blocks for section in sections]):
                    return
        for section in sections:
            for block in section.blocks:
                call_block(block.ctypes.data)
            section.results()  # if a call failed, the next section must not begin

    def _forget(self) -> None:
        self._others = self._crew = None
        self._is_claimed = threading.Lock()


def divide(length: int, count: int) -> list[tuple[int, int]]:
    """Divide the range up to `length` into `count` consecutive ranges."""
    return [(length * i // count, length * (i + 1) // count) for i in range(count)]


@functools.lru_cache
def _bounds(length: int, count: int) -> tuple[NDArray[np.int64], ...]:
    """Return the starts and the stops of the ranges of `divide`: most steps of a run share them."""
    return tuple(np.array(divide(length, count)).T)


def _of_share(place: int, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arguments of one share."""
    return tuple(each.values[place] if isinstance(each, Each) else each for each in arguments)


def _lowered(step: Step) -> Section:
    """Return the blocks of all calls of a kernel."""
    kernel: Any = step.function
    function, words, varying = kernel.lowered(step.arguments)
    blocks = np.empty((step.calls, HEADER + len(words)), np.int64)
    blocks[:] = np.frombuffer(function.block(words), np.int64)
    for place, values in varying:
        if np.ndim(values) > 1:  # addresses of rows
            values = words[place] + values.strides[0] * np.arange(step.calls)
        blocks[:, HEADER + place] = values
    return Section([function] * step.calls, blocks, step.drains)


@functools.cache
def team(size: int) -> Team:
    """Return this process's team of this size."""
    return Team(size)


#: The number of threads that `survey`, `copied` and `in_shares` use; see `sharing`.
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
    helpers = team(_sharing.get())
    count = max(1, min(helpers.size, length // _SMALLEST_SHARE))
    return helpers.call(function, divide(length, count))


class Survey(NamedTuple):
    """Facts about the columns of a graph.

    Attributes
    ----------
    u, v : int
        The largest id of each column, where ids are viewed as unsigned; -1 without edges.
    has_nan : bool
        Whether any weight is NaN.
    may_be_signed : bool
        Whether any weight may have its sign bit set.
    """

    u: int
    v: int
    has_nan: bool
    may_be_signed: bool


def survey(u: NDArray[Any], v: NDArray[Any], weight: NDArray[Any]) -> Survey:
    """Survey columns of equal length; one pass of a kernel finds all facts, if it pays."""
    if len(weight) and not weight.strides[0]:
        weight = weight[:1]  # all weights are equal
    kind, *bits = weight.dtype.kind, *(each.view(f"u{each.itemsize}") for each in (u, v, weight))
    if not _kernels_pay(*bits):
        has_nan = kind == "f" and len(weight) > 0 and bool(np.isnan(weight.min()))
        top_u, top_v = (int(ids.max()) if len(ids) else -1 for ids in bits[:2])
        return Survey(top_u, top_v, has_nan, kind not in "bu")
    signed, helpers = weight.view(f"i{weight.itemsize}"), team(_sharing.get())
    rows = np.empty((len(helpers.shares(len(u))), 4), np.uint64)
    helpers.share(_sections.find_largest, len(u), *bits, signed, Each(rows))
    top_u, top_v, top, _ = rows.max(axis=0).tolist()
    sign, top_signed = 1 << (8 * weight.itemsize - 1), int(rows[:, 3].view(np.int64).max())
    has_nan = kind == "f" and max(top_signed, top - sign) > _infinity(weight.dtype)
    return Survey(top_u, top_v, has_nan, kind not in "bu" and top >= sign)


def _infinity(dtype: np.dtype[Any]) -> int:
    """Return the bits of infinity as an integer; those of NaN are larger."""
    return int(np.array(np.inf, dtype).view(f"u{dtype.itemsize}"))


def copied(array: NDArray[Any], dtype: DTypeLike) -> tuple[NDArray[Any], bool]:
    """Return a copy with another dtype, and whether each element is less than the next one."""
    if not _kernels_pay(array):
        return array.astype(dtype), bool((array[:-1] < array[1:]).all())
    out = np.empty(len(array), dtype)
    return out, all(team(_sharing.get()).share(_sections.copy_in_order, len(array), array, out))


def _kernels_pay(*columns: Any) -> bool:
    """Return whether kernels over these columns are faster than NumPy's functions."""
    if len(columns[0]) < _SMALLEST_PASS or not has_numba():
        return False
    are_plain = all(isinstance(each, np.ndarray) and each.flags.c_contiguous for each in columns)
    return are_plain and (_sections.are_loaded() or _sections.pay_for(len(columns[0])))


def kernel_threads() -> int:
    """Return the default number of threads of a kernel.

    The environment variable OMP_NUM_THREADS limits it. Dask's workers set this variable to 1.
    """
    allowed = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(processors(), int(allowed))) if allowed.isdigit() else processors()
