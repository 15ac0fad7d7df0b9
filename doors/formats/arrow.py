"""Arrow IPC: files (also called Feather) and streams.

pyarrow reads the values. The sizes that a file states are read here, because pyarrow decompresses
all columns before it returns their sizes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import IO, Any, NamedTuple

from ...graphs.edge_list import EdgeList
from ...graphs.libraries import pa
from ..column_names import Choose
from ..file_checks import check_decompressed
from ..libraries.arrow_tables import arrow_errors, arrow_graph, with_keys
from ..places.folders import Keys
from ..places.url import Place, Url
from .file_format import Format

#: The metadata of a message (None at the end of a stream), and the offset of its body.
_Message = tuple["_FlatTable | None", int]

_MAGIC = b"ARROW1"  # the first bytes of a file, but not of a stream
_DICTIONARY, _RECORD_BATCH = 2, 3  # types of messages with a body


def read_arrow(path: Place, weight: str | None = "weight", keys: Keys = ()) -> EdgeList:
    """Read an Arrow IPC file or stream; `choose_columns` finds its columns, also among `keys`.

    The file is not memory-mapped: if a mapped file is truncated, an access ends the process.
    """
    with arrow_errors(path):
        return arrow_graph(with_keys(_read_table(path), keys), weight)


def arrow_tables(path: Place, choose: Choose, keys: Keys = ()) -> Iterator[Any]:
    """Yield the chosen columns, and one table of them."""
    table = with_keys(_read_table(path), keys)
    chosen = choose(table.column_names)
    yield chosen, table.select(chosen.present)


def _read_table(path: Place) -> Any:
    decompressed_bytes(path)  # checks that they are not too many
    with arrow_errors(path), _open(path) as source:
        opened = pa.ipc.open_file if _is_file(source) else pa.ipc.open_stream
        with opened(source) as reader:
            table = reader.read_all()
            table.validate()  # otherwise damaged lengths lead beyond the end of a buffer
            return table


def _open(path: Place) -> Any:
    return pa.PythonFile(path.open()) if isinstance(path, Url) else pa.OSFile(str(path))


def decompressed_bytes(path: Place) -> int:
    """Return the bytes of all columns, which the metadata state; read only the metadata.

    Raise an error if they are out of proportion to the size of the file.
    """
    with arrow_errors(path), path.open("rb") as handle:
        try:
            messages = _file_messages(handle) if _is_file(handle) else _stream_messages(handle)
            total = sum(_body_bytes(handle, *message) for message in messages)
        except (struct.error, OverflowError) as error:
            raise ValueError("the metadata are damaged") from error
    check_decompressed(path, total)
    return total


def _is_file(handle: IO[bytes]) -> bool:
    start = handle.read(len(_MAGIC))
    handle.seek(0)
    return start == _MAGIC


# The metadata are FlatBuffers. Source: "Arrow Columnar Format", version 1.5, section
# "Serialization and Interprocess Communication (IPC)", and its schemas Message.fbs and File.fbs.


class _FlatTable(NamedTuple):
    """A table of a FlatBuffer. A virtual table (vtable) has the offsets of its fields."""

    data: bytes
    start: int

    @classmethod
    def root(cls, data: bytes) -> _FlatTable:
        """Return the root table, at the start of a buffer."""
        return cls(data, *struct.unpack_from("<I", data))

    def number(self, field: int, code: str) -> int:
        """Return a number; 0 if it is missing."""
        start = self._start_of(field)
        return self._read(code, start) if start else 0

    def table(self, field: int) -> _FlatTable | None:
        """Return a table; None if it is missing."""
        start = self._start_of(field)
        return _FlatTable(self.data, start + self._read("I", start)) if start else None

    def structs(self, field: int, code: str) -> list[tuple[int, ...]]:
        """Return a list of structs; an empty one if it is missing."""
        if (vector := self.table(field)) is None:
            return []
        size = self._read("I", vector.start) * struct.calcsize(code)
        if size > len(self.data):
            raise struct.error("a list ends beyond the metadata")
        return list(struct.iter_unpack(code, self.data[vector.start + 4 :][:size]))

    def _start_of(self, field: int) -> int:
        """Return the position of a field; 0 if it is missing."""
        vtable = self.start - self._read("i", self.start)
        if vtable < 0:
            raise struct.error("an offset leads before the metadata")
        entry = 4 + 2 * field
        has_entry = entry < self._read("H", vtable)
        offset = self._read("H", vtable + entry) if has_entry else 0
        return self.start + offset if offset else 0

    def _read(self, code: str, position: int) -> int:
        return int(struct.unpack_from(f"<{code}", self.data, position)[0])


def _file_messages(handle: IO[bytes]) -> Iterator[_Message]:
    """Yield the dictionaries and record batches that the footer of a file lists."""
    end = handle.seek(0, 2) - len(_MAGIC) - 4
    handle.seek(max(0, end))
    (size,) = struct.unpack("<i", handle.read(4))
    if not 0 < size <= end:
        raise struct.error("the footer has no length")
    handle.seek(end - size)
    footer = _FlatTable.root(handle.read(size))
    for field in (2, 3):
        yield from (_read_message(handle, start) for start, *_ in footer.structs(field, "<qiiq"))


def _stream_messages(handle: IO[bytes]) -> Iterator[_Message]:
    start, end = 0, handle.seek(0, 2)
    while start < end:
        message, body = _read_message(handle, start)
        if message is None:
            return
        yield message, body
        start = body + message.number(3, "q")
        if start < body:
            raise struct.error("a body has a negative length")


def _read_message(handle: IO[bytes], start: int) -> _Message:
    handle.seek(start)
    (size,) = struct.unpack("<i", handle.read(4))
    if size == -1:  # a continuation mark, which versions before 0.15 do not write
        (size,) = struct.unpack("<i", handle.read(4))
    message = _FlatTable.root(handle.read(max(0, size))) if size else None
    return message, handle.tell()


def _body_bytes(handle: IO[bytes], message: _FlatTable | None, body: int) -> int:
    """Return the decompressed size of the buffers in the body of a message."""
    batch = message and message.table(2)
    message_type = message.number(1, "B") if message else 0
    if message_type == _DICTIONARY and batch:
        batch = batch.table(1)
    if message_type not in (_DICTIONARY, _RECORD_BATCH) or not batch:
        return 0
    is_compressed, total = batch.table(3) is not None, 0
    for offset, size in batch.structs(2, "<qq"):
        decompressed = size
        if is_compressed and size:
            handle.seek(body + offset)
            (decompressed,) = struct.unpack("<q", handle.read(8))
        if decompressed < -1:
            raise struct.error("a buffer has a negative length")
        total += size if decompressed == -1 else decompressed  # -1: this one is not compressed
    return total


FORMAT = Format(
    "arrow",
    (".arrow", ".feather", ".ipc"),
    read_arrow,
    size=decompressed_bytes,
    begins=lambda line: line.startswith(_MAGIC),
    tables=arrow_tables,
    has_columns=True,
)
