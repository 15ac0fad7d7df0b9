"""Images as graphs: each pixel is joined to the pixels to its left and right, above and below."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import FileFormatError, OptionError, file_errors
from ...graphs.edge_list import EdgeList
from ..file_checks import max_expanded_size, without_warnings
from ..places.url import Place
from .file_format import Format


def read_image(path: Place) -> EdgeList:
    """Read an image with Pillow, or its first frame if there are several.

    Vertices are pixels, row by row. Edges within rows come first, then edges between rows, both in
    the order of their first pixel. The weight is the sum over channels of the absolute differences
    (int64).
    """
    with _opened(path) as image:
        # The pixels of a palette image are indices into the palette, not colors.
        pixels = np.asarray(image.convert("RGB") if image.mode in ("P", "PA") else image)
    if pixels.dtype.kind not in "biu":
        raise FileFormatError(f"{path}: pixels must be integers, not {pixels.dtype}")
    vertex = np.arange(pixels.shape[0] * pixels.shape[1]).reshape(pixels.shape[:2])
    u = np.concatenate([vertex[:, :-1].ravel(), vertex[:-1].ravel()])
    v = np.concatenate([vertex[:, 1:].ravel(), vertex[1:].ravel()])
    weight = np.concatenate([_differences(pixels, axis) for axis in (1, 0)])
    return EdgeList(u, v, weight, num_vertices=vertex.size)


def _differences(pixels: NDArray[Any], axis: int) -> NDArray[np.int64]:
    """Return the sums over channels of the absolute differences along an axis."""
    channels = pixels.reshape(*pixels.shape[:2], -1)
    total: Any = 0  # one channel at a time, because differences need eight times the memory
    for channel in range(channels.shape[2]):
        total += np.abs(np.diff(channels[:, :, channel].astype(np.int64), axis=axis))
    return np.ravel(total)


def column_bytes(path: Place) -> int:
    """Return the bytes of the columns of an image's graph, which has two edges for each pixel."""
    with _opened(path) as image:
        return 2 * 24 * int(image.width * image.height)


@contextlib.contextmanager
def _opened(path: Place) -> Iterator[Any]:
    """Open an image without reading its pixels."""
    try:
        from PIL import Image
    except ModuleNotFoundError as error:
        raise OptionError(f"{path}: images need the package pillow: mstflow[io]") from error
    with (
        file_errors(path, SyntaxError, ValueError, Image.DecompressionBombError),
        without_warnings(),
        path.open("rb") as file,
        Image.open(file) as image,
    ):
        if image.width * image.height > max_expanded_size(path):
            message = f"states {image.width} x {image.height} pixels, far more than its bytes hold"
            raise ValueError(message)
        yield image


FORMAT = Format("image", (".png", ".pgm", ".tif", ".tiff"), read_image, size=column_bytes)
