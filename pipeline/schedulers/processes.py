"""Start worker processes on this machine, which end with their run."""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
from collections.abc import Iterator
from typing import Any

import dask

from ...errors import OptionError, WorkerError

#: Seconds in which worker processes must end.
_CLOSE_SECONDS = 30
#: The exit status of a new process that starts this run again while it imports the main module.
_UNGUARDED = 86


def check_process() -> None:
    """Check that this process can start workers; end it if it is itself only starting.

    A new process first imports the main module. If the import starts this run again, the process
    ends without a traceback, and `local_cluster` raises the error, once.
    """
    if multiprocessing.current_process().daemon:
        raise OptionError(
            "scheduler 'processes' cannot start workers in a daemonic process, such as a worker of "
            "Dask or of multiprocessing.Pool; choose 'inline' or 'threads', or within a Dask task "
            "pass distributed.get_client()"
        )
    if multiprocessing.current_process().name != "MainProcess":  # a child has its name first
        try:
            _exit_status(_CLOSE_SECONDS)
        except RuntimeError:  # a process cannot start another one before it has started
            raise SystemExit(_UNGUARDED) from None


def local_cluster(
    workers: int,
    folder: str,
    stack: contextlib.ExitStack,
    *,
    start_seconds: int = 120,
    no_workers_seconds: int = 60,
) -> Any:
    """Return a client of worker processes on this machine, which end when the stack closes.

    They must start within `start_seconds`, and their files are in `folder`. Tasks fail if there is
    no worker for `no_workers_seconds`; by default, they would wait without end. Dask restarts a
    worker that dies, except if it dies again while it starts.
    """
    from distributed import Client, LocalCluster

    options = {  # `LocalCluster` has no options for them
        "temporary-directory": folder,
        "distributed.scheduler.no-workers-timeout": f"{no_workers_seconds}s",
    }
    try:
        with dask.config.set(options), _silent("distributed.nanny"):
            cluster = LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                memory_limit=0,
                dashboard_address=":0",
                death_timeout=start_seconds,
            )
        stack.callback(_close, cluster)
        client = Client(cluster, set_as_default=False)
        stack.callback(_close, client)
    except Exception as error:  # of any kind: failed assertions, too
        if _exit_status(start_seconds) == _UNGUARDED:
            raise WorkerError(
                "worker processes import the main module of the program, and this import starts "
                "the run again; put the calls in the main module below `if __name__ == "
                '"__main__":`'
            ) from None
        raise WorkerError(
            f"{workers} worker processes did not start within {start_seconds} s "
            f"({type(error).__name__}: {error}); choose scheduler 'threads' or 'inline'"
        ) from error
    return client


def _exit_status(seconds: float) -> int | None:
    """Return the exit status of a new process without work; None if it does not end in time."""
    process = multiprocessing.get_context("spawn").Process(target=int, daemon=True)
    process.start()
    process.join(seconds)
    if process.exitcode is None:
        process.kill()
    return process.exitcode


@contextlib.contextmanager
def _silent(name: str) -> Iterator[None]:
    """Return a context in which a logger prints nothing: the caller raises an error instead."""
    logger = logging.getLogger(name)
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(level)


def _close(opened: Any) -> None:
    """Close a client or a cluster. A worker that does not end in time ends with this process."""
    # Workers may have died. An error of any kind must not replace the result of a run.
    with contextlib.suppress(Exception):
        opened.close(timeout=_CLOSE_SECONDS)
