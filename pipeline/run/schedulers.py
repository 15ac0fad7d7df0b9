"""Where tasks run: here and now, on Dask's local schedulers, or on a cluster.

A scheduler has the shape of `distributed.Client`: `submit` takes a function and the handles of
other tasks' results, and returns a handle. Results stay where they are until `gather` brings them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..report.report import Note


class Scheduler(Protocol):
    """What a run asks of a scheduler.

    Attributes
    ----------
    name : str
        For reports.
    workers : int
        How many tasks it can run at once.
    eager : bool
        Whether `submit` itself computes; a handle is the result then.
    leaves_on_host : bool
        Whether results may go to other processes, and so must lie in the memory of the host.
    input_folder : str or None
        Where the caller's arrays are written for tasks; None if tasks see its memory.
    worker_memory : int or None
        Bytes that each task may take, if the scheduler limits them.
    """

    name: str
    workers: int
    eager: bool
    leaves_on_host: bool
    input_folder: str | None
    worker_memory: int | None

    @property
    def note(self) -> Callable[[Note], object]:
        """What tasks call with a `Note`, wherever they run."""

    def submit(self, function: Callable[..., Any], *handles: Any, key: str) -> Any:
        """Return a handle for the result of `function`, called with the results of `handles`.

        `key` names the task on dashboards, which group tasks by its first word.
        """

    def compute(self, collection: Any) -> Any:
        """Return a handle for the value of a Dask collection or future."""

    def gather(
        self, handles: Sequence[Any], done: Callable[[str], object] | None = None
    ) -> list[Any]:
        """Compute and return results; those of other live handles stay where they are.

        `done` is called with the name of each task that finishes meanwhile.
        """

    def take_notes(self) -> list[Note]:
        """Return what tasks have noted since this was last called."""


class Notes:
    """Notes of tasks that run in this process."""

    def __init__(self) -> None:
        self._notes: list[Note] = []

    def note(self, note: Note) -> None:
        """Keep a note."""
        self._notes.append(note)

    def take_notes(self) -> list[Note]:
        """Return the notes since the last call."""
        notes, self._notes = self._notes, []
        return notes


class Inline(Notes):
    """Calls each task when it is submitted."""

    name = "inline"
    workers = 1
    eager = True
    leaves_on_host = False
    input_folder: str | None = None
    worker_memory: int | None = None

    def submit(self, function: Callable[..., Any], *handles: Any, key: str) -> Any:
        """Call the function."""
        return function(*handles)

    def compute(self, collection: Any) -> Any:
        """Return the collection: the piece that is made of it computes it when it is read."""
        return collection

    def gather(
        self, handles: Sequence[Any], done: Callable[[str], object] | None = None
    ) -> list[Any]:
        """Return the values."""
        return list(handles)
