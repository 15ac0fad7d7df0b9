"""Coordinates of vertices: `.co` files, which accompany `.gr` files, and arrays."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....errors import OptionError
from .text_file import SHORT_INTEGER, check_edges, open_text, range_problem, shown, split_fields

_UNITS_PER_DEGREE = 1_000_000


def read_coordinates(path: str | PathLike[str]) -> NDArray[np.float64]:
    """Read the coordinates of the vertices of a road network, plain or compressed.

    After the header `p aux sp co n` there is a line `v id x y` for each vertex, in any order. Ids
    start at 1, and x and y are in millionths of a degree. Lines that start with `c` are comments.

    Source: 9th DIMACS Implementation Challenge, "Shortest Paths", 2006, file formats.

    Returns
    -------
    float64 array of shape (n, 2)
        Degrees east and north of each vertex, as an argument of `Forest.plot`.

    Raises
    ------
    FileFormatError
        If the file is malformed. Names the line, or the first vertex without coordinates.
    """
    path = Path(path)
    with open_text(path) as file:
        start, line = file.first_row(b"c", "'p' line")
        fields = split_fields(line)
        if fields[:-1] != [b"p", b"aux", b"sp", b"co"]:
            file.fail(start, f"expected 'p aux sp co n', found {shown(line.strip())}")
        size = file.count(start, fields[-1])
        check_edges(path, start, size, 8)
        places, is_known = np.empty((size, 2), np.int64), bytearray(size)
        for number, line in file.lines():
            fields = split_fields(line)
            if not fields or fields[0].startswith(b"c"):
                continue
            tag, *values = fields
            if tag != b"v" or len(values) != 3 or not all(map(SHORT_INTEGER.fullmatch, values)):
                file.fail(number, f"expected 'v id x y', found {shown(line.strip())}")
            vertex, *place = map(int, values)
            if not 1 <= vertex <= size:
                file.fail(number, range_problem(str(vertex), 1, size))
            if is_known[vertex - 1]:
                file.fail(number, f"vertex {vertex} already has coordinates")
            places[vertex - 1], is_known[vertex - 1] = place, True
    if not all(is_known):
        file.fail(start, f"vertex {is_known.index(0) + 1} of {size} has no coordinates")
    return places / _UNITS_PER_DEGREE


def checked_coordinates(coordinates: Any, num_vertices: int) -> NDArray[np.float64]:
    """Return coordinates as an array; raise an OptionError unless it has shape (n, 2)."""
    try:
        places = np.asarray(coordinates, np.float64)
    except (TypeError, ValueError) as error:
        raise OptionError(f"coordinates must be an array of numbers: {error}") from error
    if places.shape != (num_vertices, 2):
        raise OptionError(f"coordinates must have shape ({num_vertices}, 2), not {places.shape}")
    return places
