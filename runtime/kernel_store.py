"""A folder of compiled kernels that only its user can write to."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def kernel_folder() -> Path | None:
    """Return the folder where compiled kernels are kept; None if the user has no home."""
    import platformdirs

    folder = platformdirs.user_cache_path("mstflow", appauthor=False) / "kernels"
    return folder if folder.is_absolute() else None


def private_folder(name: str = "") -> Path | None:
    """Return a folder in the kernel folder, created if missing.

    None if it cannot be created, or if its owner is another user, or others may write to it: they
    could make this process run their code.
    """
    root = kernel_folder()
    if root is None:
        return None
    try:
        for folder in (root, root / name):
            folder.mkdir(0o700, parents=True, exist_ok=True)
            _check_private(os.stat(folder))
    except OSError:
        return None
    return root / name


def digest(*parts: Any) -> str:
    """Return a hash of the `repr` of all parts."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def load_or_compile(entry: str, compiled: Callable[[], tuple[str, bytes]]) -> tuple[str, bytes]:
    """Return the label and the machine code that `compiled` returns, now or in an earlier process.

    Parameters
    ----------
    entry : str
        A path in the folder. It must name everything that the code depends on.
    compiled : callable
        Called if there is no valid entry. Its exceptions propagate.

    Notes
    -----
    An entry is a digest, the label, a zero byte and the code. The digest covers the entry's path
    too, so an entry under the path of another is replaced, as a damaged one is. Entries are
    written under a temporary name and then renamed, so processes may share the folder.
    """
    name, _, file = entry.rpartition("/")
    folder = private_folder(name)
    if folder is None:
        return compiled()
    with contextlib.suppress(OSError):
        content = _read(folder / file)
        if content[:32] == _digest(entry, content[32:]):
            label, _, code = content[32:].partition(b"\0")
            return label.decode(), code
    text, code = compiled()
    body = b"\0".join((text.encode(), code))
    with contextlib.suppress(OSError):  # such as a full or read-only file system
        _write(folder / file, _digest(entry, body) + body)
    return text, code


def _check_private(status: os.stat_result) -> None:
    is_foreign = hasattr(os, "geteuid") and status.st_uid != os.geteuid()  # not on Windows
    if is_foreign or (os.name == "posix" and status.st_mode & 0o022):
        raise PermissionError


def _digest(entry: str, body: bytes) -> bytes:
    return hashlib.sha256(entry.encode() + b"\0" + body).digest()


def _read(path: Path) -> bytes:
    with open(path, "rb") as stream:
        _check_private(os.fstat(stream.fileno()))
        return stream.read()


def _write(path: Path, content: bytes) -> None:
    file, name = tempfile.mkstemp(dir=path.parent)  # with mode 0600
    try:
        with os.fdopen(file, "wb") as stream:
            stream.write(content)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
