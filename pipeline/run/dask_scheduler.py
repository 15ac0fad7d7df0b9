"""Tasks by way of Dask: on its local schedulers, or on a cluster."""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import multiprocessing
import operator
import os
import pickle
import re
import signal
import sys
import tempfile
import threading
import uuid
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from typing import TYPE_CHECKING, Any

import cloudpickle
import dask
from dask.multiprocessing import get_context

from ...errors import OptionError, WorkerError
from ...primitives.cuda.device import computing_here
from ...runtime.memory import keeping_blocks
from . import scratch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Executor

LOCAL = ("synchronous", "threads", "processes")

#: Other names Dask's configuration may have for its local schedulers.
_ALIASES = {
    "sync": "synchronous",
    "single-threaded": "synchronous",
    "threading": "threads",
    "multiprocessing": "processes",
}


class Dask:
    """Builds Dask graphs with `dask.delayed` and computes them with one of Dask's schedulers.

    Parameters
    ----------
    name : str
        A local scheduler of Dask's, or a label if there is a client.
    workers : int
        How many tasks may run at once.
    folder : str, optional
        A scratch folder that all workers see.
    pool : concurrent.futures.Executor, optional
        Processes to run on, kept between computations.
    client : distributed.Client, optional
        The cluster to run on.
    """

    eager = False

    def __init__(
        self,
        name: str,
        workers: int,
        folder: str | None = None,
        pool: Executor | None = None,
        client: Any = None,
    ) -> None:
        self.name, self.workers, self._client = name, workers, client
        self.input_folder = folder
        self.task_folder = folder if pool else scratch.ON_HOST if client else None
        # One task at a time: Dask gives a process six in a row, and leaves others idle meanwhile.
        self._options = {"scheduler": name, "pool": pool, "num_workers": workers, "chunksize": 1}
        self._token = uuid.uuid4().hex[:8]  # keeps the keys of two runs on one cluster apart
        self._submitted = 0

    def submit(self, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Add a task; on dashboards tasks are grouped by the first word of their name."""
        self._submitted += 1
        if self.input_folder is not None:  # it goes to another process
            function = partial(_call_packed, name, cloudpickle.dumps(function))
        else:
            function = computing_here(function)
        task = dask.delayed(function, pure=False, traverse=False)
        return task(*arguments, dask_key_name=f"{name}-{self._submitted}-{self._token}")

    def outputs(self, handle: Any, count: int) -> list[Any]:
        """Add a task for each item.

        Each has a group of its own by its name: Dask spreads tasks over all workers, wherever the
        vertices' labels lie, if they depend on few tasks of few groups.
        """
        name, _, rest = handle.key.partition("-")
        item = dask.delayed(operator.getitem, pure=False)
        return [
            item(handle, place, dask_key_name=f"{name}_{place}-{rest}") for place in range(count)
        ]

    def settle(
        self, handles: Sequence[Any], done: Callable[[int], object] | None = None
    ) -> list[Any]:
        """Persist, in memory or on the cluster; files nobody refers to any more are removed."""
        places = {h.key: i for i, h in enumerate(handles) if dask.is_dask_collection(h)}
        tasks = [handles[place] for place in places.values()]
        with _worker_errors():
            if self._client is not None:
                persisted = self._client.persist(tasks)
                self._wait(persisted, places, done)
            else:
                options: dict[str, Any] = dict(self._options)
                if done is not None:
                    tell = lambda key, *_: key in places and done(places[key])  # noqa: E731
                    options["callbacks"] = [(None, None, None, tell, None)]
                persisted = dask.persist(*tasks, **options)
        settled = list(handles)
        for place, task in zip(places.values(), persisted, strict=True):
            settled[place] = task
        if self.task_folder:
            scratch.keep_only(self.task_folder, dask.compute(*settled, scheduler="synchronous"))
        return settled

    def fetch(self, handles: Sequence[Any]) -> list[Any]:
        """Bring results to the caller; scratch files are read into memory."""
        with _worker_errors():
            if self._client is not None:
                from distributed import futures_of

                there = {future.key: future for future in futures_of(list(handles))}
                found = [there.get(getattr(h, "key", None), h) for h in handles]
                return self._client.gather(found)  # type: ignore[no-any-return]
            return [scratch.fetch(value) for value in dask.compute(*handles, **self._options)]

    def _wait(
        self, tasks: list[Any], places: dict[str, int], done: Callable[[int], object] | None
    ) -> None:
        """Wait for tasks of a cluster, if somebody wants to know how they get on."""
        if done is None:
            return
        from distributed import as_completed, futures_of

        for future in as_completed(futures_of(tasks), loop=self._client.loop):
            done(places[future.key])


def _call_packed(name: str, packed: bytes, *arguments: Any) -> Any:
    """Call a function sent as bytes: what cannot be loaded fails its task, not the worker."""
    try:
        function = pickle.loads(packed)
    except Exception as error:  # loading may run anything
        message = f"a worker cannot load the task {name!r}: {type(error).__name__}: {error}"
    else:
        return function(*arguments)
    raise WorkerError(message)


@contextlib.contextmanager
def _worker_errors() -> Iterator[None]:
    """Tell the death of workers as an error of ours."""
    try:
        yield
    except Exception as error:
        if isinstance(error, BrokenProcessPool) or type(error).__name__ == "KilledWorker":
            message = f"a worker died: {error}"
            raise WorkerError(message) from error
        raise


def _start_worker() -> None:
    """Keep memory from task to task, and leave it to the caller when it ends: Ctrl-C, for one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    memory = contextlib.ExitStack()
    memory.enter_context(keeping_blocks())  # from task to task
    atexit.register(memory.close)
    parent = multiprocessing.parent_process()
    if parent is not None:  # a caller that was killed cannot say so
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: Any) -> None:
    parent.join()
    os._exit(1)


@contextlib.contextmanager
def open_dask(choice: Any, workers: int) -> Iterator[Dask]:
    """Yield the scheduler of Dask's that `choice` names, and clear away what it needed.

    Parameters
    ----------
    choice : str or distributed.Client
        A name in `LOCAL`, "dask" (whatever Dask has active), an address, or a client.
    workers : int
        How many tasks a local scheduler runs at once.

    Raises
    ------
    OptionError
        If there is no such scheduler, or it cannot be reached.
    """
    if choice == "dask":
        choice = dask.config.get("scheduler", None) or _active_client() or "threads"
        if choice in ("distributed", "dask.distributed"):  # set where a client is active
            choice = _active_client()
        choice = _ALIASES.get(choice, choice) if isinstance(choice, str) else choice
    with contextlib.ExitStack() as stack:
        if isinstance(choice, str) and "://" in choice:
            choice = stack.enter_context(_connect(choice))
        if hasattr(choice, "nthreads"):  # a client, told without importing distributed
            if choice.status != "running":
                message = f"the client is {choice.status}, not running"
                raise OptionError(message)
            folder = stack.enter_context(_scratch_folder())
            workers = sum(choice.nthreads().values()) or 1
            yield Dask("distributed", workers, folder, client=choice)
        elif choice in ("synchronous", "threads"):
            yield Dask(choice, 1 if choice == "synchronous" else workers)
        elif choice == "processes":
            folder = stack.enter_context(_scratch_folder())
            pool = ProcessPoolExecutor(workers, get_context(), initializer=_start_worker)
            stack.enter_context(pool)
            yield Dask(choice, workers, folder, pool)
        else:
            message = (
                f"scheduler {choice!r} is not known; choose from: inline, {', '.join(LOCAL)}, "
                "dask, the address of a scheduler (tcp://host:port), or a distributed.Client"
            )
            raise OptionError(message)


def _scratch_folder() -> tempfile.TemporaryDirectory[str]:
    parent = dask.config.get("temporary-directory", None)
    try:
        return tempfile.TemporaryDirectory(prefix="mstflow-", dir=parent)
    except OSError as error:
        message = f"no scratch folder can be made in {parent}: {error.strerror}"
        raise OptionError(message) from error


def _active_client() -> Any:
    """Return the client of this process if `distributed` is in use at all."""
    if "distributed" not in sys.modules:
        return None
    try:
        return sys.modules["distributed"].default_client()
    except ValueError:
        return None


def _connect(address: str) -> Any:
    try:
        from distributed import Client
    except ImportError as error:
        message = "a scheduler's address needs the package distributed: mstflow[distributed]"
        raise OptionError(message) from error
    if not re.fullmatch(r"(tcp|tls|ucx|wss?)://.+:\d+/?|inproc://.+", address):
        message = f"{address!r} is no address of a scheduler; they look like tcp://host:port"
        raise OptionError(message)
    try:
        return Client(address, set_as_default=False)
    except (OSError, ValueError) as error:
        message = f"no scheduler answers at {address}: {error}"
        raise OptionError(message) from error


@contextlib.contextmanager
def reporting_client(address: str, path: str) -> Iterator[Any]:
    """Yield a client of a cluster; what its workers did meanwhile is written as HTML.

    Raises
    ------
    OptionError
        If no scheduler answers there, or bokeh is not installed, which draws the report.
    """
    if importlib.util.find_spec("bokeh") is None:
        message = "a performance report needs the package bokeh"
        raise OptionError(message)
    with _connect(address) as client, client.as_current():
        from distributed import performance_report

        with performance_report(path):
            yield client
