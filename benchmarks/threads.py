"""A model of many threads on one processor, beside the clock where there are processors.

Kernels divide their range into a share for each thread. Here the shares of a section run one after
another, and each is timed. The model of a run with T threads adds up the time outside such
sections, the longest share of each section, and the time to hand work to T threads. It
counts the time of the processor, so other programs disturb it little.

The model leaves out that threads share the bandwidth of memory, and that they contend for cache
lines. It divides the time of a common queue of tasks evenly. If one thread joins edges in order
while others sort them ahead, the model has no gain from a third thread there. It also counts the
time for which the sorting thread waits for the joining one, which has not begun. Python between two
sections takes longer than with real threads, because all shares have run in the same caches.
"""

from __future__ import annotations

import os
import statistics
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np

from . import graphs as graph_list
from .machine import pinned

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from mstflow.runtime.team import Section, Team

#: Hand-overs are timed this many times.
_HAND_OVERS = 100
#: The seconds before a hand-over to threads that look for work, and to threads that sleep.
_SHORT, _LONG = 100e-6, 20e-3
#: The seconds without a section for which threads certainly look for work.
_LOOKS = 1e-3


@dataclass
class Sections:
    """The sections of one run that threads share.

    Attributes
    ----------
    stage : str
        The name of the stage that runs now.
    since : float
        The time at which it began.
    stages : dict of str to float
        The seconds of each stage, from its beginning to that of the next.
    spent : dict of str to list of list of float
        By stage, the seconds of the shares of each section.
    taken : dict of str to float
        By stage, the seconds of its sections, with those that the model takes to time them.
    last : float
        The time at which the last section of kernels ended.
    to_awake, to_asleep, in_pool : int
        The number of sections of kernels shortly after another one, of other sections of kernels,
        and of sections that call NumPy functions.
    """

    stage: str = "open and plan"
    since: float = field(default_factory=time.thread_time)
    stages: dict[str, float] = field(default_factory=dict)
    spent: dict[str, list[list[float]]] = field(default_factory=dict)
    taken: dict[str, float] = field(default_factory=dict)
    last: float = -1.0
    to_awake: int = 0
    to_asleep: int = 0
    in_pool: int = 0

    def listen(self, step: str, *_: int) -> None:
        """Begin a stage when progress reports it."""
        now = time.thread_time()
        self.stages[self.stage] = self.stages.get(self.stage, 0.0) + now - self.since
        self.stage, self.since = step.rpartition(" ")[2], now

    def call(self, calls: Iterable[Callable[[], Any]]) -> list[Any]:
        """Call the functions of a section in turn; return their results.

        The calling thread's share is last. If it is done before helpers begin, they find no work.
        """
        results, seconds, began = [], [], time.thread_time()
        for each in reversed(list(calls)):
            start = time.thread_time()
            results.append(each())
            seconds.append(time.thread_time() - start)
        if len(seconds) > 1:
            self.spent.setdefault(self.stage, []).append(seconds)
            taken = self.taken.get(self.stage, 0.0) + time.thread_time() - began
            self.taken[self.stage] = taken
        return results[::-1]

    def call_kernels(self, call: Callable[[int], None], places: range) -> None:
        """Call the kernels of a section; count it by the time since the one before."""
        if len(places) == 1:  # in the calling thread
            call(places[0])
            return
        is_short = time.thread_time() - self.last < _LOOKS
        self.to_awake += is_short
        self.to_asleep += not is_short
        self.call(partial(call, place) for place in places)
        self.last = time.thread_time()

    def even(self) -> None:
        """Divide the time of the last section evenly: the first call found all tasks."""
        if self.spent.get(self.stage):
            spent = self.spent[self.stage]
            spent[-1] = [sum(spent[-1]) / len(spent[-1])] * len(spent[-1])


def measure(
    graphs: Sequence[str], threads: Sequence[int] = (1, 2, 4, 8, 16, 32, 64), rounds: int = 5
) -> dict[str, Any]:
    """Model each number of threads on each graph.

    Returns
    -------
    dict
        `rows`: for each graph and number of threads, medians over all rounds: `model` seconds,
        `work`, the seconds of all shares and of the rest, `hand_over`, the seconds of all
        hand-overs, by stage `sequential`, the seconds outside sections, and `longest`, those of the
        longest shares, and `clock`, the seconds on as many processors, or None.
    """
    from mstflow.runtime.memory import keeping_blocks

    seconds = {count: hand_overs(count) for count in threads}
    processors, rows = len(os.sched_getaffinity(0)), []
    for name in graphs:
        graph = graph_list.load(graph_list.ensure(name))
        found: dict[int, list[dict[str, Any]]] = {count: [] for count in threads}
        clocks: dict[int, list[float]] = {count: [] for count in threads if count <= processors}
        with keeping_blocks():
            for turn in range(-1, rounds):  # the first warms up
                for count in threads:
                    with pinned(1):
                        found[count] += [modelled(graph, count, *seconds[count])] * (turn >= 0)
                    if count in clocks:
                        with pinned(count):
                            start = time.perf_counter()
                            _solve(graph, count)
                            clocks[count] += [time.perf_counter() - start] * (turn >= 0)
        for count in threads:
            clock = statistics.median(clocks[count]) if count in clocks else None
            rows.append({"graph": name, "threads": count, "clock": clock, **_medians(found[count])})
    return {"rows": rows}


def modelled(
    graph: graph_list.Graph, threads: int, awake: float, asleep: float, by_pool: float
) -> dict[str, Any]:
    """Solve with shares in turn; return the model's seconds and their parts.

    The last arguments are the `hand_overs`.
    """
    sections = Sections()
    with _in_turn(sections):
        _solve(graph, threads, sections.listen)
        sections.listen("end")
    shared = sum(sum(map(sum, spent)) for spent in sections.spent.values())
    longest = {stage: sum(map(max, spent)) for stage, spent in sections.spent.items()}
    handed = awake * sections.to_awake + asleep * sections.to_asleep + by_pool * sections.in_pool
    sequential = {
        stage: seconds - sections.taken.get(stage, 0.0)
        for stage, seconds in sections.stages.items()
    }
    work = sum(sequential.values()) + shared
    model = sum(sequential.values()) + sum(longest.values()) + handed
    parts = {"sequential": sequential, "longest": longest}
    return {"model": model, "work": work, "hand_over": handed, **parts}


def hand_overs(threads: int) -> tuple[float, float, float]:
    """Return the median seconds to run an empty section: by a crew, awake or asleep, and by a pool.

    Kernels run by a crew. Two of its threads are measured, each on a processor of its own: the
    system may leave both on one for milliseconds. A thread wakes two others, so each doubling of
    the threads adds the same time. Before each section, the calling thread computes for a while, as
    in a run. NumPy functions run by a pool, with all its threads.
    """
    from mstflow.primitives.numba.arrays import elements
    from mstflow.runtime.crew import Crew
    from mstflow.runtime.team import team

    if threads == 1:
        return 0.0, 0.0, 0.0
    processors = len(os.sched_getaffinity(0))
    with pinned(1, first=processors - 1):  # the other thread of the crew stays there
        crew = Crew(2, looks=processors > 1)
    fill: Any = elements.fill
    function, words, _ = fill.lowered((0, 0, 0, np.zeros(1, np.uint64)))
    blocks = np.tile(function.block(words), (2, 1))
    levels, runs = (threads - 1).bit_length(), []
    with pinned(1):
        for gap in (_SHORT, _LONG):
            alone, both = _medians_in_turns(
                [lambda: crew.run([blocks[:1]]), lambda: crew.run([blocks])], gap
            )
            runs.append(alone + levels * max(0.0, both - alone))
    awake, asleep = runs
    (pooled,) = _medians_in_turns([lambda: team(threads).call(lambda: None, [()] * threads)], 0)
    return awake, asleep, pooled


def _medians_in_turns(calls: Sequence[Callable[[], object]], gap: float) -> list[float]:
    """Return the median seconds of each call, each after a gap in which this thread computes."""
    seconds: list[list[float]] = [[] for _ in calls]
    for _ in range(_HAND_OVERS):
        for call, own in zip(calls, seconds, strict=True):
            begin = time.perf_counter() + gap
            while time.perf_counter() < begin:
                pass
            start = time.perf_counter()
            call()
            own.append(time.perf_counter() - start)
    return [statistics.median(own) for own in seconds]


@contextmanager
def _in_turn(sections: Sections) -> Iterator[None]:
    from mstflow.runtime.native import address_of, call_block
    from mstflow.runtime.team import Team

    run = Team.run

    def call(_: Team, function: Any, arguments: Iterable[tuple[Any, ...]]) -> list[Any]:
        calls = [partial(function, *each) for each in arguments]
        sections.in_pool += len(calls) > 1
        return sections.call(calls)

    def run_sections(_: Team, steps: Iterable[Section]) -> None:
        for step in steps:
            first, stride = address_of(step.blocks), step.blocks.strides[0]
            places = range(first, first + len(step.blocks) * stride, stride)
            sections.call_kernels(call_block, places)
            if step.drains:
                sections.even()

    def drain(team: Team, *arguments: Any) -> None:
        run(team, *arguments)
        sections.even()

    with mock.patch.multiple(Team, call=call, _run_sections=run_sections, drain=drain):
        yield


def _solve(graph: graph_list.Graph, threads: int, progress: Any = False) -> Any:
    from mstflow import minimum_spanning_forest

    return minimum_spanning_forest(
        graph[:3], num_vertices=graph.n, backend="numba", threads=threads, progress=progress
    )


def _medians(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the median of each number, and of those by stage."""
    found: dict[str, Any] = {}
    for name, value in runs[0].items():
        if isinstance(value, dict):
            stages = dict.fromkeys(stage for run in runs for stage in run[name])
            found[name] = {
                stage: statistics.median(run[name].get(stage, 0.0) for run in runs)
                for stage in stages
            }
        else:
            found[name] = statistics.median(run[name] for run in runs)
    return found
