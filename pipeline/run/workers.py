"""The worker that runs a task: its backend, its name in errors, and errors of its GPU."""

from __future__ import annotations

import sys
from typing import Any

from ...errors import KernelError, MstflowError
from ...primitives import Backend, known_backends, why_not

#: Whose errors mean that a GPU failed. Out of memory is a MemoryError of theirs.
_DEVICE_LIBRARIES = ("cupy", "cupy_backends", "cuda")


def this_worker() -> Any:
    """Return the worker of a cluster that runs this task; None if no cluster does."""
    distributed = sys.modules.get("distributed")
    try:
        return distributed and distributed.get_worker()
    except ValueError:
        return None


def worker_backend(backend: Backend) -> Backend:
    """Return the backend that this worker's Dask resources name, or else the one given.

    Workers of one cluster may differ, each started as ``dask worker ADDRESS --resources numba=1``:
    any of them may take any task, since all backends find the same edges.
    """
    worker = this_worker()
    if worker is None:
        return backend
    resources = worker.state.total_resources
    named = [name for name in known_backends() if name in resources and not why_not(name)]
    return backend._replace(name=named[0]) if named else backend


def add_place(error: Exception, task: str, *, on_cluster: bool) -> None:
    """Add the worker to an error of this package, and the task to an error of the GPU.

    A task inside another task is not `on_cluster`: the outer one adds the worker.

    Raises
    ------
    KernelError
        In place of an error of the GPU that occurred outside the stage.
    """
    if isinstance(error, MstflowError):
        worker = this_worker() if on_cluster else None
        if worker is not None:  # another worker may have what this one lacks
            error.args = (f"{error} (on worker {worker.address})", *error.args[1:])
    elif type(error).__module__.partition(".")[0] in _DEVICE_LIBRARIES:
        message = f"the GPU failed in task {task!r}: {type(error).__name__}: {error}"
        raise KernelError(message) from error
