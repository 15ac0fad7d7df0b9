"""File formats: a module for each format, and the registry of readers and writers."""

from __future__ import annotations

import copyreg
import importlib
from collections.abc import Callable, Iterable
from os import PathLike, fspath, sep
from pathlib import Path

from ...errors import FileFormatError, OptionError, file_errors
from ...graphs.edge_table import EdgeTable
from ...plugins import Plugin, registered
from ...progress import set_listener
from ..places.folders import Part, expanded, suffix_of
from ..places.url import Place
from . import arrow, bin, image, npy, npz, parquet  # noqa: A004
from .file_format import Format
from .text import csv, gr, metis, mtx, txt
from .text.text_file import open_text, split_fields
from .unsupported import ARCHIVE, UNSUPPORTED, WORKBOOK

#: All formats. The content of a file is tried in this order, after the formats of `UNSUPPORTED`.
FORMATS = (
    gr.FORMAT,
    txt.FORMAT,
    mtx.FORMAT,
    metis.FORMAT,
    npz.FORMAT,
    npy.FORMAT,
    bin.FORMAT,
    image.FORMAT,
    csv.FORMAT,
    parquet.FORMAT,
    arrow.FORMAT,
)
_READABLE = {kind.name: kind for kind in FORMATS if kind.read or kind.blocks}
_WRITABLE = {kind.suffixes[0]: kind for kind in FORMATS if kind.write and kind.suffixes}

#: The suffixes of outputs with names of vertices, for messages.
NAMED_OUTPUTS = " or ".join(suffix for suffix, kind in _WRITABLE.items() if kind.holds_names)
#: The suffixes of outputs for any graph, for messages.
OUTPUTS = ", ".join(_WRITABLE)


def format_names() -> list[str]:
    """Return the names of all formats that can be read, plugins last."""
    return [*_READABLE, *_plugins()]


def format_of(path: Place, name: str | None = None, encoding: str | None = None) -> Format:
    """Return the format of a file or folder: by name, otherwise by suffix, otherwise by content."""
    with file_errors(path):
        if isinstance(path, Path) and (path.is_fifo() or path.is_char_device()):
            raise FileFormatError(
                f"{path}: cannot read from a pipe; write its output to a file first, or pass it to "
                "a command as -"
            )
    if name is not None:
        return _format_by_name(name)
    found = _detect(path, encoding)
    if found is None:
        message = (
            f"{path}: unknown format; give the file a suffix of its format, or pass mstflow.read("
            f"path, format=...), on the command line --format: {', '.join(format_names())}"
        )
        raise FileFormatError(message)
    if found.instead:
        raise FileFormatError(f"{path}: mstflow does not read {found.name}; {found.instead}")
    return found


def _detect(path: Place, encoding: str | None) -> Format | None:
    """Return the format of a file or folder by its suffix, otherwise by its content."""
    if path.is_dir():
        return npy.FORMAT
    suffix = suffix_of(path)
    known = [kind for kind in (*_READABLE.values(), *UNSUPPORTED) if suffix in kind.suffixes]
    if len(known) == 1:
        return known[0]
    if not known and suffix[1:] in _plugins():
        return _format_by_name(suffix[1:])
    # If several formats share a suffix, the content decides between them.
    by_content = _detect_by_content(path, encoding)
    if by_content is npz.FORMAT:
        by_content = _kind_of_archive(npz.member_names(path))
    return known[0] if known and by_content not in (*known, *UNSUPPORTED) else by_content


def parts_of(
    places: Iterable[Place],
    format: str | None = None,  # noqa: A002
    encoding: str | None = None,
) -> list[tuple[Part, Format]]:
    """Return the files of a graph in order, each with its format: folders are expanded."""
    is_folder = format is not None and _format_by_name(format).is_folder
    parts = map(Part, places) if is_folder else expanded(places)
    if encoding is not None:
        _check_encoding(encoding)
    files = [
        (part._replace(encoding=encoding), format_of(part.place, format, encoding))
        for part in parts
    ]
    for part, kind in files:
        if encoding is not None and not kind.is_text:
            raise OptionError(f"{part.place}: encoding= is for text, not for format {kind.name!r}")
    return files


def _check_encoding(encoding: str) -> None:
    """Check that an encoding is known, and one of text."""
    try:
        "0".encode(encoding)
    except (LookupError, UnicodeError) as error:
        message = f"unknown encoding {encoding!r}; known are those of Python"
        raise OptionError(message) from error


def writer_of(path: str | PathLike[str], *, has_names: bool) -> Callable[[Path, EdgeTable], None]:
    """Return the function that writes a file or folder of this name; import its library."""
    suffix = Path(path).suffix.lower()
    target = npy.FORMAT if names_folder(path) else _WRITABLE.get(suffix)
    if target is None and suffix[1:] in _plugins():
        target = _format_by_name(suffix[1:])
    if target is None or target.write is None:
        message = f"{path}: cannot write {suffix!r}; use {OUTPUTS}, or no suffix for a folder"
        raise OptionError(message)
    if has_names and not target.holds_names:
        raise OptionError(f"{path}: names and clusters of vertices need {NAMED_OUTPUTS}")
    if target.writes_with:
        importlib.import_module(target.writes_with)
    return target.write


def names_folder(path: str | PathLike[str]) -> bool:
    """Return whether an output is a folder: its name has no suffix, or ends in a slash."""
    return Path(path).suffix == "" or fspath(path).endswith(("/", sep))


def _kind_of_archive(names: list[str]) -> Format:
    """Return the format of a ZIP archive with files of these names."""
    if all(name.endswith(".npy") for name in names):
        return npz.FORMAT
    is_workbook = any(name.startswith("xl/") or name == "content.xml" for name in names)
    return WORKBOOK if is_workbook else ARCHIVE


def _detect_by_content(path: Place, encoding: str | None) -> Format | None:
    """Return the format of the first comment or other line with which a known format begins.

    Lines after the first one that is not a comment are not read. Lines `c x` are comments of
    DIMACS if a line of this format follows, otherwise edges.
    """
    first_c: bytes | None = None
    with set_listener(False), open_text(path, encoding) as file:  # these lines will be read again
        for _, line in file.lines():
            if split_fields(line)[:1] == [b"c"]:
                first_c = first_c or line
                continue
            if first_c is not None and not gr.begins(line):
                line = first_c
            for kind in (*UNSUPPORTED, *FORMATS):
                if kind.begins and kind.begins(line):
                    return kind
            fields = split_fields(line)
            if fields and fields[0][:1] not in b"#%":
                return None
    return None


def _plugins() -> dict[str, Plugin]:
    """Return the formats of plugins by name, which is also the suffix of their files."""
    suffixes = (suffix[1:] for kind in FORMATS for suffix in kind.suffixes)
    return registered("reader", (*(kind.name for kind in FORMATS), *suffixes))


def _format_by_name(name: str) -> Format:
    if name in _READABLE:
        return _READABLE[name]
    if name not in _plugins():
        raise OptionError(f"unknown format {name!r}; known: {', '.join(format_names())}")
    loaded = _plugins()[name].load(Callable, Format)
    return loaded if isinstance(loaded, Format) else Format(name, (f".{name}",), loaded)


# A graph that is streamed refers to the formats of its files. Functions of a format may be lambdas,
# which cannot be pickled, so a format is pickled by its name.
copyreg.pickle(Format, lambda kind: (_format_by_name, (kind.name,)))
