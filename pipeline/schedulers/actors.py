"""Actors of a cluster that run a function together, and exchange values.

Each actor calls the function in a thread of its own. So actors never wait for a free thread of a
worker while others wait for them, and a worker may have several. The methods with which they reach
each other are coroutines, because a worker has only one thread for the other methods of all its
actors.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from fractions import Fraction
from functools import partial
from typing import Any

from ...errors import MstflowError, WorkerError
from ...progress import has_listener, report_progress
from .dask_schedulers import Cluster

#: Seconds between two checks of the caller for lost workers and for progress.
_POLL_SECONDS = 0.1
#: Seconds after which an actor that waits checks that the others still exist, and in which they
#: must answer.
_CHECK_SECONDS, _ANSWER_SECONDS = 5.0, 60.0
#: Seconds in which an actor must receive that it is stopped.
_STOP_SECONDS = 1.0
_LOST = "a worker died: {} is lost, with its vertices and edges; repeat the call"


class StoppedError(WorkerError):
    """An actor was stopped because another one failed, or because the caller did not wait."""


class Rank:
    """An actor with a number among several, and a box for the values that they send to it."""

    def __init__(self, rank: int, function: Callable[..., Any], *inputs: Any) -> None:
        self._rank, self._function, self._inputs = rank, function, inputs
        self._ranks: Sequence[Any] = ()
        self._step = 0
        #: The last values sent to the others, and the futures of these calls.
        self._sent: dict[int, tuple[list[Any], Any]] = {}
        self._box: dict[tuple[int, int], Any] = {}
        self._why_stopped = ""
        self._changed = threading.Condition()

    async def put(self, step: int, sender: int, content: list[Any]) -> None:
        """Receive a value of another rank, which may clear the list afterwards."""
        with self._changed:
            (self._box[step, sender],) = content
            self._changed.notify_all()

    async def stop(self, reason: str) -> None:
        """Make the next exchange fail."""
        with self._changed:
            self._why_stopped = reason
            self._changed.notify_all()

    async def check(self) -> None:
        """Show that the actor exists."""

    async def run(self, ranks: Sequence[Any]) -> Any:
        """Call the function; `ranks` are all actors in order."""
        self._ranks = ranks
        result: Future[Any] = Future()
        call = partial(contextvars.copy_context().run, self._call, result)
        # The interpreter does not wait for a daemonic thread when the worker ends.
        threading.Thread(target=call, name="mstflow rank", daemon=True).start()
        return await asyncio.wrap_future(result)

    def _call(self, result: Future[Any]) -> None:
        try:
            outcome = self._function(self.exchange, *self._inputs)
        except BaseException as error:
            for place, rank in enumerate(self._ranks):
                if place != self._rank:
                    with contextlib.suppress(Exception):  # its worker may have died
                        rank.stop(f"rank {self._rank} failed: {error}")
            self._leave()
            result.set_exception(error)
        else:
            self._leave()
            result.set_result(outcome)

    def _leave(self) -> None:
        """Forget the other actors, which could not be released, and what they sent."""
        self._forget_sent()
        self._ranks, self._inputs, self._sent = (), (), {}
        self._box.clear()

    def exchange(self, values: Sequence[Any]) -> list[Any]:
        """Send a value to each rank; return what all ranks sent to this one, in their order."""
        step, self._step = self._step, self._step + 1
        others = [place for place in range(len(values)) if place != self._rank]
        self._forget_sent()
        for place in others:
            content = [values[place]]
            self._sent[place] = content, self._ranks[place].put(step, self._rank, content)
        while not self._wait({(step, place) for place in others}):
            self._check(step)
        received = [*values]
        for place in others:
            received[place] = self._box.pop((step, place))
        return received

    def _forget_sent(self) -> None:
        """Forget the values that have arrived: `distributed` keeps arguments until a collection."""
        for content, future in self._sent.values():
            if future.done():
                content.clear()

    def _wait(self, expected: set[tuple[int, int]]) -> bool:
        """Return whether all expected values have arrived, after some seconds at most."""
        with self._changed:
            done = self._changed.wait_for(
                lambda: bool(self._why_stopped) or expected <= self._box.keys(), _CHECK_SECONDS
            )
            if self._why_stopped:
                raise StoppedError(self._why_stopped)
        return done

    def _check(self, step: int) -> None:
        """Raise a WorkerError if a rank that sent nothing yet does not answer."""
        for place, (_, future) in self._sent.items():
            if (step, place) in self._box:
                continue
            try:
                if future.done():
                    future.result()
                self._ranks[place].check().result(_ANSWER_SECONDS)
            except Exception as error:
                raise WorkerError(f"a worker died: rank {place} does not answer") from error


def run_actors(
    cluster: Cluster,
    name: str,
    functions: Sequence[Callable[..., Any]],
    inputs: Sequence[Sequence[Any]],
) -> list[Any]:
    """Call functions at once, each in an actor; return their results.

    A function gets `Rank.exchange` of its actor, and the results of its `inputs`, which are handles
    of the cluster. The actors are spread over the workers, and released at the end.
    """
    count = len(functions)
    handles = [
        cluster.submit(
            partial(Rank, place, function),
            *inputs[place],
            key=f"{name}-rank-{place}",
            share=Fraction(place, count),
            actor=True,
        )
        for place, function in enumerate(functions)
    ]
    ranks: Sequence[Any] = ()
    try:
        report_progress("wait until workers have started all ranks", 0, 0)
        ranks = cluster.gather(handles)
        with cluster.errors():
            return _results(cluster, handles, [rank.run(ranks) for rank in ranks])
    except BaseException as error:
        for rank in ranks:
            with contextlib.suppress(Exception):  # its worker may have died
                rank.stop("the caller did not wait for the results").result(_STOP_SECONDS)
        # `distributed` raises one of these, depending on the moment at which a worker dies.
        if isinstance(error, OSError | RuntimeError) and not isinstance(error, MstflowError):
            raise WorkerError(_LOST.format(f"one of {count} ranks")) from error
        raise
    finally:
        cluster.cancel(handles)


def _results(cluster: Cluster, handles: Sequence[Any], runs: Sequence[Any]) -> list[Any]:
    """Wait for the runs of actors, and return their results."""
    shown = None
    while waiting := [run for run in runs if not run.done()]:
        for place, handle in enumerate(handles):
            if handle.result.status != "finished":
                raise WorkerError(_LOST.format(f"rank {place} of {len(runs)}"))
        if has_listener() and shown != cluster.progress:
            shown = cluster.progress
            report_progress(*shown)
        with contextlib.suppress(Exception):
            waiting[0].result(_POLL_SECONDS)
    failures = []
    for run in runs:
        try:
            run.result()
        except Exception as error:
            failures.append(error)
    if failures:
        raise next((each for each in failures if not isinstance(each, StoppedError)), failures[0])
    return [run.result() for run in runs]
