"""Graphs in files, written without mstflow: folders of columns, archives, compressed text."""

import bz2
import gzip
import io
import lzma
import struct
import zipfile
import zlib
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

#: The roads of New York, which the examples include.
ROADS = Path(__file__).parents[2] / "examples" / "data" / "USA-road-d.NY.gr.gz"
#: Functions from bytes to compressed bytes, by suffix.
COMPRESS = {
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".bz2": bz2.compress,
    ".zst": partial(pa.compress, codec="zstd", asbytes=True),
}


def save_columns(folder, u, v, w=None, n=None):
    """Write a folder of columns, and `n.txt` if `n` is given; return the folder."""
    folder.mkdir(exist_ok=True)
    for name, column in {"u": u, "v": v, "w": w}.items():
        if column is not None:
            np.save(folder / f"{name}.npy", column)
    if n is not None:
        (folder / "n.txt").write_text(f"{n}\n")
    return folder


def zipped(members, compression=zipfile.ZIP_STORED):
    """Return the bytes of an archive of members by name."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()


def png_header(width, height):
    """Return the first bytes of a gray image, without pixels."""
    header = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    chunk = struct.pack(">I", 13) + header + struct.pack(">I", zlib.crc32(header))
    return b"\x89PNG\r\n\x1a\n" + chunk
