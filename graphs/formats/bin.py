"""Pairs of vertices as 32-bit integers without a header: `.gr.bin` files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..edge_list import EdgeList
from ..files import file_errors
from ..format import Format

if TYPE_CHECKING:
    from pathlib import Path


def read_bin(path: Path) -> EdgeList:
    """Read pairs of vertices, numbered from 1, as little-endian int32."""
    with file_errors(path, ValueError):
        ids = np.fromfile(path, "<i4").astype(np.int64) - 1
        if path.stat().st_size % 8:
            message = f"{path.stat().st_size} bytes are not a whole number of pairs of int32"
            raise ValueError(message)
        return EdgeList(ids[::2], ids[1::2])


FORMAT = Format("bin", (".bin",), read_bin)
