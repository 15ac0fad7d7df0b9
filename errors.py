"""The exceptions that mstflow raises, all derived from one base class, and its warnings."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .runtime.host import printable, show_bytes


class _Printable(Exception):  # noqa: N818  # a base of errors and warnings
    """An exception whose text has no control characters, and that `distributed` can send.

    The name of a file, column or vertex may contain an escape sequence, which a terminal would
    execute.
    """

    def __str__(self) -> str:
        return printable(super().__str__())

    def __reduce__(self) -> str | tuple[Any, ...]:
        """Return how `pickle` creates the exception again: by a call of its class.

        Without this method, tblib, which `distributed` uses, calls `__new__` of a base class. That
        of MemoryError refuses such a call.
        """
        return super().__reduce__()


class MstflowError(_Printable):
    """Base class of all exceptions that mstflow raises on purpose."""


class GraphError(MstflowError, ValueError):
    """A graph has invalid ids, lengths, dtypes or weights. The message names the edge."""


class FileFormatError(GraphError):
    """A file has invalid content. The message names the file and the line or edge."""


class OptionError(MstflowError, ValueError):
    """An option is unknown, out of range, or conflicts with another."""


class MemoryBoundError(OptionError):
    """A memory bound is too small.

    Attributes
    ----------
    needed : int
        The smallest sufficient bound in bytes.
    purpose : str
        What needs it; empty if the message does not state it.
    """

    def __init__(self, message: str, needed: int = 0, purpose: str = "") -> None:
        super().__init__(message)
        self.needed, self.purpose = needed, purpose

    @classmethod
    def of(cls, given: int, needed: int, purpose: str, option: str = "memory=") -> MemoryBoundError:
        """Return the error for a bound of `given` bytes if a purpose needs more."""
        given_text, needed_text = show_bytes(given), show_bytes(needed)
        message = f"{option}{given_text} is too small; it must be at least {needed_text} {purpose}"
        return cls(message, needed, purpose)

    def beside(self, given: int, held: int, what: str, option: str = "memory=") -> MemoryBoundError:
        """Return the error for a bound of `given` bytes that must also cover `held` bytes."""
        purpose = f"{self.purpose}, including {show_bytes(held)} of {what}"
        return self.of(given, self.needed + held, purpose, option)


class OutOfMemoryError(MstflowError, MemoryError):
    """An allocation failed. The message names the size of the graph."""


@contextmanager
def memory_errors(num_vertices: int | None, num_edges: int | None) -> Iterator[None]:
    """Convert the MemoryError of a library to OutOfMemoryError, which states the graph's size."""
    try:
        yield
    except OutOfMemoryError:
        raise
    except MemoryError as error:
        n, m = num_vertices or 0, num_edges or 0
        remedy = "if vertex ids are sparse, renumber them from 0" if n > 2 * m else "set memory="
        reason = f" ({error})" if str(error) else ""
        message = f"not enough memory for {n:,} vertices and {m:,} edges{reason}; {remedy}"
        raise OutOfMemoryError(message) from error


@contextmanager
def file_errors(path: object, *kinds: type[Exception]) -> Iterator[None]:
    """Convert errors of the system, and exceptions of these kinds, to errors that name the file."""
    reasons: tuple[type[Exception], ...] = (OSError, *kinds)
    try:
        yield
    except (FileFormatError, OptionError):
        raise
    except reasons as error:
        raise FileFormatError(f"{path}: {getattr(error, 'strerror', None) or error}") from error


class VerificationError(MstflowError, ValueError):
    """A forest is not the minimum spanning forest of its graph. The message names an edge."""


class WorkerError(MstflowError, RuntimeError):
    """A worker died, or does not support a requirement of the run."""


class LostWorkerError(WorkerError):
    """A worker died with results that no other worker can compute alone."""


class PipelineError(MstflowError, TypeError):
    """A pipeline or stage cannot run as declared. The message names the stage."""


class PrimitiveError(MstflowError, ValueError):
    """A primitive was called with invalid arguments; raised in debug mode only."""


class KernelError(MstflowError, RuntimeError):
    """A GPU failed, or a kernel did not compile. The message names the task or kernel."""


class GraphWarning(_Printable, UserWarning):
    """A graph can be read, but is probably not what its user means."""


class PluginWarning(_Printable, UserWarning):
    """A plugin is ignored because its name is taken."""


class CheckpointWarning(_Printable, UserWarning):
    """A checkpoint cannot be locked, so another run could use it at the same time."""
