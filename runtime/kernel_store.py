"""Compiled kernels kept on disk: machine code by all that decides what it does."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def kernel_folder() -> Path | None:
    """Return the folder where compiled kernels are kept; None if there is no home for it."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))
    return cache / "mstflow" / "kernels" if cache.is_absolute() else None


def digest(*parts: Any) -> str:
    """Return a name for all these parts, by what `repr` makes of them."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def load_or_compile(entry: str, compiled: Callable[[], tuple[str, bytes]]) -> tuple[str, bytes]:
    """Return what `compiled` does, a label and machine code, or did before.

    Parameters
    ----------
    entry : str
        A path in the folder, which names all that decides what is compiled.
    compiled : callable
        Called where there is no such entry. What it raises is raised here.

    Notes
    -----
    An entry is a digest, the label, a zero and the code. It is written whole under another name
    first, so processes may share the folder; one that is damaged is replaced.
    """
    folder = kernel_folder()
    if folder is None:
        return compiled()
    with contextlib.suppress(OSError):
        found, content = (data := (folder / entry).read_bytes())[:32], data[32:]
        if hashlib.sha256(content).digest() == found:
            label, _, code = content.partition(b"\0")
            return label.decode(), code
    text, code = compiled()
    with contextlib.suppress(OSError):  # such as a file system that is full, or read-only
        _write(folder / entry, b"\0".join((text.encode(), code)))
    return text, code


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    file, name = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(file, "wb") as stream:
            stream.write(hashlib.sha256(content).digest() + content)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
