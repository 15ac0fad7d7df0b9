"""Pairs of vertices as 32-bit integers without a header: `.gr.bin` files."""

from __future__ import annotations

import numpy as np

from ...errors import file_errors
from ..places.url import Place
from .file_format import Format
from .text.blocks import Blocks, Header

_BLOCK_PAIRS = 2**19


def bin_blocks(path: Place) -> Blocks:
    """Yield an empty header, then blocks of the pairs: little-endian int32, numbered from 1."""
    with file_errors(path, ValueError), path.open("rb") as file:
        size = path.stat().st_size
        if size % 8:
            raise ValueError(f"{size} bytes are not a whole number of pairs of int32")
        yield Header()
        while data := file.read(8 * _BLOCK_PAIRS):
            pairs = np.frombuffer(data, "<i4")
            u, v = pairs.reshape(-1, 2).T.astype(np.int64) - 1
            yield u, v, None


FORMAT = Format("bin", (".bin",), blocks=bin_blocks)
