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
_CHECK_SECONDS = 0.1
#: The number of tasks whose notes share a topic. A Dask scheduler keeps 1000 events of each topic.
_TASKS_PER_TOPIC = 500


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
        silent = computing_here(_without_progress(function))
        task = dask.delayed(silent, pure=False, traverse=False)
        arguments = [handle.result for handle in handles]
        handle = _Handle(task(*arguments, dask_key_name=f"{key}-{self._token}"))
        self._pending.add(handle)
        return handle

    def gather(self, handles: Sequence[Any], done: Done = None) -> list[Any]:
        """Compute the collected tasks."""
        options: dict[str, Any] = {"scheduler": self.name, "num_workers": self.workers}
        pending = list(self._pending)
        if done is not None:
            keys = {handle.result.key for handle in pending}  # the graph also has earlier results

            def after_task(key: str, *_: Any) -> None:
                if key in keys:
                    done(_stage_of(key))

            options["callbacks"] = [(None, None, None, after_task, None)]
        computed = dask.persist(*(handle.result for handle in pending), **options)
        for handle, result in zip(pending, computed, strict=True):
            handle.result = result
        self._pending.clear()
        results = [handle.result for handle in handles]
        return list(dask.compute(*results, scheduler="synchronous"))


def _without_progress(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that reports no progress: reports of parallel tasks have no order."""

    def call(*arguments: Any) -> Any:  # not a partial, in which Dask would look for collections
        with set_listener(False):
            return function(*arguments)

    return call


@dataclass(eq=False)
class _Handle:
    """A wrapper of Dask's delayed object or future, to which weak references are safe.

    A weak reference to a future can return one that another thread is deleting, after its result
    was released.
    """

    result: Any


class Cluster(Scheduler):
    """The workers of a `distributed.Client`.

    If they are processes of this machine, they read the caller's arrays from files in `folder`.
    Without a folder they are a cluster, and Dask sends the arrays.
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
        self.workers = sum(client.nthreads().values()) or 1
        self.worker_memory = _thread_memory(client)

    def begin_run(self) -> None:
        """Begin a run whose tasks have new keys, and whose notes have new topics."""
        self._token = _new_token()
        self.note = partial(_log, self._token)
        self._submitted = self._taken = 0

    def submit(self, function: Callable[..., Any], *handles: Any, key: str) -> Any:
        """Submit a task to the client."""
        packed = _PackedTask(_stage_of(key), cloudpickle.dumps(function))
        key, arguments = f"{key}-{self._token}", [handle.result for handle in handles]
        handle = self._handle(self._client.submit(packed, *arguments, key=key, pure=False))
        self._pending[key] = weakref.ref(handle)
        self._submitted += 1
        return handle

    def compute(self, collection: Any) -> Any:
        """Return a handle for a Dask collection, a future or a handle."""
        from distributed import Future

        if isinstance(collection, _Handle):
            return collection
        if isinstance(collection, Future):
            return _Handle(collection)  # the caller releases it
        return self._handle(self._client.compute(collection))

    def send(self, value: Any) -> Any:
        """Send a value to the memory of a worker. It is lost if the worker dies."""
        try:
            (future,) = self._client.scatter([value], hash=False)
        except OSError as error:  # the connection closed
            raise WorkerError(f"a worker died while it received data: {error}") from error
        return self._handle(future)

    def _handle(self, future: Any) -> _Handle:
        """Return a handle for a future that this scheduler releases."""
        handle = _Handle(future)
        self._live.add(handle)
        return handle

    def keep(self, handle: Any) -> Any:
        """Return the future of a handle. Its result stays on the workers after `release`."""
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
                pending = [reference() for reference in self._pending.values()]
                wait([handle.result for handle in pending if handle is not None])
                self._pending.clear()
                return list(self._client.gather([handle.result for handle in handles]))
        except KilledWorker as error:
            raise WorkerError(f"a worker died: {error}") from error
        except CancelledError as error:
            raise WorkerError(
                "results were lost: a worker died that had edges of the caller's arrays, or the "
                "cluster was restarted; repeat the call, or put the graph into files that all "
                "workers can read"
            ) from error
        except NoWorkerError as error:
            raise WorkerError(f"all workers have ended: {error}") from error

    def take_notes(self) -> list[Note]:
        """Return the notes that workers have logged since the last call."""
        notes: dict[int, Note] = {}
        first_topic = self._taken // _TASKS_PER_TOPIC
        for topic in range(first_topic, -(-self._submitted // _TASKS_PER_TOPIC)):
            for _, logged in self._client.get_events(_topic(self._token, topic)):
                number, (round_number, stage, partition, work), scalars = logged
                # If a worker died, a task may have run twice, but it counts once.
                if number >= self._taken:
                    call = StageCall(round_number, stage, partition, Work(*work))
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
            for key, reference in list(self._pending.items()):
                if (handle := reference()) is None or handle.result.done():
                    del self._pending[key]
                    done(_stage_of(key))
            futures = [handle.result for handle in handles]
            if all(future.done() for future in futures):
                continue
            with contextlib.suppress(TimeoutError):
                wait(futures, timeout=_CHECK_SECONDS)


class _PackedTask(NamedTuple):
    """A pickled task. If a worker cannot load it, the task fails instead of the worker's loop."""

    stage: str
    function: bytes

    def __call__(self, *results: Any) -> Any:
        try:
            function = pickle.loads(self.function)
        except Exception as error:  # unpickling may run any code
            cause = f"{type(error).__name__}: {error}"  # it may not be picklable
        else:
            return function(*results)
        raise WorkerError(f"a worker cannot load the task {self.stage!r}: {cause}")


def _new_token() -> str:
    """Return a suffix of keys. Dask returns an old result if a new task has the same key."""
    return uuid.uuid4().hex[:8]


def _topic(token: str, number: int) -> str:
    return f"mstflow-{token}-{number}"


def _log(token: str, note: Note) -> None:
    """Send the note of a task from a worker to the scheduler's event log."""
    worker = this_worker()
    if worker is not None:
        *call, work = note.call
        logged = note.number, (*call, tuple(work)), note.scalars
        worker.log_event(_topic(token, note.number // _TASKS_PER_TOPIC), logged)


def _stage_of(key: str) -> str:
    """Return the stage of a task: the part of its key before the first dash."""
    return key.partition("-")[0]


def _thread_memory(client: Any) -> int | None:
    """Return the smallest memory of a worker for each of its threads; None without limits."""
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    limits = [w["memory_limit"] // w["nthreads"] for w in workers if w["memory_limit"]]
    return min(limits, default=None)
