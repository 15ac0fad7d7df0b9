"""Writes edges as GeoJSON, for maps."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import OptionError
from ..text.coordinates import checked_coordinates

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray


def checked_degrees(coordinates: Any, num_vertices: int) -> NDArray[np.float64]:
    """Return coordinates as an array of n rows: degrees east and north.

    Raises
    ------
    OptionError
        If they are anything else; names the vertex.
    """
    places = checked_coordinates(coordinates, num_vertices)
    wrong = ~(np.abs(places) <= (180, 90)).all(axis=1)
    if wrong.any():
        vertex = int(wrong.argmax())
        message = f"vertex {vertex}: {places[vertex].tolist()} is not degrees east and north"
        raise OptionError(message)
    return places


def write_geojson(
    path: Path, columns: Mapping[str, NDArray[Any]], places: NDArray[np.float64]
) -> None:
    """Write a line from end to end for each edge; other columns than u and v are its properties.

    Source: RFC 7946, "The GeoJSON Format", 2016.

    Raises
    ------
    OptionError
        If a weight is not finite, which JSON has no number for; names the row.
    """
    rest = {name: values for name, values in columns.items() if name not in ("u", "v")}
    for name, values in rest.items():
        if not np.isfinite(values).all():
            first = int(np.isfinite(values).argmin())
            message = f"row {first}: {name} is {values[first]}, which JSON has no number for"
            raise OptionError(message)
    lines = np.stack([places[columns["u"]], places[columns["v"]]], axis=1)
    with path.open("w") as file:
        file.write('{"type": "FeatureCollection", "features": [')
        between = "\n"
        rows = zip(*(values.tolist() for values in rest.values()), strict=True)
        for line, row in zip(lines.tolist(), rows, strict=True):
            feature = {
                "type": "Feature",
                "geometry": {"type": "LineString", "coordinates": line},
                "properties": dict(zip(rest, row, strict=True)),
            }
            file.write(between + json.dumps(feature))
            between = ",\n"
        file.write("\n]}\n")
