"""GeoJSON, for maps: a line for each edge. This format can only be written."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from ...errors import OptionError
from ...graphs.edge_table import EdgeTable
from .file_format import Format
from .text.coordinates import checked_coordinates


def write_geojson(path: Path, table: EdgeTable) -> None:
    """Write a line for each edge; columns other than u and v become properties.

    Source: RFC 7946, "The GeoJSON Format", 2016.
    """
    places = checked_coordinates(table.coordinates, table.num_vertices or 0)
    wrong = ~(np.abs(places) <= (180, 90)).all(axis=1)
    if wrong.any():
        vertex = int(wrong.argmax())
        place = places[vertex].tolist()
        raise OptionError(f"vertex {vertex}: {place} must be degrees east and north")
    properties, first_row = [name for name in table.dtypes if name not in ("u", "v")], 0
    with path.open("w") as file:
        file.write('{"type": "FeatureCollection", "features": [')
        separator = "\n"
        for columns in table.blocks():
            for name in properties:
                if (wrong := ~np.isfinite(columns[name])).any():
                    row = int(wrong.argmax())
                    problem = f"{name} is {columns[name][row]}, which JSON cannot represent"
                    raise OptionError(f"row {first_row + row}: {problem}")
            lines = np.stack([places[columns["u"]], places[columns["v"]]], axis=1)
            rows = zip(*(columns[name].tolist() for name in properties), strict=True)
            for line, values in zip(lines.tolist(), rows, strict=True):
                feature = {
                    "type": "Feature",
                    "geometry": {"type": "LineString", "coordinates": line},
                    "properties": dict(zip(properties, values, strict=True)),
                }
                file.write(separator + json.dumps(feature))
                separator = ",\n"
            first_row += len(lines)
        file.write("\n]}\n")


FORMAT = Format("geojson", (".geojson",), write=write_geojson, needs_coordinates=True)
