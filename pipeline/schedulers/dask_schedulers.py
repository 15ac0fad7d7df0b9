"""Schedulers that use Dask: its local schedulers, and clusters."""

from __future__ import annotations

import contextlib
import pickle
import uuid
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import cloudpickle
import dask

from ...errors import MstflowError, WorkerError
from ...primitives.cuda.device import computing_here
from ...progress import set_listener
from ..report.records import Note, StageCall, Work
from .scheduler import Done, Scheduler, this_worker

#: Seconds between two checks for finished tasks while progress is reported.
_PAUSE = 0.1
#: Number of tasks whose notes share a topic. A Dask scheduler keeps 1000 events of each topic.
_TOPIC_TASKS = 500


class LocalDask(Scheduler):
    """Dask's schedulers "synchronous" and "threads".

    Tasks are collected until `gather` is called, which computes the results of all live handles.
    """

    def __init__(self, name: str, workers: int) -> None:
        super().__init__(name, workers, eager=False)
        self._pending: weakref.WeakSet[_Handle] = weakref.WeakSet()
        self.begin_run()

    def begin_run(self) -> None:
        """Begin a run whose tasks have new keys."""
        super().begin_run()
        self._token = _new_token()

    def submit(self, function: Callable[..., Any], *handles: Any, key: str) -> Any:
        """Add a task to the graph."""
        task = dask.delayed(computing_here(_unheard(function)), pure=False, traverse=False)
        arguments = [handle.result for handle in handles]
        added = _Handle(task(*arguments, dask_key_name=f"{key}-{self._token}"))
        self._pending.add(added)
        return added

    def gather(self, handles: Sequence[Any], done: Done = None) -> list[Any]:
        """Compute the collected tasks."""
        options: dict[str, Any] = {"scheduler": self.name, "num_workers": self.workers}
        pending = list(self._pending)
        if done is not None:
            keys = {handle.result.key for handle in pending}  # the graph also has earlier results

            def finished(key: str, *_: Any) -> None:
                if key in keys:
                    done(_name(key))

            options["callbacks"] = [(None, None, None, finished, None)]
        computed = dask.persist(*(handle.result for handle in pending), **options)
        for handle, result in zip(pending, computed, strict=True):
            handle.result = result
        self._pending.clear()
        return list(dask.compute(*(each.result for each in handles), scheduler="synchronous"))


def _unheard(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function without progress reports: those of parallel tasks have no order."""

    def call(*arguments: Any) -> Any:  # not a partial, in which Dask would look for collections
        with set_listener(False):
            return function(*arguments)

    return call


@dataclass(eq=False)
class _Handle:
    """A result, as Dask's delayed object or future.

    Weak references must be to handles. A weak reference to a future can return one that another
    thread is deleting, after its result was released.
    """

    result: Any


class Cluster(Scheduler):
    """The workers that a `distributed.Client` is connected to.

    They get the caller's arrays from files in `folder`, or from Dask if they cannot all read it:
    then this is a cluster, not processes of this machine.
    """

    is_remote = True

    def __init__(
        self, client: Any, name: str, *, task_threads: int = 1, folder: str | None = None
    ) -> None:
        super().__init__(name, 1, task_threads, is_cluster=folder is None, eager=False)
        self._client, self.input_folder = client, folder
        self._pending: dict[str, weakref.ref[_Handle]] = {}
        self._live: weakref.WeakSet[_Handle] = weakref.WeakSet()
        self.begin_run()
        if not client.nthreads():  # an adaptive cluster starts a worker when there is a task
            self.gather([self.submit(int, key="wait_for_workers")])
        self.workers, self.worker_memory = (
            sum(client.nthreads().values()) or 1,
            _task_memory(client),
        )

    def begin_run(self) -> None:
        """Begin a run whose tasks have new keys, and whose notes have new topics."""
        self._token = _new_token()
        self.note = partial(_log, self._token)
        self._submitted = self._taken = 0

    def submit(self, function: Callable[..., Any], *handles: Any, key: str) -> Any:
        """Submit a task to the client."""
        packed = _Packed(_name(key), cloudpickle.dumps(function))
        key, arguments = f"{key}-{self._token}", [handle.result for handle in handles]
        added = _Handle(self._client.submit(packed, *arguments, key=key, pure=False))
        self._pending[key] = weakref.ref(added)
        self._live.add(added)
        self._submitted += 1
        return added

    def compute(self, collection: Any) -> Any:
        """Return a handle. Its result is released when no other task needs it."""
        from distributed import Future

        if isinstance(collection, _Handle):
            return collection
        if isinstance(collection, Future):
            return _Handle(collection)
        added = _Handle(self._client.compute(collection))
        self._live.add(added)
        return added

    def send(self, value: Any) -> Any:
        """Send a value to the memory of a worker. It is lost if the worker dies."""
        try:
            (future,) = self._client.scatter([value], hash=False)
        except OSError as error:  # the connection closed
            raise WorkerError(f"a worker died while it received data: {error}") from error
        added = _Handle(future)
        self._live.add(added)
        return added

    def keep(self, handle: Any) -> Any:
        """Return the future of a handle; it stays on the workers after this run."""
        self._live.discard(handle)
        return handle.result

    def on_each_worker(self, function: Callable[..., object], *arguments: Any) -> None:
        """Call a function in the process of each worker that has started."""
        results = self._client.run(function, *arguments, on_error="return")
        for address, result in results.items():
            if isinstance(result, MstflowError):
                raise type(result)(f"{result} (on worker {address})") from result
            if isinstance(result, BaseException):
                raise WorkerError(f"worker {address} failed: {result}") from result

    def gather(self, handles: Sequence[Any], done: Done = None) -> list[Any]:
        """Wait until all live results and their notes exist, and fetch the results of `handles`."""
        from distributed import KilledWorker, wait
        from distributed.scheduler import NoWorkerError

        try:
            with self._client.as_current():  # `wait` uses the current client
                if done is not None:
                    self._watch(handles, done)
                live = [handle for each in self._pending.values() if (handle := each()) is not None]
                wait([handle.result for handle in live])
                self._pending.clear()
                return list(self._client.gather([handle.result for handle in handles]))
        except KilledWorker as error:
            raise WorkerError(f"a worker died: {error}") from error
        except CancelledError as error:
            raise WorkerError(
                "results were lost: a worker died that had edges of the caller's arrays, or the "
                "cluster was restarted; repeat the call, or put the graph into files that all "
                "workers see"
            ) from error
        except NoWorkerError as error:
            raise WorkerError(f"all workers have ended: {error}") from error

    def take_notes(self) -> list[Note]:
        """Return the notes that workers have logged since the last call."""
        notes: dict[int, Note] = {}
        for first in range(self._taken - self._taken % _TOPIC_TASKS, self._submitted, _TOPIC_TASKS):
            for _, logged in self._client.get_events(_topic(self._token, first)):
                number, (turn, stage, partition, work), scalars = logged
                # If a worker died, a task may have run twice, but it counts once.
                if number >= self._taken:
                    call = StageCall(turn, stage, partition, Work(*work))
                    notes[number] = Note(number, call, scalars)
        self._taken = max(notes, default=self._taken - 1) + 1
        return list(notes.values())

    def release(self) -> None:
        """Release all results: the traceback of a failed task may keep their handles alive."""
        for handle in self._live:
            handle.result.release()

    def _watch(self, handles: Sequence[Any], done: Callable[[str], object]) -> None:
        """Call `done` for each task that finishes, until the results of `handles` exist."""
        from distributed import wait

        while self._pending:
            for key, each in list(self._pending.items()):
                if (handle := each()) is None or handle.result.done():
                    del self._pending[key]
                    done(_name(key))
            futures = [handle.result for handle in handles]
            if all(future.done() for future in futures):
                continue
            with contextlib.suppress(TimeoutError):
                wait(futures, timeout=_PAUSE)


class _Packed(NamedTuple):
    """A pickled task. If a worker cannot load it, the task fails instead of the worker's loop."""

    name: str
    function: bytes

    def __call__(self, *results: Any) -> Any:
        try:
            function = pickle.loads(self.function)
        except Exception as error:  # unpickling may run any code
            cause = f"{type(error).__name__}: {error}"  # it may not be picklable
        else:
            return function(*results)
        raise WorkerError(f"a worker cannot load the task {self.name!r}: {cause}")


def _new_token() -> str:
    """Return a suffix of keys. Dask returns an old result if a new task has the same key."""
    return uuid.uuid4().hex[:8]


def _topic(token: str, number: int) -> str:
    return f"mstflow-{token}-{number // _TOPIC_TASKS}"


def _log(token: str, note: Note) -> None:
    """Send the note of a task from a worker to the scheduler's event log."""
    worker = this_worker()
    if worker is not None:
        *call, work = note.call
        logged = note.number, (*call, tuple(work)), note.scalars
        worker.log_event(_topic(token, note.number), logged)


def _name(key: str) -> str:
    """Return the first word of the key of a task: the name of its stage."""
    return str(key).partition("-")[0]


def _task_memory(client: Any) -> int | None:
    """Return the memory of the smallest worker, divided by its threads."""
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    limits = [w["memory_limit"] // w["nthreads"] for w in workers if w["memory_limit"]]
    return min(limits, default=None)
