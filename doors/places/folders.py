"""The files of a graph: folders and patterns are expanded to their files, in natural order."""

from __future__ import annotations

import fnmatch
import itertools
import math
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np

from ...errors import FileFormatError, file_errors
from .url import Place, Url, place_of

#: Columns that folders called ``name=value`` state, with their values; a missing value is None.
Keys = tuple[tuple[str, int | np.uint64 | float | str | None], ...]

#: Folders of table formats, which keep the files of earlier versions.
_TABLES = {
    "_delta_log": "a Delta table; pass DeltaTable(path).to_pyarrow_dataset()",
    ".hoodie": "a Hudi table; pass an Arrow table of its reader",
}
#: Files of these suffixes always contain something; an empty one is damaged.
_NEVER_EMPTY = {".parquet", ".parq", ".pq", ".arrow", ".feather", ".ipc", ".npy", ".npz"}
_MISSING = "__HIVE_DEFAULT_PARTITION__"
#: Suffixes of compressed text.
COMPRESSIONS = (".gz", ".xz", ".bz2", ".zst")


class Part(NamedTuple):
    """A file, or a folder of `.npy` columns, with the columns that the folders above it state."""

    place: Place
    keys: Keys = ()
    #: The encoding of text; None if it is not given.
    encoding: str | None = None


def expanded(places: Iterable[Place]) -> list[Part]:
    """Return the files of a graph: `places` in order, with folders and patterns expanded.

    Files at any depth in a folder are included. Their order is natural, by path: `part.2` is before
    `part.10`. Names that start with a dot or an underscore are skipped.
    """
    parts: list[Part] = []
    for place in places:
        with file_errors(place):
            if match := _match(place):
                root, matches = match
                # A folder and its files may both match, as for `edges/**`.
                files = {file for each in matches for file in _files(each)}
                parts += _with_keys(root, _in_order(root, files))
            elif place.is_dir():
                parts += _with_keys(place, _files(place))
            else:
                parts.append(Part(place))
    return parts


def local_files(inputs: Iterable[Any]) -> Iterator[Path]:
    """Yield local files and folders among the inputs, matches of patterns, and their contents."""
    for place in map(place_of, inputs):
        if isinstance(place, Path):
            match = _match(place)
            for path in map(Path, map(str, match[1] if match else [place])):
                yield path
                yield from path.rglob("*")


def _match(place: Place) -> tuple[Place, list[Place]] | None:
    """Return the folder of a pattern and its matches; None if the place is not a pattern."""
    text = place.path if isinstance(place, Url) else str(place)
    is_web = isinstance(place, Url) and place.is_web
    mark = re.search(r"[*\[]" if is_web else r"[*?\[]", text)
    if mark is None or place.exists():
        return None
    root = text[: mark.start()].rpartition("/")[0]
    if isinstance(place, Url):
        found: list[Place] = [*place.matches()]
        folder: Place = Url(place.filesystem, root)
    else:
        folder = Path(root or ("/" if text.startswith("/") else "."))
        parts = Path(text).parts[len(folder.parts) :]
        found = [*_matching(folder, parts, folder)] if folder.is_dir() else []
    matches = [match for match in found if not _is_skipped(_below(folder, match))]
    if not matches:
        raise FileFormatError(f"{place}: no file matches")
    return folder, matches


def _files(place: Place) -> list[Place]:
    """Return the files of edges in a folder, in order; a folder of `.npy` columns counts as one."""
    if not place.is_dir():
        return [place]
    files = []
    for file, size in place.files() if isinstance(place, Url) else _walk(place):
        parts = _below(place, file)
        for name in _TABLES.keys() & parts[:-1]:
            raise FileFormatError(f"{place}: is {_TABLES[name]}")
        # Libraries write empty text files for partitions without rows.
        if not _is_skipped(parts) and (size != 0 or suffix_of(file) in _NEVER_EMPTY):
            files.append(file)
    npy_folders = {file.parent for file in files if file.suffix == ".npy" or file.name == "n.txt"}
    if place in npy_folders:
        return [place]
    others = [file for file in files if file.parent not in npy_folders]
    suffixes = {suffix_of(file) for file in others} | ({".npy"} if npy_folders else set())
    if not suffixes:
        message = "the folder has no columns u.npy and v.npy, and no files such as .parquet"
        raise FileFormatError(f"{place}: {message}")
    if len(suffixes) > 1:
        shown = ", ".join(sorted(suffix or "no suffix" for suffix in suffixes))
        message = f"files of several kinds ({shown}); pass a pattern such as {place}/**/*.parquet"
        raise FileFormatError(f"{place}: {message}")
    return _in_order(place, [*npy_folders, *others])


def _walk(folder: Path) -> Iterator[tuple[Path, int | None]]:
    """Yield the files in a folder, at any depth, with their sizes, except those to skip.

    A file of each folder of `_TABLES` is enough to find these.
    """

    def fail(error: OSError) -> None:
        with file_errors(error.filename):
            raise error

    for parent, folders, names in os.walk(folder, onerror=fail, followlinks=True):
        folders[:] = [
            name
            for name in folders
            if name in _TABLES or not (_is_skipped([name]) or _is_loop(Path(parent, name), folder))
        ]
        for path in (Path(parent, name) for name in names if not _is_skipped([name])):
            with file_errors(path):
                status = path.stat()
            # A pipe has no size, but is not empty; its format is an error.
            yield path, status.st_size if stat.S_ISREG(status.st_mode) else None


def _matching(folder: Path, parts: Sequence[str], root: Path) -> Iterator[Path]:
    """Yield the files and folders in a folder that match the parts of a pattern below `root`.

    Unlike in `glob`, a folder that cannot be read, or a link to nothing, is an error.
    """
    first, *others = parts
    if first == "**" and others:
        yield from _matching(folder, others, root)
        for path in _listed(folder, "*"):
            if _is_folder(path) and not _is_loop(path, root):
                yield from _matching(path, parts, root)
    elif first == "**":
        yield folder  # with all its files
    else:
        for path in _listed(folder, first):
            if not others:
                yield path
            elif _is_folder(path):
                yield from _matching(path, others, root)


def _listed(folder: Path, pattern: str) -> list[Path]:
    """Return the files and folders directly in a folder that match, except those to skip."""
    with file_errors(folder):
        names = os.listdir(folder)
    if not re.search(r"[*?\[]", pattern):
        return [folder / pattern] if pattern in names else []
    return [folder / name for name in fnmatch.filter(names, pattern) if not _is_skipped([name])]


def _is_folder(path: Path) -> bool:
    with file_errors(path):
        return stat.S_ISDIR(path.stat().st_mode)


def _is_loop(path: Path, root: Path) -> bool:
    """Return whether a folder is a link to one of the folders from `root` on that it is in."""
    above = [*path.parents][: len(_below(root, path))]
    return path.is_symlink() and _real(path) in map(_real, above)


def _real(path: Place) -> str:
    """Return the path of a file without links."""
    return os.path.realpath(path) if isinstance(path, Path) else str(path)


def _below(folder: Place, file: Place) -> tuple[str, ...]:
    """Return the names in the path from a folder to a file in it."""
    if isinstance(folder, Url) and isinstance(file, Url):
        start = folder.path.rstrip("/")
        return PurePosixPath(file.path.removeprefix(start).lstrip("/")).parts
    return Path(os.path.relpath(str(file), str(folder))).parts


def _is_skipped(parts: Sequence[str]) -> bool:
    """Return whether a name in a path starts with a dot or underscore, except `_name=value`."""
    return any(part.startswith(".") or (part.startswith("_") and "=" not in part) for part in parts)


def suffix_of(file: Place) -> str:
    """Return the suffix of a file; a suffix of compressed text, such as `.gz`, is dropped first."""
    name = PurePosixPath(file.name)
    return (name.with_suffix("") if name.suffix.lower() in COMPRESSIONS else name).suffix.lower()


def _in_order(folder: Place, files: Iterable[Place]) -> list[Place]:
    """Return files in natural order by their paths below a folder.

    A file that links reach more than once is there once, by its own path if that is below.
    """
    ordered = sorted(files, key=lambda file: _natural(_below(folder, file)))
    start = _real(folder)
    first: dict[str, Place] = {}
    for file in ordered:
        own_path = os.path.join(start, *_below(folder, file))
        if first.setdefault(_real(file), file) is not file and _real(file) == own_path:
            first[_real(file)] = file
    return [file for file in ordered if first[_real(file)] is file]


def _natural(parts: Sequence[str]) -> list[list[tuple[bool, int, str]]]:
    """Return the parts of a path so that they sort by the values of the numbers in them."""
    split = (re.split(r"([0-9]+)", part) for part in parts)
    return [[(t.isdecimal(), int(t) if t.isdecimal() else 0, t) for t in texts] for texts in split]


def _with_keys(root: Place, files: Sequence[Place]) -> list[Part]:
    """Return files with the columns that their folders below `root` state."""
    all_texts: list[dict[str, str | None]] = []
    for file in files:
        pairs = (part.split("=", 1) for part in _below(root, file)[:-1] if "=" in part)
        texts = {name: unquote(value) for name, value in pairs}
        all_texts.append({n: None if t in ("", _MISSING) else t for n, t in texts.items()})
        if all_texts[-1].keys() != all_texts[0].keys():
            message = f"its folders have {_shown(all_texts[-1])}, but those above {files[0]} have"
            raise FileFormatError(f"{file}: {message} {_shown(all_texts[0])}")
    columns = {name: [texts[name] for texts in all_texts] for name in (all_texts or [{}])[0]}
    types = {name: _type([*filter(None, column)]) for name, column in columns.items()}
    return [
        Part(file, tuple((n, None if t is None else types[n](t)) for n, t in texts.items()))
        for file, texts in zip(files, all_texts, strict=True)
    ]


def _shown(keys: Iterable[str]) -> str:
    names = ", ".join(keys)
    return f"the columns {names}" if names else "no columns"


def _type(values: Sequence[str]) -> Callable[[str], Any]:
    """Return the narrowest type that has all values of a column, as integers exactly.

    Floats are rounded as in text. Numbers beyond 64 bits or float64 are strings.
    """
    if all(re.fullmatch("-?[0-9]+", value) for value in values):
        bounds = [0, *map(_integer, values)]
        dtypes = (np.int64, np.uint64)
        fits = [np.iinfo(d).min <= min(bounds) and max(bounds) <= np.iinfo(d).max for d in dtypes]
        return next(
            itertools.compress((_integer, lambda value: np.uint64(_integer(value))), fits), str
        )
    decimal = r"-?[0-9]*\.?[0-9]+(e[+-]?[0-9]+)?"
    if not all(re.fullmatch(decimal, value, re.IGNORECASE) for value in values):
        return str
    return float if all(map(_is_float, values)) else str


def _integer(digits: str) -> int:
    """Return an integer; of more than 40 digits, one that is too large."""
    return int(digits[:40])


def _is_float(value: str) -> bool:
    """Return whether a number is within float64, and exact as float64 if it is an integer."""
    if not math.isfinite(number := float(value)):
        return False
    return not re.fullmatch("-?[0-9]+", value) or int(number) == _integer(value)
