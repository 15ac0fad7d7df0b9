"""Arrow IPC: files (also called Feather) and streams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..format import Format
from ..tables import arrow_graph, naming

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ..edge_list import EdgeList
    from ..tables import Choose

_MAGIC = b"ARROW1"  # the first bytes of a file, but not of a stream


def read_arrow(path: Path, weight: str | None = "weight") -> EdgeList:
    """Read an Arrow IPC file or stream; `tables.choose_columns` finds its columns.

    The file is not mapped: access to a map of a file that is truncated ends the process.
    """
    with naming(path):
        return arrow_graph(_table(path), weight)


def arrow_tables(path: Path, choose: Choose) -> Iterator[Any]:
    """Yield the chosen columns as one table."""
    table = _table(path)
    yield table.select(choose(table.column_names).present)


def _table(path: Path) -> Any:
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
            return table


FORMAT = Format(
    "arrow",
    (".arrow", ".feather"),
    read_arrow,
    begins=lambda line: line.startswith(_MAGIC),
    tables=arrow_tables,
    has_columns=True,
)
