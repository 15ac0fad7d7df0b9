"""Where tasks run: here and now, or wherever Dask takes them. One small interface for both.

A task is a function and its arguments; what `submit` returns (a handle) may be an argument of
further tasks. Arrays never pass through the caller unless it fetches them.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


class Scheduler(Protocol):
    """What a run asks of a scheduler.

    Attributes
    ----------
    name : str
        For reports.
    workers : int
        How many tasks it can run at once.
    input_folder : str or None
        Where columns of the caller must lie for tasks to see them; None if they see its memory.
    task_folder : str or None
        Where tasks leave arrays for each other: see `scratch.store`.
    eager : bool
        Whether `submit` itself computes.
    """

    name: str
    workers: int
    input_folder: str | None
    task_folder: str | None
    eager: bool

    def submit(self, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return a handle for ``function(*arguments)``, known to users as `name`."""

    def outputs(self, handle: Any, count: int) -> list[Any]:
        """Return handles for the items of a result that is a tuple of `count`."""

    def settle(
        self, handles: Sequence[Any], done: Callable[[int], object] | None = None
    ) -> list[Any]:
        """Compute; results stay where they are, and only the handles returned know them.

        `done` is told the position of each handle when its result is there.
        """

    def fetch(self, handles: Sequence[Any]) -> list[Any]:
        """Bring results to the caller, of handles that were settled."""


class Inline:
    """Calls each task when it is submitted: a handle is the value itself."""

    name = "inline"
    workers = 1
    input_folder: str | None = None
    task_folder: str | None = None
    eager = True

    def submit(self, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call the function."""
        return function(*arguments)

    def outputs(self, handle: Any, count: int) -> list[Any]:
        """Return the items."""
        return list(handle[:count])

    def settle(
        self, handles: Sequence[Any], done: Callable[[int], object] | None = None
    ) -> list[Any]:
        """Return the values."""
        return list(handles)

    def fetch(self, handles: Sequence[Any]) -> list[Any]:
        """Return the values."""
        return list(handles)


@contextlib.contextmanager
def open_scheduler(choice: Any, threads: int | None) -> Iterator[Scheduler]:
    """Yield the scheduler a user asked for, and clear away what it needed.

    Parameters
    ----------
    choice : str or distributed.Client
        "inline", or what `open_dask` takes.
    threads : int, optional
        Workers of a local scheduler; as many as there are processors if not given.

    Raises
    ------
    OptionError
        If there is no such scheduler, or it cannot be reached.
    """
    if isinstance(choice, str) and choice == "inline":
        yield Inline()
        return
    from .dask_scheduler import open_dask  # importing Dask takes longer than a small graph

    with open_dask(choice, threads or _processors()) as scheduler:
        yield scheduler


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def kernel_threads() -> int:
    """Return how many threads kernels take by default: Dask's workers, for one, allow them one."""
    allowed = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(_processors(), int(allowed))) if allowed.isdigit() else _processors()
