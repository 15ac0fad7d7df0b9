"""File formats: a module for each format, and the registry of readers and writers."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike, fspath, sep
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import FileFormatError, OptionError
from ...plugins import Plugin, registered
from ...progress import set_listener
from ..file_checks import file_errors
from . import arrow, bin, geojson, image, npy, parquet  # noqa: A004
from .file_format import Format
from .text import csv, gr, metis, mtx, txt
from .text.text_file import DECOMPRESSORS, open_text, split_fields

if TYPE_CHECKING:
    from .edge_table import EdgeTable

#: All formats, in the order in which a file's content is tried.
FORMATS = (
    gr.FORMAT,
    txt.FORMAT,
    mtx.FORMAT,
    metis.FORMAT,
    npy.ARCHIVE,
    npy.FOLDER,
    bin.FORMAT,
    image.FORMAT,
    csv.FORMAT,
    parquet.FORMAT,
    arrow.FORMAT,
    geojson.FORMAT,
)
_READABLE = {each.name: each for each in FORMATS if each.read or each.blocks}
_FOLDER = next(each for each in FORMATS if each.is_folder)
_WRITABLE = {each.suffixes[0]: each for each in FORMATS if each.write and each.suffixes}

#: The suffixes of outputs that can contain names of vertices, for messages.
NAMED_OUTPUTS = " or ".join(suffix for suffix, each in _WRITABLE.items() if each.holds_names)
#: The suffixes of outputs for any graph, for messages.
OUTPUTS = ", ".join(suffix for suffix, each in _WRITABLE.items() if not each.needs_coordinates)


def format_names() -> list[str]:
    """Return the names of all formats that can be read, plugins last."""
    return [*_READABLE, *_plugins()]


def format_of(path: Path, name: str | None = None) -> Format:
    """Return the format of a file or folder: by name, otherwise by suffix, otherwise by content."""
    with file_errors(path):
        if path.is_fifo() or path.is_char_device():
            message = f"{path}: cannot read from a pipe; write its output to a file first"
            raise FileFormatError(message)
    if name is not None:
        return _named(name)
    if path.is_dir():
        return _FOLDER
    plain = path.with_suffix("") if path.suffix.lower() in DECOMPRESSORS else path
    suffix = plain.suffix.lower()
    known = [each for each in _READABLE.values() if suffix in each.suffixes]
    if len(known) == 1:
        return known[0]
    if not known and suffix[1:] in _plugins():
        return _named(suffix[1:])
    found = _sniffed(path)
    if known:
        return found if found in known else known[0]
    if found is None:
        message = f"{path}: unknown format; pass format= with one of {', '.join(format_names())}"
        raise FileFormatError(message)
    return found


def writer_of(
    path: str | PathLike[str], *, has_coordinates: bool = False, has_names: bool = False
) -> Callable[[Path, EdgeTable], None]:
    """Return the function that writes a file or folder of this name."""
    suffix = Path(path).suffix.lower()
    found = _FOLDER if names_folder(path) else _WRITABLE.get(suffix)
    if found is None and suffix[1:] in _plugins():
        found = _named(suffix[1:])
    if has_coordinates != (found is not None and found.needs_coordinates):
        raise OptionError(f"{path}: .geojson, and no other format, needs coordinates=")
    if found is None or found.write is None:
        message = f"{path}: cannot write {suffix!r}; use {OUTPUTS}, or no suffix for a folder"
        raise OptionError(message)
    if has_names and not found.holds_names:
        raise OptionError(f"{path}: vertices have names; use {NAMED_OUTPUTS}")
    return found.write


def names_folder(path: str | PathLike[str]) -> bool:
    """Return whether an output is a folder: its name has no suffix, or ends in a slash."""
    return Path(path).suffix == "" or fspath(path).endswith(("/", sep))


def _sniffed(path: Path) -> Format | None:
    """Return the format of the first line that is not a comment, or of a comment before it."""
    with set_listener(False), open_text(path) as file:  # these lines will be read again
        for _, line in file.lines():
            for each in FORMATS:
                if each.begins and each.begins(line):
                    return each
            fields = split_fields(line)
            if fields and fields[0][:1] not in b"#%":
                return None
    return None


def _plugins() -> dict[str, Plugin]:
    """Return the formats of plugins. The name of each is also the suffix of its files."""
    suffixes = (suffix[1:] for each in FORMATS for suffix in each.suffixes)
    return registered("reader", (*(each.name for each in FORMATS), *suffixes))


def _named(name: str) -> Format:
    if name in _READABLE:
        return _READABLE[name]
    if name not in _plugins():
        raise OptionError(f"unknown format {name!r}; known: {', '.join(format_names())}")
    found = _plugins()[name].load(Callable, Format)
    return found if isinstance(found, Format) else Format(name, (f".{name}",), found)
