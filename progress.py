"""Progress of long work: whoever does it tells, and a listener or a bar hears it.

A listener is called as ``listener(step, done, total)``: of `total` things `done` are done, 0 of 0
where nobody can know. Within a step `done` never falls.
"""

from __future__ import annotations

import contextlib
import contextvars
import sys
import threading
import time
from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING, Any, TextIO

from .errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Iterator

Listener = Callable[[str, int, int], None]

#: Seconds that work may take before a bar appears, and between two pictures of it.
DELAY, _INTERVAL = 2.0, 0.1

_listener: contextvars.ContextVar[Listener | None] = contextvars.ContextVar("listener")


def report_progress(step: str, done: int, total: int) -> None:
    """Tell whoever listens in this thread."""
    listener = _listener.get(None)
    if listener is not None:
        listener(step, done, total)


def has_listener() -> bool:
    """Tell whether anybody listens, where telling takes work."""
    return _listener.get(None) is not None


@contextlib.contextmanager
def set_listener(progress: bool | Listener) -> Iterator[None]:
    """Let somebody listen to what this thread tells meanwhile.

    Parameters
    ----------
    progress : bool or callable
        A listener, or False for nobody. True leaves it with who listens already, if anybody was
        asked for, and else draws a bar where a person may see it: on a terminal (standard error)
        or in a notebook, if the work takes over two seconds. The bar is wiped at the end.

    Raises
    ------
    OptionError
        If `progress` is anything else.
    """
    if not isinstance(progress, bool) and not callable(progress):
        message = f"progress must be True, False or a callable, not {progress!r}"
        raise OptionError(message)
    with contextlib.ExitStack() as stack:
        if progress is True:
            display = _display()
            listener = _listener.get(display and stack.enter_context(delayed(display)))
        else:
            listener = None if progress is False else progress
        token = _listener.set(listener)
        try:
            yield
        finally:
            _listener.reset(token)


Display = Callable[[], contextlib.AbstractContextManager[Listener]]


@contextlib.contextmanager
def delayed(display: Display, clock: Callable[[], float] = time.monotonic) -> Iterator[Listener]:
    """Yield a listener that opens a display when its patience is at an end, and closes it."""
    due = clock() + DELAY
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
    """Return what a person in front of this thread would see."""
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
    """Yield a listener that draws on standard error."""
    from rich import markup
    from rich.console import Console
    from rich.progress import Progress

    # What is printed meanwhile goes above the bar, unless it goes to a file.
    console, is_shared = Console(stderr=True), _is_terminal(sys.stdout)
    with Progress(console=console, transient=True, redirect_stdout=is_shared) as bar:
        task = bar.add_task("", total=None)

        def show(step: str, done: int, total: int) -> None:
            if not total:
                bar.tasks[task].total = None
            shown = markup.escape(step)
            bar.update(task, description=shown, completed=done, total=total or None)

        yield show


@contextlib.contextmanager
def notebook_bar() -> Iterator[Listener]:
    """Yield a listener that draws below the cell, with no need of widgets."""
    from IPython.display import display

    handle = display({"text/plain": ""}, raw=True, display_id=True)

    def show(step: str, done: int, total: int) -> None:
        share = f'value="{done}" max="{total}"' if total else ""
        text = f"{step}: {done:,} of {total:,}" if total else step
        drawn = f"<progress {share}></progress> {escape(text)}"
        handle.update({"text/plain": text, "text/html": drawn}, raw=True)

    try:
        yield show
    finally:
        handle.update({"text/plain": "", "text/html": ""}, raw=True)
