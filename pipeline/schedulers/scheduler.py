"""The interface of schedulers, and the scheduler that runs tasks in the calling thread.

The interface resembles `distributed.Client`. `submit` takes a function and handles of results, and
returns the handle of a new result. Results stay on the workers until `gather` fetches them.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ...errors import KernelError, MstflowError
from ...primitives import Backend, known_backends, why_not
from ...runtime.team import kernel_threads
from ..report.records import Note

#: A callback for the name of each task that finishes, or None.
Done = Callable[[str], object] | None
#: Libraries whose errors mean that the GPU failed; lack of memory is a MemoryError.
_DEVICE_LIBRARIES = ("cupy", "cupy_backends", "cuda")
_SHARE_FILES = (
    "all workers must see the files of a graph, and a checkpoint, under the same absolute paths: "
    "use a shared folder, copy the files to each host with their times, or pass arrays or Dask "
    "collections"
)


@dataclass(eq=False)
class Workers:
    """The workers of a scheduler: the properties on which a plan depends."""

    #: The name of the scheduler in reports.
    name: str = "inline"
    #: The number of tasks that can run at once, and of threads of each task.
    workers: int = 1
    task_threads: int = 1
    #: Whether each task has its own memory.
    is_cluster: bool = False
    #: Whether tasks run in the calling thread when they are submitted, so that a handle is the
    #: result itself.
    eager: bool = True
    #: Bytes of the smallest worker for each of its threads; None if workers have no limit.
    worker_memory: int | None = None

    @property
    def is_remote(self) -> bool:
        """Whether tasks run in other processes, so that their fields must be in host memory."""
        return self.is_cluster or self.name == "processes"

    @property
    def default_memory(self) -> int | None:
        """The default bound of a task: a quarter of its share of the smallest worker's memory."""
        return None if self.worker_memory is None else self.worker_memory // 4

    @property
    def max_memory(self) -> int | None:
        """The largest bound of a task: 80 % of its share, because Dask pauses a fuller worker."""
        return None if self.worker_memory is None else self.worker_memory * 4 // 5

    def tasks_sharing_memory(self, partitions: int) -> int:
        """Return the number of tasks that share the memory of a run."""
        if self.is_cluster:
            return 1
        # Any process may run a merge, and its pool keeps this memory, so count all processes.
        return self.workers if self.name == "processes" else min(self.workers, partitions)


@dataclass(eq=False)
class Scheduler(Workers, ABC):
    """The base of schedulers; by default, tasks run in this process and share its memory."""

    #: A folder for the caller's arrays that all of these processes can read; None to send them.
    input_folder: str | None = None

    def __post_init__(self) -> None:
        self._notes: list[Note] = []
        #: The callback that a task calls with its `Note`, on any worker.
        self.note: Callable[[Note], object] = self._notes.append

    def begin_run(self) -> None:
        """Distinguish the tasks and the notes of the next run from those of earlier runs."""
        self._notes.clear()

    @abstractmethod
    def submit(
        self,
        function: Callable[..., Any],
        *handles: Any,
        key: str,
        share: Fraction | None = None,
    ) -> Any:
        """Return a handle for the result of `function` called with the results of `handles`.

        `key` is the name of the task. It starts with the stage and the dataflow, and dashboards
        group tasks by this start. If the task runs over one of several partitions, `share` is the
        share of partitions before this one, from which a cluster chooses the worker.
        """

    @abstractmethod
    def gather(self, handles: Sequence[Any], done: Done = None) -> list[Any]:
        """Compute all live results, and return those of `handles`."""

    def compute(self, collection: Any) -> Any:
        """Return a handle for a Dask collection or future; in this process Dask computes it."""
        return collection

    def send(self, value: Any) -> Any:
        """Return a handle for a value in the memory of a worker; in this process, the value."""
        return value

    def on_each_worker(self, function: Callable[..., object], *arguments: Any) -> None:
        """Call a function in each process of a cluster; by default, workers share this process."""

    def take_notes(self) -> list[Note]:
        """Return the notes since the last call."""
        notes = self._notes[:]
        del self._notes[: len(notes)]
        return notes


class Inline(Scheduler):
    """The scheduler that calls each task, by default on `kernel_threads`, when it is submitted."""

    def __init__(self, threads: int | None = None) -> None:
        super().__init__(task_threads=threads or kernel_threads())

    def submit(self, function: Callable[..., Any], *handles: Any, **_: Any) -> Any:
        """Call the function."""
        return function(*handles)

    def gather(self, handles: Sequence[Any], done: Done = None) -> list[Any]:
        """Return the values."""
        return list(handles)


def this_worker() -> Any:
    """Return the cluster's worker that runs this task; None outside a cluster."""
    distributed = sys.modules.get("distributed")
    try:
        return distributed and distributed.get_worker()
    except ValueError:
        return None


def worker_backend(backend: Backend) -> Backend:
    """Return the backend named in this worker's Dask resources, or `backend` if none is named.

    So workers of one cluster may use different backends: all backends find the same edges. The
    command that starts a worker names one: ``dask worker ADDRESS --resources numba=1``.
    """
    worker = this_worker()
    if worker is None:
        return backend
    resources = worker.state.total_resources
    named = [name for name in known_backends() if name in resources and not why_not(name)]
    return backend._replace(name=named[0]) if named else backend


def add_place(error: Exception, task: str, *, on_cluster: bool) -> None:
    """Add the worker's address to an error of this package; raise a KernelError if a GPU failed.

    For a task inside another task, `on_cluster` is false: the outer task adds the address.
    """
    if isinstance(error, MstflowError):
        worker = this_worker() if on_cluster else None
        if worker is not None:  # the error may occur only on this worker
            is_hidden = isinstance(error.__cause__, FileNotFoundError | PermissionError)
            advice = f"; {_SHARE_FILES}" if is_hidden else ""
            error.args = (f"{error} (on worker {worker.address}){advice}", *error.args[1:])
    elif type(error).__module__.partition(".")[0] in _DEVICE_LIBRARIES:
        message = f"the GPU failed in task {task!r}: {type(error).__name__}: {error}"
        raise KernelError(message) from error
