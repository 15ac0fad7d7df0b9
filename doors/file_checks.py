"""Files: errors that name the file, and checks whether a file has changed."""

from __future__ import annotations

import contextlib
import functools
import os
import platform
import warnings
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import FileFormatError, file_errors
from ..graphs.segments import Delayed
from ..runtime.identity import digest
from .places.url import Place, Url

#: A file may expand to this size, plus this factor times its size, when it is read.
_FREE_SIZE, _GROWTH = 2**22, 64
#: A fingerprint samples this number of bytes at this number of offsets.
_SAMPLE_BYTES, _SAMPLES = 4096, 64


def max_expanded_size(path: Place) -> int:
    """Return the largest size to which a file may expand when it is read: bytes, pixels or rows.

    A graph rarely compresses to a fiftieth of its size. A file that expands more may be an attack.
    """
    with file_errors(path):
        return _FREE_SIZE + _GROWTH * path.stat().st_size


def check_decompressed(path: Place, size: int) -> None:
    """Check the size that a file states for its decompressed content."""
    if size > max_expanded_size(path):
        raise FileFormatError(
            f"{path}: decompresses to {size:,} bytes, which is far more than graphs do; save it "
            "without compression if that is right"
        )


@contextlib.contextmanager
def without_warnings() -> Iterator[None]:
    """Ignore the warnings of a library: an error follows, or the file is read correctly."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


class FileState(NamedTuple):
    """The metadata of a file, which change with its content.

    Another host may have a copy of the file, with another change time and inode. There, the size,
    the modification time in seconds and the digest of a sample identify it.
    """

    size: int
    modified_ns: int
    changed_ns: int
    inode: int
    host: str
    sample: str = ""

    @classmethod
    def of(cls, path: Place, descriptor: int | None = None) -> FileState:
        """Return the current state of a file, by its descriptor if it is open."""
        with file_errors(path):
            status: Any = path.stat() if descriptor is None else os.stat(descriptor)
        times = status.st_mtime_ns, status.st_ctime_ns
        return cls(status.st_size, *times, status.st_ino, _host_of(path))


def _host_of(path: Place) -> str:
    """Return a name of this host; empty for a URL, whose state is the same on all hosts."""
    return "" if isinstance(path, Url) else _this_host()


@functools.cache
def _this_host() -> str:
    """Return a name of this boot of the host, and of the file systems that the process sees."""
    with contextlib.suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text()
        return boot.strip() + os.readlink("/proc/self/ns/mnt")
    return platform.node()


@functools.lru_cache(2**12)
def with_sample(path: Place, state: FileState) -> FileState:
    """Return the state of a file with the digest of a sample, for other hosts."""
    return state._replace(sample=_sample(path, state.size))


def _sample(path: Place, size: int) -> str:
    """Return a digest of bytes throughout a file; empty for a URL, whose state is a digest."""
    if isinstance(path, Url):
        return ""
    data = []
    with file_errors(path), path.open("rb") as file:
        for sample in range(_SAMPLES):
            file.seek(size * sample // _SAMPLES)
            data.append(file.read(_SAMPLE_BYTES))
    return digest(*data)


@functools.lru_cache(2**12)
def _local_copy(path: Place, known: FileState) -> FileState:
    """Return the state of this host's copy of a file that another host has read first."""
    copy = FileState.of(path)
    seconds = known.modified_ns // 10**9, copy.modified_ns // 10**9
    if copy.size != known.size:
        difference = f"{copy.size:,} bytes instead of {known.size:,}"
    elif seconds[0] != seconds[1]:
        difference = "another modification time"
    elif known.sample not in ("", _sample(path, copy.size)):
        difference = "other bytes"
    else:
        return copy
    raise FileFormatError(
        f"{path} is another file on this host than on the host that opened the graph: it has "
        f"{difference}; use a shared folder, or copies that keep the times (cp -p, rsync -t)"
    )


@contextlib.contextmanager
def unchanged(path: Place, known: FileState) -> Iterator[None]:
    """Check that a file is still in a known state, before and after it is read."""
    check_state(path, known)
    try:
        yield
    except Exception:
        check_state(path, known)  # a change explains the error
        raise
    check_state(path, known)


def check_state(path: Place, known: FileState, descriptor: int | None = None) -> None:
    """Check that a file is still in a known state. If it is open, pass its descriptor."""
    if known.host != _host_of(path):
        known = _local_copy(path, known)
    state = FileState.of(path, descriptor)
    if state == known._replace(sample=""):
        return
    if state.size != known.size:
        change = f"it had {known.size:,} bytes and now has {state.size:,}"
    elif state.inode != known.inode:
        change = "another file has replaced it"
    else:
        change = "it was written to"
    raise FileFormatError(f"{path} changed while it was being read: {change}")


def file_fingerprint(path: Place) -> str:
    """Return a digest of a file's name, its state on this host and a sample of its bytes."""
    state = FileState.of(path)
    known = path.name, state.size, state.modified_ns, state.changed_ns, state.inode
    return digest(repr(known).encode(), _sample(path, state.size).encode())


def for_hosts(value: Any) -> Any:
    """Return a segment with absolute paths, and with states of files that other hosts can check."""
    if isinstance(value, Path):
        return value.absolute()
    if type(value) is tuple:
        return tuple(map(for_hosts, value))
    if not is_dataclass(value) or isinstance(value, Delayed | type):
        return value
    parts = {each.name: for_hosts(getattr(value, each.name)) for each in fields(value)}
    if isinstance(parts.get("state"), FileState):
        parts["state"] = with_sample(parts["path"], parts["state"])
    return replace(value, **parts)
