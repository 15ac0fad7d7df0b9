"""Open one of Dask's schedulers: local threads or processes, or a cluster."""

from __future__ import annotations

import contextlib
import re
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from functools import partial
from typing import Any

import dask

from ...errors import OptionError
from ...progress import has_listener, report_progress
from ...runtime.host import processors
from ...runtime.scratch import scratch_folder
from .dask_schedulers import Cluster, LocalDask
from .processes import check_process, local_cluster
from .scheduler import Scheduler, this_worker

#: Seconds between two reports that the connection to a cluster is still awaited.
_REPORT_SECONDS = 0.2

#: Other names of local schedulers in Dask's configuration.
_ALIASES = {
    "sync": "synchronous",
    "single-threaded": "synchronous",
    "threading": "threads",
    "multiprocessing": "processes",
}


@contextlib.contextmanager
def open_scheduler(choice: Any, threads: int | None) -> Iterator[Scheduler]:
    """Yield the scheduler that a user chose; close it and remove its files at the end.

    `threads` are the workers of a local scheduler, by default one per processor. On a cluster, they
    are the threads of each task, by default one.
    """
    choice = _configured() if choice == "dask" else choice
    with contextlib.ExitStack() as stack:
        if isinstance(choice, str) and "://" in choice:
            choice = stack.enter_context(_connect(choice))
        if hasattr(choice, "nthreads"):  # a client; distributed may not be imported
            yield _of_client(choice, threads or 1, stack)
        elif choice == "synchronous":
            yield LocalDask(choice, 1)
        elif choice == "threads":
            yield LocalDask(choice, threads or processors())
        elif choice == "processes":
            yield _of_processes(threads or processors(), stack)
        else:
            raise OptionError(
                f"scheduler {choice!r} is not known; choose from: inline, synchronous, threads, "
                "processes, dask, the address of a scheduler (tcp://host:port), or a "
                "distributed.Client"
            )


def _configured() -> Any:
    """Return the scheduler that Dask is configured for."""
    choice = dask.config.get("scheduler", None) or _active_client() or "threads"
    if choice in ("distributed", "dask.distributed"):  # Dask's setting while a client is active
        choice = _active_client() or "threads"  # a closed client may leave its setting
    return _ALIASES.get(choice, choice) if isinstance(choice, str) else choice


def _of_client(client: Any, threads: int, stack: contextlib.ExitStack) -> Scheduler:
    """Return the scheduler of a client; its results are released when the stack closes."""
    if client.asynchronous:
        raise OptionError(
            "the client is asynchronous, and this call is not; pass a client that was created "
            "without asynchronous=True, and not from a coroutine"
        )
    if client.status != "running":
        raise OptionError(f"the client is {client.status}, not running")
    _release_thread(stack)
    name = f"distributed ({client.scheduler.address})"
    cluster = Cluster(lambda: client, name, task_threads=threads)
    stack.callback(cluster.release)
    return cluster


def _of_processes(workers: int, stack: contextlib.ExitStack) -> Scheduler:
    """Return the scheduler of worker processes, which start with a task and end with the stack."""
    check_process()
    folder = stack.enter_context(scratch_folder(dask.config.get("temporary-directory", None)))
    start = partial(local_cluster, workers, folder, stack)
    return Cluster(start, "processes", workers=workers, folder=folder)


def _release_thread(stack: contextlib.ExitStack) -> None:
    """If a worker's pool owns this thread, remove it from the pool until the stack closes.

    A run inside a task waits for other tasks, and these may need the slot of this thread.
    """
    if this_worker() is not None:
        from distributed import rejoin, secede

        with contextlib.suppress(KeyError):  # already removed, as within `worker_client`
            secede()
            stack.callback(rejoin)


def _active_client() -> Any:
    """Return the default client of this process; None if there is none."""
    distributed = sys.modules.get("distributed")
    try:
        return distributed and distributed.default_client()
    except ValueError:
        return None


def _connect(address: str) -> Any:
    """Return a client of the cluster at an address."""
    if not re.fullmatch(r"(tcp|tls|ucx|wss?)://.+:\d+/?|inproc://.+", address):
        raise OptionError(
            f"{address!r} is not the address of a scheduler; expected tcp://host:port"
        )
    return _reporting(f"connect to {address}", partial(_client_of, address))


def _client_of(address: str) -> Any:
    from distributed import Client

    try:
        return Client(address, set_as_default=False)
    except Exception as error:  # of any kind, if it is another server
        raise OptionError(f"no scheduler answers at {address}: {error}") from error


def _reporting(step: str, function: Callable[[], Any]) -> Any:
    """Call a function that may wait for long, and report the step while it waits."""
    if not has_listener():
        return function()
    result: Future[Any] = Future()

    def call() -> None:
        try:
            result.set_result(function())
        except BaseException as error:
            result.set_exception(error)

    # The interpreter does not wait for a daemonic thread if the user interrupts the call.
    threading.Thread(target=call, daemon=True).start()
    while True:
        with contextlib.suppress(TimeoutError):
            return result.result(_REPORT_SECONDS)
        report_progress(step, 0, 0)
