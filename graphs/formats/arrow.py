"""Arrow IPC: files (also called Feather) and streams."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..format import Format
from ..tables import arrow_graph, naming

if TYPE_CHECKING:
    from pathlib import Path

    from ..edge_list import EdgeList

_MAGIC = b"ARROW1"  # the first bytes of a file, but not of a stream


def read_arrow(path: Path, weight: str | None = "weight") -> EdgeList:
    """Read an Arrow IPC file or stream; `tables.choose_columns` finds its columns.

    The file is not mapped: access to a map of a file that is truncated ends the process.
    """
    import pyarrow as pa

    with naming(path):
        with path.open("rb") as handle:
            is_file = handle.read(len(_MAGIC)) == _MAGIC
        with (
            pa.OSFile(str(path)) as source,
            pa.ipc.open_file(source) if is_file else pa.ipc.open_stream(source) as reader,
        ):
            table = reader.read_all()
            table.validate()  # damaged lengths would lead beyond the end of a buffer
            return arrow_graph(table, weight)


FORMAT = Format(
    "arrow",
    (".arrow", ".feather"),
    read_arrow,
    begins=lambda line: line.startswith(_MAGIC),
    has_columns=True,
)
