"""A cache of compiled kernels, in a folder that only its user can write to."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def kernel_folder() -> Path | None:
    """Return the folder of the kernel cache, which may not exist; None without a home folder."""
    import platformdirs

    folder = platformdirs.user_cache_path("mstflow", appauthor=False) / "kernels"
    return folder if folder.is_absolute() else None


def private_folder(name: str = "", *, create: bool) -> Path | None:
    """Return a folder in the kernel cache if no other user can change its contents.

    Parameters
    ----------
    name : str
        The name of the folder; empty for the cache itself.
    create : bool
        Whether to create the folder if it is missing, with mode 0700.

    Returns
    -------
    Path or None
        None if the folder is missing and `create` is false, if it cannot be created, or if another
        user could store code in it, which this process would run.

    Notes
    -----
    The folder must belong to this user, and no other user may write to it. The folders above it, up
    to the home folder or the root, must belong to this user or to root. Other users may write to
    one of these folders in two cases. It has the sticky bit, like ``/tmp``, so nobody can replace
    the files of other users. Or the group that may write to it is this user's private group.
    """
    root = kernel_folder()
    if root is None:
        return None
    try:
        if create:
            _create(root / name)
        folder = (root / name).resolve(strict=True)
        _check_private(folder.stat())
        _check_parents(folder)
    except OSError:
        return None
    return folder


def digest(*parts: Any) -> str:
    """Return a hash of the `repr` of all parts."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def load_or_compile(entry: str, compiled: Callable[[], tuple[str, bytes]]) -> tuple[str, bytes]:
    """Return the result of `compiled`, a label and machine code, from the cache if possible.

    Parameters
    ----------
    entry : str
        A path in the cache. It must change with everything that the code depends on.
    compiled : callable
        Called if the cache has no valid entry. Its exceptions propagate.

    Notes
    -----
    An entry consists of a digest, the label, a zero byte and the code. The digest also covers the
    path of the entry. So if an entry was damaged or moved to the path of another entry, it is
    replaced. Entries are written under a temporary name and then renamed, so several processes may
    share the cache.
    """
    name, _, file = entry.rpartition("/")
    folder = private_folder(name, create=True)
    if folder is None:
        return compiled()
    with contextlib.suppress(OSError):
        content = _read(folder / file)
        label, _, code = content[32:].partition(b"\0")
        if code and content[:32] == _digest(entry, content[32:]):
            return label.decode(), code
    text, code = compiled()
    body = b"\0".join((text.encode(), code))
    with contextlib.suppress(OSError):  # such as a full or read-only file system
        _write(folder / file, _digest(entry, body) + body)
    return text, code


def _create(folder: Path) -> None:
    """Create a folder and its missing parents with mode 0700 under any umask."""
    if not folder.exists():
        _create(folder.parent)
        folder.mkdir(0o700, exist_ok=True)


def _check_private(status: os.stat_result) -> None:
    """Raise `PermissionError` if another user owns a file or folder or may write to it."""
    if os.name == "posix" and (status.st_uid != os.geteuid() or status.st_mode & 0o022):
        raise PermissionError


def _check_parents(folder: Path) -> None:
    """Raise `PermissionError` if another user could replace a folder."""
    if os.name != "posix":
        return
    home = Path(os.path.expanduser("~")).resolve()
    for parent in folder.parents:
        status = parent.stat()
        writers = 0 if status.st_mode & stat.S_ISVTX else status.st_mode & 0o022
        if writers == stat.S_IWGRP and _is_private_group(status.st_gid):
            writers = 0
        if writers or status.st_uid not in (0, os.geteuid()):
            raise PermissionError
        if parent == home:
            return


def _is_private_group(number: int) -> bool:
    """Return whether a group has this user's name and no other member.

    Systems with such a group for each user often let the group write to all new folders.
    """
    import grp
    import pwd

    with contextlib.suppress(KeyError):
        user, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(number)
        members = {group.gr_name, *group.gr_mem}
        return number == user.pw_gid and members == {user.pw_name}
    return False


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
