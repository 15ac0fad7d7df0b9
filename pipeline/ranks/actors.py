"""Actors of a cluster that call functions together, the ranks, and exchange values.

An actor has the ranks of a worker. Each calls its function in a thread of its own, so ranks never
wait for a free thread of a worker while others wait for them. The ranks of an actor exchange values
by reference. Those for the ranks of another actor travel together, in one message.

The methods with which actors reach each other are coroutines, because a worker has only one thread
for the other methods of all its actors.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import itertools
import pickle
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from fractions import Fraction
from functools import partial
from typing import Any

from ...errors import LostWorkerError, MstflowError, WorkerError
from ...progress import has_listener, report_progress
from ..schedulers.dask_schedulers import Cluster
from ..schedulers.scheduler import this_worker

#: Seconds between two checks of the caller for lost workers and for progress.
_POLL_SECONDS = 0.1
#: Seconds after which a rank that waits checks that the others still exist, and in which they must
#: answer.
_CHECK_SECONDS, _ANSWER_SECONDS = 5.0, 60.0
#: Seconds in which an actor must receive that it is stopped.
_STOP_SECONDS = 1.0
_LOST = "a worker died: {} is lost, with its vertices and edges; repeat the call"


class StoppedError(WorkerError):
    """A rank was stopped because another one failed, or because the caller did not wait."""


class Actor:
    """Consecutive ranks on a worker: their functions, and a box for the values sent to them.

    `counts` are the numbers of further arguments of each function, and `inputs` these arguments.
    """

    def __init__(
        self, functions: Sequence[Callable[..., Any]], counts: Sequence[int], *inputs: Any
    ) -> None:
        rest = iter(inputs)
        self._functions = functions
        self._inputs = [[*itertools.islice(rest, count)] for count in counts]
        self._number = 0
        self._actors: Sequence[Any] = ()
        self._ranks: Sequence[range] = ()
        #: The values that ranks of this actor send, by step and rank, until all of them arrived.
        self._rows: dict[int, dict[int, Sequence[Any]]] = defaultdict(dict)
        #: The values for the ranks of this actor, by step and sender, and the ranks that took them.
        self._box: dict[int, dict[int, Sequence[Any]]] = defaultdict(dict)
        self._taken: dict[int, int] = defaultdict(int)
        #: The last values sent to the others, and the futures of these calls.
        self._sent: dict[int, tuple[list[Any], Any]] = {}
        self._why_stopped = ""
        #: Set when all functions have returned.
        self.ended = threading.Event()
        self._changed = threading.Condition()

    async def put(self, step: int, content: list[Mapping[int, Sequence[Any]]]) -> None:
        """Receive values of another actor, which may clear the list afterwards."""
        self._add(step, *content)

    async def stop(self, reason: str) -> None:
        """Make the next exchange fail."""
        self._stop(reason)

    async def check(self) -> None:
        """Show that the actor exists."""

    async def run(self, number: int, actors: Sequence[Any], ranks: Sequence[range]) -> list[Any]:
        """Call the functions at once; `actors` and their `ranks` are all in order.

        The error of a function is its result: without an answer, the worker is lost.
        """
        self._number, self._actors, self._ranks = number, actors, ranks
        futures = []
        for rank, function, inputs in zip(
            ranks[number], self._functions, self._inputs, strict=True
        ):
            result: Future[Any] = Future()
            context = contextvars.copy_context()
            call = partial(context.run, self._call, result, rank, function, inputs)
            # The interpreter does not wait for a daemonic thread when the worker ends.
            threading.Thread(target=call, name="mstflow rank", daemon=True).start()
            futures.append(asyncio.wrap_future(result))
        results = await asyncio.gather(*futures)
        self._leave()
        return results

    def _call(
        self, result: Future[Any], rank: int, function: Callable[..., Any], inputs: list[Any]
    ) -> None:
        try:
            outcome = function(partial(self._exchange, rank, itertools.count()), *inputs)
        except BaseException as error:
            outcome = _sendable(error)
            reason = f"rank {rank} failed: {error}"
            self._stop(reason)
            for place, actor in enumerate(self._actors):
                if place != self._number:
                    with contextlib.suppress(Exception):  # its worker may have died
                        actor.stop(reason)
        result.set_result(outcome)

    def _leave(self) -> None:
        """Forget the other actors, which could not be released, and all values."""
        self.ended.set()
        self._forget_sent()
        self._actors, self._functions, self._inputs = (), (), []
        for values in (self._sent, self._rows, self._box):
            values.clear()

    def _stop(self, reason: str) -> None:
        with self._changed:
            self._why_stopped = self._why_stopped or reason
            self._changed.notify_all()

    def _exchange(self, rank: int, steps: itertools.count[int], values: Sequence[Any]) -> list[Any]:
        """Send a value to each rank; return what all ranks sent to this one, in their order."""
        step, own = next(steps), self._ranks[self._number]
        with self._changed:
            rows = self._rows[step]
            rows[rank] = values
            is_last = len(rows) == len(own)
        if is_last:
            self._send(step, self._rows.pop(step))
        while not self._wait(step):
            self._check(step)
        with self._changed:
            box = self._box[step]
            self._taken[step] += 1
            if self._taken[step] == len(own):
                del self._box[step], self._taken[step]
        return [box[sender][rank - own.start] for sender in range(len(values))]

    def _send(self, step: int, rows: dict[int, Sequence[Any]]) -> None:
        """Send the values of all ranks of this actor: a message to each other actor."""
        self._forget_sent()
        for place, ranks in enumerate(self._ranks):
            sent = {rank: values[ranks.start : ranks.stop] for rank, values in rows.items()}
            if place == self._number:
                self._add(step, sent)
            else:
                content = [sent]
                self._sent[place] = content, self._actors[place].put(step, content)

    def _add(self, step: int, values: Mapping[int, Sequence[Any]]) -> None:
        with self._changed:
            self._box[step].update(values)
            self._changed.notify_all()

    def _forget_sent(self) -> None:
        """Forget the values that have arrived: `distributed` keeps arguments until a collection."""
        for content, future in self._sent.values():
            if future.done():
                content.clear()

    def _wait(self, step: int) -> bool:
        """Return whether the values of all ranks have arrived, after some seconds at most."""
        count = self._ranks[-1].stop
        with self._changed:
            done = self._changed.wait_for(
                lambda: bool(self._why_stopped) or len(self._box[step]) == count, _CHECK_SECONDS
            )
            if self._why_stopped:
                raise StoppedError(self._why_stopped)
        return done

    def _check(self, step: int) -> None:
        """Raise an error if the caller died, or an actor that sent nothing yet does not answer."""
        worker = this_worker()
        if worker is not None and self not in worker.state.actors.values():
            raise StoppedError("the cluster has released the ranks: their caller died")
        for place, (_, future) in [*self._sent.items()]:
            if self._ranks[place].start in self._box[step]:
                continue
            try:
                if future.done():
                    future.result()
                self._actors[place].check().result(_ANSWER_SECONDS)
            except Exception as error:
                raise LostWorkerError(
                    f"a worker died: {_named(self._ranks[place])} does not answer"
                ) from error


def _stay(key: str) -> None:
    """Wait until the ranks of an actor end, without a thread of the worker's pool."""
    from distributed import secede

    worker = this_worker()
    secede()
    while (actor := worker.state.actors.get(key)) and not actor.ended.wait(_POLL_SECONDS):
        pass


def run_actors(
    cluster: Cluster,
    name: str,
    functions: Sequence[Callable[..., Any]],
    inputs: Sequence[Sequence[Any]],
) -> list[Any]:
    """Call functions at once, each as a rank; return their results.

    A function gets a function that exchanges values, and the results of its `inputs`, which are
    handles of the cluster. The ranks are spread over the workers, with an actor on each, and the
    actors are released at the end.
    """
    count = len(functions)
    ranks = cluster.spread(count)
    handles = [
        cluster.submit(
            partial(Actor, functions[own.start : own.stop], [len(inputs[rank]) for rank in own]),
            *itertools.chain.from_iterable(inputs[rank] for rank in own),
            key=f"{name}-rank-{own.start}",
            share=Fraction(own.start, count),
            actor=True,
        )
        for own in ranks
    ]
    actors: Sequence[Any] = ()
    runs: list[Any] = []
    stays: list[Any] = []
    try:
        report_progress("wait until workers have started all ranks", 0, 0)
        with _losses(count):
            actors = cluster.gather(handles)
            with cluster.errors():
                runs += (actor.run(number, actors, ranks) for number, actor in enumerate(actors))
                stays += cluster.occupy(handles, _stay)
                results = _results(cluster, handles, runs, ranks)
    except BaseException as error:
        for actor in actors:
            with contextlib.suppress(Exception):  # its worker may have died
                actor.stop("the caller did not wait for the results").result(_STOP_SECONDS)
        if isinstance(error, LostWorkerError):  # the caller may start the other ranks again
            for handle, run in zip(handles, runs, strict=False):
                if handle.result.status == "finished":
                    with contextlib.suppress(Exception):
                        run.result(_ANSWER_SECONDS)
        raise
    finally:
        cluster.cancel([*stays, *handles])
    return _without_failures(results)


@contextlib.contextmanager
def _losses(count: int) -> Iterator[None]:
    """Convert the errors that `distributed` raises, depending on the moment of a worker's death."""
    try:
        yield
    except MstflowError:
        raise
    except (OSError, RuntimeError) as error:
        raise LostWorkerError(_LOST.format(f"one of {count} ranks")) from error


def _results(
    cluster: Cluster, handles: Sequence[Any], runs: Sequence[Any], ranks: Sequence[range]
) -> list[Any]:
    """Wait for the runs of actors, and return the results of their ranks, or their errors."""
    shown = None
    while waiting := [run for run in runs if not run.done()]:
        for own, handle in zip(ranks, handles, strict=True):
            if handle.result.status != "finished":
                raise LostWorkerError(_LOST.format(f"{_named(own)} of {ranks[-1].stop}"))
        if has_listener() and shown != cluster.progress:
            shown = cluster.progress
            report_progress(*shown)
        with contextlib.suppress(Exception):
            waiting[0].result(_POLL_SECONDS)
    results: list[Any] = []
    for own, run in zip(ranks, runs, strict=True):
        try:
            results += run.result()
        except Exception as error:
            lost = f"{_named(own)} of {ranks[-1].stop}"
            raise LostWorkerError(_LOST.format(lost)) from error
    return results


def _sendable(error: BaseException) -> Exception:
    """Return an error that another process can load; otherwise the caller would wait forever."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        with contextlib.suppress(Exception):  # raised by the methods of any class
            pickle.loads(pickle.dumps(error))
            return error
    return WorkerError(f"{type(error).__name__}: {error}")


def _without_failures(results: list[Any]) -> list[Any]:
    """Return results; raise the failure among them, if there is one, that stopped the others."""
    failures = [result for result in results if isinstance(result, BaseException)]
    if failures:
        raise next((each for each in failures if not isinstance(each, StoppedError)), failures[0])
    return results


def _named(ranks: range) -> str:
    """Return a name of consecutive ranks."""
    first, last = ranks[0], ranks[-1]
    return f"rank {first}" if first == last else f"each of the ranks {first} to {last}"
