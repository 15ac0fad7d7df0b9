"""Opens the scheduler that a user asked for: inline, one of Dask's, a cluster."""

from __future__ import annotations

import contextlib
import importlib.util
import re
import sys
import tempfile
from typing import TYPE_CHECKING, Any

import dask

from ...errors import OptionError
from ...runtime.team import processors
from .dask_scheduler import Cluster, LocalDask

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .schedulers import Scheduler

LOCAL = ("synchronous", "threads", "processes")

#: Other names Dask's configuration may have for its local schedulers.
_ALIASES = {
    "sync": "synchronous",
    "single-threaded": "synchronous",
    "threading": "threads",
    "multiprocessing": "processes",
}


@contextlib.contextmanager
def open_scheduler(choice: Any, threads: int | None) -> Iterator[Scheduler]:
    """Yield the scheduler a user asked for, and clear away what it needed.

    Parameters
    ----------
    choice : str or distributed.Client
        "inline", a name in `LOCAL`, "dask" (whatever Dask has active), an address, or a client.
    threads : int, optional
        Workers of a local scheduler; as many as there are processors if not given.

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
        if hasattr(choice, "nthreads"):  # a client, recognised without importing distributed
            if choice.status != "running":
                message = f"the client is {choice.status}, not running"
                raise OptionError(message)
            name = f"distributed ({choice.scheduler.address})"
            cluster = Cluster(choice, stack.enter_context(_input_folder()), name)
            stack.callback(cluster.release)
            yield cluster
        elif choice in ("synchronous", "threads"):
            yield LocalDask(choice, 1 if choice == "synchronous" else threads or processors())
        elif choice == "processes":
            folder = stack.enter_context(_input_folder())
            client = stack.enter_context(_local_cluster(threads or processors(), folder))
            yield Cluster(client, folder, choice)
        else:
            message = (
                f"scheduler {choice!r} is not known; choose from: inline, {', '.join(LOCAL)}, "
                "dask, the address of a scheduler (tcp://host:port), or a distributed.Client"
            )
            raise OptionError(message)


@contextlib.contextmanager
def _local_cluster(workers: int, folder: str) -> Iterator[Any]:
    """Yield a client of worker processes on this machine, which end with it.

    They leave nothing outside of `folder`: the scheduler of a cluster takes no other say in it
    than Dask's configuration.
    """
    from distributed import Client, LocalCluster

    with dask.config.set({"temporary-directory": folder}):
        cluster = LocalCluster(
            n_workers=workers, threads_per_worker=1, memory_limit=0, dashboard_address=":0"
        )
    with (
        cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


def _input_folder() -> tempfile.TemporaryDirectory[str]:
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
    from distributed import Client

    if not re.fullmatch(r"(tcp|tls|ucx|wss?)://.+:\d+/?|inproc://.+", address):
        message = f"{address!r} is not the address of a scheduler; an example is tcp://host:8786"
        raise OptionError(message)
    try:
        return Client(address, set_as_default=False)
    except (OSError, ValueError) as error:
        message = f"no scheduler answers at {address}: {error}"
        raise OptionError(message) from error


@contextlib.contextmanager
def reporting_client(address: str, path: str) -> Iterator[Any]:
    """Yield a client of a cluster, and write what its workers did meanwhile as HTML.

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
