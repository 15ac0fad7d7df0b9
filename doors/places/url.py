"""A file or folder that fsspec reads: in an object store, on a web server, or in memory."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple
from urllib.parse import unquote

from ...errors import OptionError

#: Fields of fsspec's information about a file that do not show whether the file has changed.
_IGNORED = {"name", "Key", "url", "type", "mimetype", "partial", "size"}


class Status(NamedTuple):
    """The fields of `os.stat_result` that readers use."""

    st_size: int
    #: A digest of all that the file system states, such as a time, an ETag or a version.
    st_mtime_ns: int
    st_ctime_ns: int = 0
    st_ino: int = 0


@dataclass(frozen=True)
class Url:
    """A file or folder of an fsspec file system; has the methods of `Path` that readers use.

    `filesystem` holds the credentials, if any. Its errors are converted to OSError.
    """

    filesystem: Any
    path: str

    def __str__(self) -> str:
        with contextlib.suppress(TypeError):  # a cache of a cache
            return str(self.filesystem.unstrip_protocol(self.path))
        return self.path

    def __truediv__(self, name: str) -> Url:
        return Url(self.filesystem, f"{self.path.rstrip('/')}/{name}")

    @property
    def is_web(self) -> bool:
        """Whether the file is on a web server, where every folder is also a file."""
        return "http" in _protocols(self.filesystem)

    @property
    def name(self) -> str:
        """The last part of the path; for a web server, without the query."""
        plain = self.path.partition("?")[0] if self.is_web else self.path
        return PurePosixPath(plain).name

    @property
    def stem(self) -> str:
        """The name without its suffix."""
        return PurePosixPath(self.name).stem

    @property
    def suffix(self) -> str:
        """The suffix of the name, with the dot."""
        return PurePosixPath(self.name).suffix

    @property
    def parent(self) -> Url:
        """The folder."""
        return Url(self.filesystem, self.path.rstrip("/").rpartition("/")[0])

    def stat(self) -> Status:
        """Return the size, and a digest that changes with the file."""
        self._call("invalidate_cache")
        info = self._call("info")
        if info["size"] is None:
            raise OSError("the server does not state the size of the file; download it first")
        shown = repr(sorted((name, info[name]) for name in info.keys() - _IGNORED))
        token = hashlib.blake2b(shown.encode(), digest_size=7).digest()
        return Status(info["size"], int.from_bytes(token, "big"))

    def open(self, mode: str = "rb", buffering: int = -1, *, is_sequential: bool = True) -> Any:
        """Open for reading; unless `is_sequential`, nothing is read ahead."""
        assert mode == "rb"
        options = {} if is_sequential else {"cache_type": "none"}
        raw = _File(self, self._call("open", mode="rb", **options))
        return io.BufferedReader(raw) if buffering else raw

    def read_bytes(self) -> bytes:
        """Return the whole content."""
        return bytes(self._call("cat_file"))

    def exists(self) -> bool:
        """Return whether there is such a file or folder."""
        return bool(self._call("exists"))

    def is_dir(self) -> bool:
        """Return whether this is a folder; on a web server, whether the URL ends with a slash."""
        if self.is_web:
            return self.path.endswith("/")
        return bool(self._call("isdir"))

    def iterdir(self) -> Iterator[Url]:
        """Yield the files and folders in this folder."""
        yield from (Url(self.filesystem, name) for name in self._call("ls", detail=False))

    def files(self) -> Iterator[tuple[Url, int | None]]:
        """Yield the files in this folder, at any depth, with their sizes, None if unknown."""
        self._call("invalidate_cache")
        infos = self._call("find", detail=True)
        yield from ((Url(self.filesystem, name), info["size"]) for name, info in infos.items())

    def matches(self) -> list[Url]:
        """Return the files and folders that match the pattern of this path."""
        return [Url(self.filesystem, name) for name in self._call("glob")]

    def _call(self, method: str, **options: Any) -> Any:
        """Call a method of the file system for this path; its errors become OSError."""
        with _os_errors():
            return getattr(self.filesystem, method)(self.path, **options)


#: A file or folder, local or remote.
Place = Path | Url
#: The values that a caller may pass for a place.
AnyPlace = str | os.PathLike[str] | Url


class _File(io.RawIOBase):
    """A file of fsspec that is open for reading."""

    def __init__(self, url: Url, file: Any) -> None:
        self._url, self._file, self._position = url, file, 0
        with _os_errors():  # a file in a local cache is an ordinary file, without a size
            self._size: int = getattr(file, "size", None) or file.seek(0, os.SEEK_END)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._position = offset + (0, self._position, self._size)[whence]
        return self._position

    def tell(self) -> int:
        return self._position

    def readinto(self, buffer: Any) -> int:
        with _os_errors():
            data = self._read(min(len(buffer), max(0, self._size - self._position)))
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)

    def _read(self, size: int) -> bytes:
        if not size:
            return b""
        try:
            self._file.seek(self._position)
            return bytes(self._file.read(size))
        except ValueError:  # a web server that cannot send ranges of bytes
            if not self._url.is_web or isinstance(self._file, io.BytesIO):
                raise
            self._file.close()
            self._file = io.BytesIO(self._url.read_bytes())
            return self._read(size)

    def close(self) -> None:
        with contextlib.suppress(Exception):  # all was read; some caches fail to close local files
            self._file.close()
        super().close()


@contextlib.contextmanager
def _os_errors() -> Iterator[None]:
    """Convert errors of fsspec and its libraries, which may be of any class, to OSError."""
    try:
        yield
    except FileNotFoundError as error:
        cause = "" if error.__cause__ is None else f" ({error.__cause__})"
        raise FileNotFoundError(2, os.strerror(2) + cause) from error
    except OSError:
        raise
    except Exception as error:
        raise OSError(f"{type(error).__name__}: {error}") from error


def place_of(value: Any) -> Place:
    """Return a path or URL as a place.

    An object of fsspec, such as `fsspec.open(url, **options)`, keeps its options.
    """
    if isinstance(value, Url):
        return value
    if _is_of_fsspec(value):
        return Url(value.fs, value.path)
    text = os.fspath(value)
    if not isinstance(value, str) or "://" not in text:
        return Path(value).expanduser() if text.startswith("~/") else Path(value)
    from fsspec.core import url_to_fs

    try:
        filesystem, path = url_to_fs(text)
    except Exception as error:  # of any file system
        is_plain = isinstance(error, ImportError | ValueError | OSError)
        reason = getattr(error, "strerror", None) or error
        raise OptionError(
            f"{text}: {reason if is_plain else f'{type(error).__name__}: {reason}'}"
        ) from error
    is_local = "file" in _protocols(filesystem)
    return Path(unquote(path)) if is_local else Url(filesystem, path)


def places_of(value: Any) -> list[Place]:
    """Return a path, a URL or a sequence of these as a list; an empty list for anything else."""
    items = value if isinstance(value, list | tuple) else [value]
    if not all(isinstance(item, str | os.PathLike | Url) or _is_of_fsspec(item) for item in items):
        return []
    if any(isinstance(item, str) and not item for item in items):
        raise OptionError("a path is empty")
    return list(map(place_of, items))


def _is_of_fsspec(value: Any) -> bool:
    return isinstance(getattr(value, "path", None), str) and hasattr(
        getattr(value, "fs", None), "unstrip_protocol"
    )


def _protocols(filesystem: Any) -> tuple[str, ...]:
    protocol = filesystem.protocol
    return (protocol,) if isinstance(protocol, str) else tuple(protocol)
