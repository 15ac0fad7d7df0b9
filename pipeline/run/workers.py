"""The worker that runs a task: its backend, its name in errors, and errors of its GPU."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Any

from ...errors import KernelError, MstflowError
from ...primitives import Backend, known_backends, why_not

if TYPE_CHECKING:
    from collections.abc import Iterator

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


@contextlib.contextmanager
def task_errors(task: str, *, on_cluster: bool) -> Iterator[None]:
    """Name the task in errors of a GPU that occur outside stages, and the worker in ours.

    Tasks that run inside others leave the worker to these: they are not `on_cluster`.

    Raises
    ------
    KernelError
        In place of an error of a GPU.
    """
    try:
        yield
    except MemoryError:
        raise
    except MstflowError as error:
        worker = this_worker() if on_cluster else None
        if worker is not None:  # another may have what this one lacks
            error.args = (f"{error} (on worker {worker.address})", *error.args[1:])
        raise
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in _DEVICE_LIBRARIES:
            raise
        message = f"the GPU failed in task {task!r}: {type(error).__name__}: {error}"
        raise KernelError(message) from error
