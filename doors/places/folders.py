"""The files of a graph: folders and patterns are expanded to their files, in natural order."""

from __future__ import annotations

import glob
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple
from urllib.parse import unquote

from ...errors import FileFormatError, file_errors
from .url import Place, Url, place_of

#: Columns that folders called ``name=value`` state, with their values; a missing value is None.
Keys = tuple[tuple[str, int | float | str | None], ...]

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
        found = [Path(each) for each in glob.glob(text, recursive=True)]
        folder = Path(root or ("/" if text.startswith("/") else "."))
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
        raise error

    for parent, folders, names in os.walk(folder, onerror=fail, followlinks=True):
        folders[:] = [name for name in folders if name in _TABLES or not _is_skipped([name])]
        for path in (Path(parent, name) for name in names if not _is_skipped([name])):
            with file_errors(path):
                status = path.stat()
            # A pipe has no size, but is not empty; its format is an error.
            yield path, status.st_size if stat.S_ISREG(status.st_mode) else None


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
    """Return files in natural order by their paths below a folder."""
    return sorted(files, key=lambda file: _natural(_below(folder, file)))


def _natural(parts: Sequence[str]) -> list[list[tuple[bool, int, str]]]:
    """Return the parts of a path so that they sort by the values of the numbers in them."""
    split = (re.split(r"([0-9]+)", part) for part in parts)
    return [[(t.isdecimal(), int(t) if t.isdecimal() else 0, t) for t in texts] for texts in split]


def _with_keys(root: Place, files: Sequence[Place]) -> list[Part]:
    """Return files with the columns that their folders below `root` state."""
    all_texts = []
    for file in files:
        pairs = (part.split("=", 1) for part in _below(root, file)[:-1] if "=" in part)
        all_texts.append({name: unquote(value) for name, value in pairs})
        if all_texts[-1].keys() != all_texts[0].keys():
            message = f"its folders have {_shown(all_texts[-1])}, but those above {files[0]} have"
            raise FileFormatError(f"{file}: {message} {_shown(all_texts[0])}")
    types = {name: _type([texts[name] for texts in all_texts]) for name in (all_texts or [{}])[0]}
    return [
        Part(file, tuple((n, None if t == _MISSING else types[n](t)) for n, t in texts.items()))
        for file, texts in zip(files, all_texts, strict=True)
    ]


def _shown(keys: Iterable[str]) -> str:
    names = ", ".join(keys)
    return f"the columns {names}" if names else "no columns"


def _type(values: Sequence[str]) -> Callable[[str], int | float | str]:
    """Return the narrowest type for all values of a column that are present."""
    present = [value for value in values if value != _MISSING]
    if all(re.fullmatch(r"-?[0-9]{1,18}", value) for value in present):
        return int
    decimal = r"-?[0-9]*\.?[0-9]+(e[+-]?[0-9]+)?"
    return float if all(re.fullmatch(decimal, v, re.IGNORECASE) for v in present) else str
