"""Errors of reading name the file."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from ..errors import FileFormatError, OptionError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextlib.contextmanager
def file_errors(path: Path, *kinds: type[Exception]) -> Iterator[None]:
    """Convert errors of the system, and exceptions of these kinds, to errors that name the file.

    Raises
    ------
    FileFormatError
        Instead of OSError and `kinds`.
    """
    reasons: tuple[type[Exception], ...] = (OSError, *kinds)
    try:
        yield
    except (FileFormatError, OptionError):
        raise
    except reasons as error:
        message = f"{path}: {getattr(error, 'strerror', None) or error}"
        raise FileFormatError(message) from error
