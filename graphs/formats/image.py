"""Images as graphs: each pixel is joined to those beside, above and below it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...errors import FileFormatError, OptionError
from ..edge_list import EdgeList
from ..files import file_errors, most_from, without_warnings
from ..format import Format

if TYPE_CHECKING:
    from pathlib import Path


def read_image(path: Path) -> EdgeList:
    """Read an image with Pillow, or its first frame if there are several.

    Vertices are pixels, row by row. Edges within rows come first, then edges between rows, both in
    the order of their first pixel. The weight is the sum over channels of the absolute differences
    (int64).
    """
    try:
        from PIL import Image
    except ModuleNotFoundError as error:
        message = f"{path}: images need the package pillow: mstflow[io]"
        raise OptionError(message) from error
    refused = SyntaxError, ValueError, Image.DecompressionBombError
    with file_errors(path, *refused), without_warnings(), Image.open(path) as image:
        if image.width * image.height > most_from(path):
            message = f"states {image.width} x {image.height} pixels, far more than its bytes hold"
            raise ValueError(message)
        # The values of a palette image are indices, not brightness.
        pixels = np.asarray(image.convert("RGB") if image.mode in ("P", "PA") else image)
    if pixels.dtype.kind not in "biu":
        message = f"{path}: pixels must be integers, not {pixels.dtype}"
        raise FileFormatError(message)
    number = np.arange(pixels.shape[0] * pixels.shape[1]).reshape(pixels.shape[:2])
    channels = pixels.reshape(number.size, -1).astype(np.int64)
    u = np.concatenate([number[:, :-1].ravel(), number[:-1].ravel()])
    v = np.concatenate([number[:, 1:].ravel(), number[1:].ravel()])
    weight = np.abs(channels[u] - channels[v]).sum(axis=1)
    return EdgeList(u, v, weight, num_vertices=number.size)


FORMAT = Format("image", (".png", ".pgm", ".tif", ".tiff"), read_image)
