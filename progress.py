"""Progress reports of long-running work, and the bars that show them.

A listener is called as ``listener(step, done, total)``. It means that `done` of `total` units of
the step are complete. Both are 0 if the size is unknown. Within a step, `done` never decreases.
"""

from __future__ import annotations

import contextlib
import contextvars
import sys
import threading
import time
from collections.abc import Callable, Iterator
from html import escape
from typing import Any, TextIO

from .errors import OptionError

Listener = Callable[[str, int, int], None]

#: Seconds before a bar appears, and between two updates of it.
DELAY, _INTERVAL = 2.0, 0.1

_listener: contextvars.ContextVar[Listener | None] = contextvars.ContextVar("listener")


def report_progress(step: str, done: int, total: int) -> None:
    """Report progress to the listener of this thread, if there is one.

    Parameters
    ----------
    step : str
        Name of the current step.
    done, total : int
        Completed units and all units; both are 0 if the size is unknown.
    """
    listener = _listener.get(None)
    if listener is not None:
        listener(step, done, total)


def has_listener() -> bool:
    """Return whether this thread has a listener; if not, reports need not be prepared."""
    return _listener.get(None) is not None


@contextlib.contextmanager
def set_listener(progress: bool | Listener, delay: float = DELAY) -> Iterator[None]:
    """Set the listener of this thread within a ``with`` block.

    Parameters
    ----------
    progress : bool or callable
        A listener, or False for no reports. True keeps the current listener. If there is no
        current listener, True shows a bar on a terminal (standard error) or in a notebook when the
        work takes longer than `delay`. The bar is cleared at the end.
    delay : float, optional
        Seconds before a bar appears.

    Raises
    ------
    OptionError
        If `progress` is not a bool or a callable.
    """
    if not isinstance(progress, bool) and not callable(progress):
        message = f"progress must be True, False or a callable, not {progress!r}"
        raise OptionError(message)
    listener, display = progress if callable(progress) else None, None
    if progress is True:
        try:
            listener = _listener.get()
        except LookupError:  # no block around this one has set a listener
            display = _display()
    with delayed(display, delay) if display else contextlib.nullcontext(listener) as current:
        token = _listener.set(current)
        try:
            yield
        finally:
            _listener.reset(token)


Display = Callable[[], contextlib.AbstractContextManager[Listener]]


@contextlib.contextmanager
def delayed(
    display: Display, delay: float = DELAY, clock: Callable[[], float] = time.monotonic
) -> Iterator[Listener]:
    """Yield a listener that opens a display after `delay` seconds of work."""
    due = clock() + delay
    show: Listener | None = None
    with contextlib.ExitStack() as stack:

        def listen(step: str, done: int, total: int) -> None:
            nonlocal due, show
            now = clock()
            if now < due:
                return
            due = now + _INTERVAL
            if show is None:
                show = stack.enter_context(display())
            show(step, done, total)

        yield listen


def _display() -> Display | None:
    """Return the bar for this thread, or None if it would not be visible."""
    if threading.current_thread() is not threading.main_thread():
        return None  # bars of several threads would overwrite each other
    ipython: Any = sys.modules.get("IPython")
    if ipython is not None and hasattr(ipython.get_ipython(), "kernel"):
        return notebook_bar
    return terminal_bar if _is_terminal(sys.stderr) else None


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()


@contextlib.contextmanager
def terminal_bar() -> Iterator[Listener]:
    """Yield a listener that draws a bar on standard error."""
    from rich import markup
    from rich.console import Console
    from rich.progress import Progress

    # Standard output is printed above the bar, unless it goes to a file.
    redirect_stdout = _is_terminal(sys.stdout)
    console = Console(stderr=True)
    with Progress(console=console, transient=True, redirect_stdout=redirect_stdout) as bar:
        task = bar.add_task("", total=None)

        def show(step: str, done: int, total: int) -> None:
            if not total:  # `update` ignores None
                bar.tasks[task].total = None
            description = markup.escape(step)
            bar.update(task, description=description, completed=done, total=total or None)

        yield show


@contextlib.contextmanager
def notebook_bar() -> Iterator[Listener]:
    """Yield a listener that draws an HTML bar below the cell, without widgets."""
    from IPython.display import display

    handle = display({"text/plain": ""}, raw=True, display_id=True)

    def show(step: str, done: int, total: int) -> None:
        attributes = f'value="{done}" max="{total}"' if total else ""
        text = f"{step}: {done:,} of {total:,}" if total else step
        html = f"<progress {attributes}></progress> {escape(text)}"
        handle.update({"text/plain": text, "text/html": html}, raw=True)

    try:
        yield show
    finally:
        handle.update({"text/plain": "", "text/html": ""}, raw=True)
