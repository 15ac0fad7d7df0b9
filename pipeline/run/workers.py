"""What a task can tell of the worker that runs it: its backend, and errors of its GPU."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING

from ...errors import KernelError
from ...primitives import Backend, known_backends, why_not

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Whose errors tell that a GPU failed. Out of memory is a MemoryError of theirs.
_DEVICE_LIBRARIES = ("cupy", "cupy_backends", "cuda")


def worker_backend(backend: Backend) -> Backend:
    """Return the backend that this worker's Dask resources name, or else the one given.

    Workers of one cluster may differ, each started as ``dask worker ADDRESS --resources numba=1``:
    any of them may take any task, since all backends find the same edges.
    """
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return backend
    try:
        resources = distributed.get_worker().state.total_resources
    except ValueError:  # this is no task of a worker
        return backend
    named = [name for name in known_backends() if name in resources and not why_not(name)]
    return backend._replace(name=named[0]) if named else backend


@contextlib.contextmanager
def device_errors(task: str) -> Iterator[None]:
    """Name the task in errors of a GPU that come up outside stages.

    Raises
    ------
    KernelError
        In their place.
    """
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in _DEVICE_LIBRARIES:
            raise
        message = f"the GPU failed in task {task!r}: {type(error).__name__}: {error}"
        raise KernelError(message) from error
