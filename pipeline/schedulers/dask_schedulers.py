"""Schedulers that use Dask: its local schedulers, and clusters."""

from __future__ import annotations

import contextlib
import itertools
import pickle
import sys
import time
import uuid
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, NamedTuple

import cloudpickle
import dask

from ...errors import LostWorkerError, MstflowError, WorkerError
from ...primitives.cuda.device import computing_here
from ...progress import Listener, has_listener, report_progress, set_listener
from ...runtime.memory import keeping_blocks
from ..report.records import Note, StageCall
from .scheduler import Done, Scheduler, this_worker

_PACKAGE = __name__.partition(".")[0]
#: Seconds between two checks for finished tasks while progress is reported.
_CHECK_SECONDS = 0.1
#: How long a call waits at most until the scheduler has deleted its actors.
_CANCEL_SECONDS = 30.0
#: Seconds without a finished task after which progress states what the run waits for.
_STALL_SECONDS = 1.0
#: The annotations of Dask with which a caller chooses the workers of tasks.
_PLACING = frozenset(("workers", "resources"))
#: The topic of the notes of all tasks. A Dask scheduler keeps each topic, with its last events, for
#: ever, but sends all events to the subscribers.
_TOPIC = "mstflow"


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

    def submit(self, function: Callable[..., Any], *handles: Any, key: str, **_: Any) -> Any:
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
    Without a folder they are a cluster, and Dask sends the arrays. `connect` returns the client; if
    the number of workers is given, it is called only when there is a task.
    """

    def __init__(
        self,
        connect: Callable[[], Any],
        name: str,
        *,
        workers: int | None = None,
        task_threads: int = 1,
        folder: str | None = None,
    ) -> None:
        super().__init__(name, workers or 1, task_threads, is_cluster=folder is None, eager=False)
        self._connect, self.input_folder = connect, folder
        self._pending: dict[str, weakref.ref[_Handle]] = {}
        self._live: weakref.WeakSet[_Handle] = weakref.WeakSet()
        self.begin_run()
        if workers is None:
            self.count_workers()

    @cached_property
    def _client(self) -> Any:
        """The client; workers of this machine start with it, after a plan was accepted."""
        client = self._connect()
        client.subscribe_topic(_TOPIC, _receive)
        return client

    def count_workers(self) -> None:
        """Count the threads of the workers; wait for a worker if there is none."""
        with self.errors():
            if not self._client.nthreads():  # an adaptive cluster starts one when there is a task
                self.gather([self.submit(int, key="wait_for_workers")])
            self.workers = sum(self._client.nthreads().values()) or 1
            self.worker_memory = _thread_memory(self._client)

    @property
    def idle_memory(self) -> int | None:
        """The most bytes that an idle worker keeps for its next task; None for no bound.

        Dask counts them, and pauses a worker that is nearly full.
        """
        return self.default_memory if self.is_cluster else 0

    def begin_run(self) -> None:
        """Begin a run whose tasks have new keys, and whose notes have a new token."""
        super().begin_run()
        self._pending.clear()
        self._token = _new_token()
        self.note = partial(_log, self._token)
        #: A listener of tasks that report the progress of the run themselves.
        self.log_progress: Listener = partial(_log_progress, self._token)
        #: The latest of their reports.
        self.progress = ("", 0, 0)
        _receivers[self._token] = self
        self._taken = 0
        self.__dict__.pop("_slots", None)

    @cached_property
    def _slots(self) -> list[str]:
        """The worker of each thread. Adjacent partitions, which are merged first, share one."""
        with self.errors():
            threads = self._client.nthreads()
        return [worker for worker, count in threads.items() for _ in range(count)]

    def submit(
        self,
        function: Callable[..., Any],
        *handles: Any,
        key: str,
        share: Fraction | None = None,
        actor: bool = False,
    ) -> Any:
        """Submit a task to the client. As an actor, its result stays on the worker."""
        packed = _PackedTask(
            _stage_of(key), cloudpickle.dumps(function), _version(), self.idle_memory
        )
        key, arguments = f"{key}-{self._token}", [handle.result for handle in handles]
        pin = {} if share is None else self._pin(share)
        with self.errors():
            future = self._client.submit(
                packed, *arguments, key=key, pure=False, actor=actor, **pin
            )
        handle = self._handle(future)
        self._pending[key] = weakref.ref(handle)
        return handle

    def _pin(self, share: Fraction) -> dict[str, Any]:
        """Return the options that send the tasks of a partition to one worker.

        Without them, Dask considers only the workers that hold an input of the task, even a
        small one. Another worker may still take the task, if this one is busy or has ended.
        """
        is_placed = not _PLACING.isdisjoint(dask.get_annotations())  # by the caller
        if is_placed or len(set(self._slots)) < 2:
            return {}
        worker = self._slots[int(share * len(self._slots))]
        return {"workers": [worker], "allow_other_workers": True}

    def spread(self, count: int) -> list[range]:
        """Divide tasks with consecutive shares among the workers to which `submit` sends them."""
        slots = self._slots or [""]
        workers = [slots[place * len(slots) // count] for place in range(count)]
        places = itertools.groupby(range(count), workers.__getitem__)
        return [range(own[0], own[-1] + 1) for own in ([*group] for _, group in places)]

    def occupy(self, actors: Sequence[Any], stay: Callable[[str], object]) -> list[Any]:
        """Call a function with the key of each actor, on its worker, in a task that lasts.

        Dask counts only tasks: it would take the worker of an actor for idle, and may close it.
        """
        keys = [handle.result.key for handle in actors]
        with self.errors():
            workers = self._client.who_has([handle.result for handle in actors])
            return [
                self._handle(
                    self._client.submit(
                        stay, key, key=f"stay-{key}", pure=False, workers=list(workers[key])
                    )
                )
                for key in keys
            ]

    def compute(self, collection: Any) -> Any:
        """Return a handle for a Dask collection, a future or a handle."""
        from distributed import Future

        if isinstance(collection, _Handle):
            return collection
        if isinstance(collection, Future):
            return _Handle(collection)  # the caller releases it
        with self.errors():
            return self._handle(self._client.compute(collection))

    def send(self, value: Any) -> Any:
        """Send a value to the memory of a worker. It is lost if the worker dies."""
        with self.errors():
            try:
                (future,) = self._client.scatter([value], hash=False)
            except Exception as error:  # its class depends on the moment at which the worker died
                raise LostWorkerError(f"a worker died while it received data: {error}") from error
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
        """Call a function in the process of each worker that has started, unless it dies."""
        with self.errors():
            results = self._client.run(function, *arguments, on_error="return")
        for address, result in results.items():
            if isinstance(result, MstflowError):
                raise type(result)(f"{result} (on worker {address})") from result
            if isinstance(result, BaseException) and not isinstance(result, OSError):  # no contact
                raise WorkerError(f"worker {address} failed: {result}") from result

    def gather(self, handles: Sequence[Any], done: Done = None) -> list[Any]:
        """Wait until all live results and their notes exist, and fetch the results of `handles`."""
        with self.errors(), self._client.as_current():  # `wait` uses the current client
            if has_listener():
                self._watch(handles, done or (lambda _: None))
            pending = [reference() for reference in self._pending.values()]
            self._wait([handle.result for handle in pending if handle is not None])
            self._pending.clear()
            return list(self._client.gather([handle.result for handle in handles]))

    def _wait(self, futures: list[Any]) -> None:
        """Wait for futures; raise a WorkerError if no worker will run them."""
        from distributed import wait

        while True:
            with contextlib.suppress(TimeoutError):
                wait(futures, timeout=_STALL_SECONDS)
                return
            self._check_workers()

    def _check_workers(self) -> None:
        """Raise a WorkerError if new workers have replaced all workers of the run.

        Dask gives a pinned task to another worker, but not to one that starts when none is left.
        """
        workers = self._client.nthreads()
        if workers and workers.keys().isdisjoint(self._slots) and self._is_idle():
            raise LostWorkerError(
                f"a worker died, and all others of this run, too; {len(workers)} workers have "
                "started since: repeat the call"
            )

    def _is_idle(self) -> bool:
        """Return whether no worker has a pending task."""
        processing = self._client.processing().values()
        return self._pending.keys().isdisjoint(key for keys in processing for key in keys)

    @contextlib.contextmanager
    def errors(self) -> Iterator[None]:
        """Convert errors of a cluster, above all if the client lost its scheduler."""
        from distributed import KilledWorker
        from distributed.scheduler import NoWorkerError

        try:
            yield
        except (Exception, CancelledError) as error:
            if isinstance(error, MstflowError):
                raise
            if self._client.status != "running":
                raise WorkerError(
                    "the client was closed, or lost its scheduler, while the call was running "
                    f"({error or type(error).__name__}); repeat the call with another client"
                ) from error
            if isinstance(error, KilledWorker):
                raise WorkerError(f"a worker died: {error}") from error
            if isinstance(error, NoWorkerError):
                raise WorkerError(f"all workers have ended: {error}") from error
            if isinstance(error, CancelledError):
                raise LostWorkerError(
                    "results were lost: a worker died that had edges of the caller's arrays, or "
                    "the cluster was closed or restarted; repeat the call, or put the graph into "
                    "files that all workers can read"
                ) from error
            raise

    def take_notes(self) -> list[Note]:
        """Return the notes that workers have logged since the last call.

        If a worker died, a task may have run twice, but it counts once.
        """
        notes = {note.number: note for note in super().take_notes() if note.number >= self._taken}
        self._taken = max(notes, default=self._taken - 1) + 1
        return list(notes.values())

    def release(self) -> None:
        """Release all results: the traceback of a failed task may keep their handles alive."""
        for handle in self._live:
            handle.result.release()

    def cancel(self, handles: Sequence[Any]) -> None:
        """Delete tasks and actors, although other workers refer to these."""
        results = [handle.result for handle in handles]

        async def cancel() -> None:
            await self._client.cancel(results, asynchronous=True, force=True)

        # The scheduler deletes all results of a client that is closed. A call of such a client may
        # not return, because its loop ends.
        if self._client.status == "running":
            with contextlib.suppress(Exception):  # the cluster may have been closed
                self._client.sync(cancel, callback_timeout=_CANCEL_SECONDS)

    def _watch(self, handles: Sequence[Any], done: Callable[[str], object]) -> None:
        """Call `done` for each task that finishes, until the results of `handles` exist.

        If none finishes for a while, report what the tasks wait for.
        """
        from distributed import wait

        changed = time.monotonic()
        while self._pending:
            for key, reference in list(self._pending.items()):
                if (handle := reference()) is None or handle.result.done():
                    del self._pending[key]
                    done(_stage_of(key))
                    changed = time.monotonic()
            futures = [handle.result for handle in handles if not handle.result.done()]
            if time.monotonic() - changed > _STALL_SECONDS:
                self._check_workers()
                if (reason := self._reason_to_wait()) is not None:
                    report_progress(reason, 0, 0)
                changed = time.monotonic()
            if futures:
                with contextlib.suppress(TimeoutError):
                    wait(futures, timeout=_CHECK_SECONDS)
            elif self._pending:
                time.sleep(_CHECK_SECONDS)

    def _reason_to_wait(self) -> str | None:
        """Return what the tasks wait for; None if a worker has one of them."""
        if not self._client.nthreads():
            return "wait for a worker: the cluster has none"
        if not self._is_idle():
            return None
        resources = dask.get_annotations().get("resources")
        return (
            f"wait for a worker with the resources {resources}"
            if resources
            else ("wait for a free worker")
        )


class _PackedTask(NamedTuple):
    """A pickled task. If a worker cannot load it, the task fails instead of the worker's loop."""

    stage: str
    function: bytes
    #: The caller's version of this package.
    version: str = "an unknown version"
    #: See `Cluster.idle_memory`.
    idle_memory: int | None = 0

    def __call__(self, *results: Any) -> Any:
        if self.version != _version():
            worker = this_worker()
            raise WorkerError(
                f"a worker has mstflow {_version()}, but the caller has {self.version}; install "
                f"one version on all hosts (on worker {worker and worker.address})"
            )
        try:
            function = pickle.loads(self.function)
        except Exception as error:  # unpickling may run any code
            cause = f"{type(error).__name__}: {error}"  # it may not be picklable
        else:
            with keeping_blocks(most=self.idle_memory):
                return function(*results)
        raise WorkerError(f"a worker cannot load the task {self.stage!r}: {cause}")


def _version() -> str:
    return str(sys.modules[_PACKAGE].__version__)


def _new_token() -> str:
    """Return a suffix of keys. Dask returns an old result if a new task has the same key."""
    return uuid.uuid4().hex[:8]


#: The schedulers of this process, by the tokens of their runs.
_receivers: weakref.WeakValueDictionary[str, Cluster] = weakref.WeakValueDictionary()


def _log(token: str, note: Note) -> None:
    """Send the note of a task from a worker to the subscribers of the topic."""
    worker = this_worker()
    if worker is not None:
        worker.log_event(_TOPIC, (token, note.number, tuple(note.call), note.scalars))


def _log_progress(token: str, step: str, done: int, total: int) -> None:
    """Send the progress of a run from a worker, as `_log` sends notes."""
    worker = this_worker()
    if worker is not None:
        worker.log_event(_TOPIC, (token, None, (step, done, total), {}))


def _receive(event: tuple[float, Any]) -> None:
    """Add a note to the run with its token, unless this is a run of another process."""
    _, (token, number, content, scalars) = event
    if (run := _receivers.get(token)) is None:
        return
    if number is None:
        run.progress = tuple(content)
        return
    run._notes.append(Note(number, StageCall(*content), scalars))


def _stage_of(key: str) -> str:
    """Return the stage of a task: the part of its key before the first dash."""
    return key.partition("-")[0]


def _thread_memory(client: Any) -> int | None:
    """Return the smallest memory of a worker for each of its threads; None without limits."""
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    limits = [w["memory_limit"] // w["nthreads"] for w in workers if w["memory_limit"]]
    return min(limits, default=None)
