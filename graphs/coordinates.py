"""Where vertices lie in a plane: two numbers for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import OptionError

if TYPE_CHECKING:
    from numpy.typing import NDArray


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
