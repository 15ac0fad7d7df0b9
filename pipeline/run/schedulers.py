"""The interface of schedulers, and the scheduler that runs tasks in the calling thread.

The interface resembles `distributed.Client`. `submit` takes a function and handles of results, and
returns the handle of a new result. Results stay on the workers until `gather` fetches them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from ...runtime.team import kernel_threads

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..report.report import Note


class Scheduler(Protocol):
    """The interface of schedulers that the executor uses.

    Attributes
    ----------
    name : str
        The name in reports.
    workers : int
        Number of tasks that can run at once.
    task_threads : int
        Threads of each task.
    is_cluster : bool
        Whether each task has its own memory.
    eager : bool
        Whether `submit` calls the function at once, so that a handle is the result itself.
    leaves_on_host : bool
        Whether results must be in host memory, because they may be sent to other processes.
    input_folder : str or None
        A folder for the caller's arrays; None if tasks share the caller's memory.
    worker_memory : int or None
        Limit in bytes of each task, if the scheduler has one.
    """

    name: str
    workers: int
    task_threads: int
    is_cluster: bool
    eager: bool
    leaves_on_host: bool
    input_folder: str | None
    worker_memory: int | None

    @property
    def note(self) -> Callable[[Note], object]:
        """The callback that a task calls with its `Note`, on any worker."""

    def submit(self, function: Callable[..., Any], *handles: Any, key: str) -> Any:
        """Return a handle for the result of `function` called with the results of `handles`.

        `key` is the name of the task. It starts with the stage and the dataflow, and dashboards
        group tasks by this start.
        """

    def compute(self, collection: Any) -> Any:
        """Return a handle for the value of a Dask collection or future."""

    def gather(
        self, handles: Sequence[Any], done: Callable[[str], object] | None = None
    ) -> list[Any]:
        """Compute and return results; keep those of other live handles on the workers.

        `done` is called with the name of each task that finishes.
        """

    def take_notes(self) -> list[Note]:
        """Return the notes since the last call."""


class InProcess:
    """The base of schedulers whose tasks run in this process."""

    is_cluster = False
    leaves_on_host = False
    input_folder: str | None = None
    worker_memory: int | None = None

    def __init__(self) -> None:
        self._notes: list[Note] = []

    def compute(self, collection: Any) -> Any:
        """Return the collection unchanged: Dask computes it for the task that reads it."""
        return collection

    def note(self, note: Note) -> None:
        """Keep a note."""
        self._notes.append(note)

    def take_notes(self) -> list[Note]:
        """Return the notes since the last call."""
        notes, self._notes = self._notes, []
        return notes


class Inline(InProcess):
    """The scheduler that calls each task when it is submitted.

    Parameters
    ----------
    threads : int, optional
        Threads of each task; by default those of `kernel_threads`.
    """

    name = "inline"
    workers = 1
    eager = True

    def __init__(self, threads: int | None = None) -> None:
        super().__init__()
        self.task_threads = threads or kernel_threads()

    def submit(self, function: Callable[..., Any], *handles: Any, key: str) -> Any:
        """Call the function."""
        return function(*handles)

    def gather(
        self, handles: Sequence[Any], done: Callable[[str], object] | None = None
    ) -> list[Any]:
        """Return the values."""
        return list(handles)
