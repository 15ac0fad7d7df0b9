"""The worker that runs a task: its backend, and its address in errors."""

from __future__ import annotations

import sys
from typing import Any

from ...errors import KernelError, MstflowError
from ...primitives import Backend, known_backends, why_not

#: Libraries whose errors mean that the GPU failed; lack of memory is a MemoryError.
_DEVICE_LIBRARIES = ("cupy", "cupy_backends", "cuda")


def this_worker() -> Any:
    """Return the cluster's worker that runs this task; None outside a cluster."""
    distributed = sys.modules.get("distributed")
    try:
        return distributed and distributed.get_worker()
    except ValueError:
        return None


def worker_backend(backend: Backend) -> Backend:
    """Return the backend named in this worker's Dask resources, or `backend` if there is none.

    Workers of one cluster may use different backends. The command that starts a worker selects one:
    ``dask worker ADDRESS --resources numba=1``. Any worker may run any task, because all backends
    find the same edges.
    """
    worker = this_worker()
    if worker is None:
        return backend
    resources = worker.state.total_resources
    named = [name for name in known_backends() if name in resources and not why_not(name)]
    return backend._replace(name=named[0]) if named else backend


def add_place(error: Exception, task: str, *, on_cluster: bool) -> None:
    """Add the address of the worker to an error of this package, and the task to one of the GPU.

    For a task inside another task, `on_cluster` is false: the outer task adds the address.

    Raises
    ------
    KernelError
        Replaces an error of the GPU that occurred outside the stage.
    """
    if isinstance(error, MstflowError):
        worker = this_worker() if on_cluster else None
        if worker is not None:  # the error may occur only on this worker
            error.args = (f"{error} (on worker {worker.address})", *error.args[1:])
    elif type(error).__module__.partition(".")[0] in _DEVICE_LIBRARIES:
        message = f"the GPU failed in task {task!r}: {type(error).__name__}: {error}"
        raise KernelError(message) from error
