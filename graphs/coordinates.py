"""Coordinates of vertices."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import OptionError


def checked_coordinates(coordinates: Any, num_vertices: int) -> NDArray[np.float64]:
    """Return coordinates as an array; raise an OptionError unless it has shape (n, 2)."""
    try:
        places = np.asarray(coordinates, np.float64)
    except (TypeError, ValueError) as error:
        raise OptionError(f"coordinates must be an array of numbers: {error}") from error
    if places.shape != (num_vertices, 2):
        raise OptionError(f"coordinates must have shape ({num_vertices}, 2), not {places.shape}")
    return places
