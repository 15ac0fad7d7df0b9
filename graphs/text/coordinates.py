"""Where vertices lie, two numbers for each: from `.co` files, the companions of `.gr` files."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NoReturn

import numpy as np

from ...errors import OptionError
from .files import fail, first_row, head_lines, open_text, parse_count, shown, split_fields

if TYPE_CHECKING:
    from os import PathLike

    from numpy.typing import NDArray

_ROW = np.dtype([("tag", "S2"), ("vertex", np.int64), ("x", np.int64), ("y", np.int64)])
_UNITS = 1_000_000  # to a degree
_INTEGER = re.compile(rb"-?[0-9]{1,18}")


def read_coordinates(path: str | PathLike[str]) -> NDArray[np.float64]:
    """Read the coordinates of a road network, plain or compressed.

    After `p aux sp co n` comes a line `v id x y` for each vertex, in any order, numbered from 1,
    with x and y in millionths of a degree. Lines that start with `c` are comments.

    Source: 9th DIMACS Implementation Challenge, "Shortest Paths", 2006, file formats.

    Returns
    -------
    float64 array of shape (n, 2)
        Degrees east and north of each vertex, as `Forest.save` takes them.

    Raises
    ------
    FileFormatError
        If the file is anything else; names the line, or the first vertex without coordinates.
    """
    path = Path(path)
    with open_text(path) as handle:
        number, size = _header(path, handle)
        try:
            with warnings.catch_warnings(action="ignore"):  # of a file without rows
                rows = np.loadtxt(handle, _ROW, comments="c", ndmin=1, encoding="latin-1")
        except ValueError:
            _explain(path, number, size)
    vertex = rows["vertex"]
    is_row = (rows["tag"] == b"v") & (vertex >= 1) & (vertex <= size)
    if not is_row.all() or not len(np.unique(vertex)) == len(rows) == size:
        _explain(path, number, size)
    places = np.empty((size, 2))
    places[vertex - 1] = np.column_stack([rows["x"], rows["y"]]) / _UNITS
    return places


def checked_coordinates(coordinates: Any, num_vertices: int) -> NDArray[np.float64]:
    """Return coordinates as an array of shape (n, 2).

    Raises
    ------
    OptionError
        If they are anything else.
    """
    try:
        places = np.asarray(coordinates, np.float64)
    except (TypeError, ValueError) as error:
        message = f"coordinates are no array of numbers: {error}"
        raise OptionError(message) from error
    if places.shape != (num_vertices, 2):
        message = f"coordinates must be of shape ({num_vertices}, 2), not {places.shape}"
        raise OptionError(message)
    return places


def _header(path: Path, handle: IO[bytes]) -> tuple[int, int]:
    """Read `p aux sp co n`: the number of its line, and n."""
    number, line = first_row(path, head_lines(path, handle), b"c", "'p' line")
    fields = split_fields(line)
    if fields[:-1] != [b"p", b"aux", b"sp", b"co"]:
        fail(path, number, f"expected 'p aux sp co n', found {shown(line.strip())}")
    return number, parse_count(path, number, fields[-1])


def _explain(path: Path, start: int, size: int) -> NoReturn:
    """Find the first bad line after line `start`, and raise the error that names it."""
    seen = set()
    with open_text(path) as handle:
        for number, line in head_lines(path, handle):
            fields = split_fields(line)
            if number <= start or not fields or fields[0].startswith(b"c"):
                continue
            if (
                len(fields) != 4
                or fields[0] != b"v"
                or not all(map(_INTEGER.fullmatch, fields[1:]))
            ):
                fail(path, number, f"expected 'v id x y', found {shown(line.strip())}")
            vertex = int(fields[1])
            if not 1 <= vertex <= size:
                fail(path, number, f"vertex id {vertex} is not in 1 to {size}")
            if vertex in seen:
                fail(path, number, f"vertex {vertex} has coordinates already")
            seen.add(vertex)
    absent = next(vertex for vertex in range(1, size + 1) if vertex not in seen)
    fail(path, start, f"vertex {absent} of {size} has no coordinates")
