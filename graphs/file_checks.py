"""Files: errors that name the file, and checks whether a file has changed."""

from __future__ import annotations

import contextlib
import hashlib
import os
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import FileFormatError, OptionError
from .places.url import Url, is_place, place_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .places.url import Place

#: When it is read, a file may expand to this size, and to this size for each of its bytes.
_FREE, _GROWTH = 2**22, 64
#: A fingerprint samples this number of bytes at this number of offsets.
_BYTES, _PLACES = 4096, 64


def places_of(value: Any) -> list[Place]:
    """Return a path, a URL or a sequence of these as a list; an empty list for anything else."""
    items = value if isinstance(value, list | tuple) else [value]
    if not all(map(is_place, items)):
        return []
    if any(isinstance(item, str) and not item for item in items):
        raise OptionError("a path is empty")
    return list(map(place_of, items))


@contextlib.contextmanager
def file_errors(path: Place | str, *kinds: type[Exception]) -> Iterator[None]:
    """Convert errors of the system, and exceptions of these kinds, to errors that name the file."""
    reasons: tuple[type[Exception], ...] = (OSError, *kinds)
    try:
        yield
    except (FileFormatError, OptionError):
        raise
    except reasons as error:
        raise FileFormatError(f"{path}: {getattr(error, 'strerror', None) or error}") from error


def most_from(path: Place) -> int:
    """Return the largest size to which a file may expand when it is read: bytes, pixels or rows.

    A graph rarely compresses to a fiftieth of its size. A file that expands more may be an attack.
    """
    with file_errors(path):
        return _FREE + _GROWTH * path.stat().st_size


def check_decompressed(path: Place, size: int) -> None:
    """Check the size that a file states for its decompressed content."""
    if size > most_from(path):
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

    They do not include the device number, because it differs on workers of other machines.
    """

    size: int
    modified_ns: int
    changed_ns: int
    inode: int

    @classmethod
    def of(cls, path: Place, descriptor: int | None = None) -> FileState:
        """Return the current state of a file, by its descriptor if it is open."""
        with file_errors(path):
            status: Any = path.stat() if descriptor is None else os.stat(descriptor)
        return cls(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


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
    state = FileState.of(path, descriptor)
    if state == known:
        return
    if state.size != known.size:
        how = f"it had {known.size:,} bytes and now has {state.size:,}"
    elif state.inode != known.inode:
        how = "another file has replaced it"
    else:
        how = "it was written to"
    raise FileFormatError(f"{path} changed while it was being read: {how}")


def digest(*data: Any) -> str:
    """Return the BLAKE2b digest of bytes-like values."""
    hasher = hashlib.blake2b(digest_size=16)
    for part in data:
        hasher.update(part)
    return hasher.hexdigest()


def file_fingerprint(path: Place) -> str:
    """Return a digest of a file's name, its state and a sample of its bytes."""
    state = FileState.of(path)
    data = [repr((path.name, *state)).encode()]
    if isinstance(path, Url):  # its state is a digest of all that the server states
        return digest(*data)
    with file_errors(path), path.open("rb") as file:
        for place in range(_PLACES):
            file.seek(state.size * place // _PLACES)
            data.append(file.read(_BYTES))
    return digest(*data)
