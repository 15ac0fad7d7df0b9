"""Errors of files: whatever fails in reading one names it."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from ..errors import FileFormatError, OptionError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextlib.contextmanager
def file_errors(path: Path, *kinds: type[Exception]) -> Iterator[None]:
    """Let what the system says against a file, and errors of these kinds, name it.

    Raises
    ------
    FileFormatError
        In their place.
    """
    reasons: tuple[type[Exception], ...] = (OSError, *kinds)
    try:
        yield
    except (FileFormatError, OptionError):
        raise
    except reasons as error:
        message = f"{path}: {getattr(error, 'strerror', None) or error}"
        raise FileFormatError(message) from error
