"""Parquet, read and written one row group at a time."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..edge_list import EdgeList
from ..format import Format
from ..segments import Rows, file_fingerprint
from ..source import EdgeSource
from ..tables import (
    IDENTITY,
    NUM_VERTICES,
    arrow_dtype,
    arrow_values,
    choose_columns,
    naming,
    parse_identity,
    stated_num_vertices,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from ..edge_list import Columns
    from ..format import EdgeTable, SavedForest
    from ..segments import Read

_GROUP_EDGES = 2**20


def read_parquet(path: Path, weight: str | None = "weight") -> EdgeList:
    """Read a Parquet file whose columns are named as `tables.choose_columns` has it."""
    with _opened(path) as file:
        names = choose_columns(file.schema_arrow.names, weight)
        columns = [
            np.empty(file.metadata.num_rows, arrow_dtype(name, file.schema_arrow.field(name).type))
            for name in names.present
        ]
        start = 0
        for group in row_groups(path, weight):  # straight to their place: nothing is joined
            stop = start + len(group[0])
            for column, values in zip(columns, group, strict=False):
                column[start:stop] = values
            start = stop
        return EdgeList(*columns, num_vertices=stated_num_vertices(file.metadata.metadata))


def row_groups(
    path: Path, weight: str | None = "weight", groups: Iterable[int] | None = None
) -> Iterator[Columns]:
    """Yield u, v and weight (None without one) of each row group, or of some, in their dtypes."""
    with _opened(path) as file:
        names = choose_columns(file.schema_arrow.names, weight)
        sizes = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
        for group in range(len(sizes)) if groups is None else groups:
            table = file.read_row_group(group, columns=names.present)
            start = sum(sizes[:group])
            u, v, *rest = (arrow_values(name, table[name], start) for name in names.present)
            yield u, v, rest[0] if rest else None


def parquet_source(path: Path, weight: str | None = "weight") -> EdgeSource:
    """Return a Parquet file as a source that is read by row group; only its footer is read."""
    with _opened(path) as file:
        for name in choose_columns(file.schema_arrow.names, weight).present:
            arrow_dtype(name, file.schema_arrow.field(name).type)
        sizes = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
        stated = stated_num_vertices(file.metadata.metadata)
    segments = tuple(RowGroup(path, group, size, weight) for group, size in enumerate(sizes))
    return EdgeSource(segments, stated)


@dataclass(frozen=True)
class RowGroup:
    """One row group of a file, which is read as a whole."""

    path: Path
    group: int
    num_edges: int
    weight: str | None
    is_direct = True
    num_vertices = 0

    @property
    def edges_at_once(self) -> int:
        """How many edges are read where some are asked for."""
        return self.num_edges

    def reads(self, size: int) -> Iterator[Read]:  # of its own size
        """Yield what reads the row group."""
        yield self.num_edges, lambda: next(row_groups(self.path, self.weight, [self.group]))

    def slice(self, start: int, stop: int) -> Rows:
        """Return some of its rows."""
        return Rows(self, start, stop)

    def fingerprint(self) -> str:
        """Return that of the file, which row group, and which weights."""
        return f"{file_fingerprint(self.path)}[{self.group}] {self.weight}"


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    from pyarrow.parquet import ParquetFile

    with naming(path), ParquetFile(path) as file:
        yield file


def read_parquet_forest(path: Path, _: np.dtype[Any]) -> SavedForest:
    """Read all columns, and the identity of the graph that the metadata may state."""
    with _opened(path) as file:
        table = file.read()
        columns = {name: np.asarray(table[name]) for name in table.column_names}
        return columns, parse_identity((table.schema.metadata or {}).get(IDENTITY.encode()))


def write_parquet(path: Path, table: EdgeTable) -> None:
    """Write columns in their dtypes; the metadata states the number of vertices."""
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    stated = {NUM_VERTICES: table.num_vertices, IDENTITY: table.identity}
    metadata = {name: json.dumps(value) for name, value in stated.items() if value is not None}
    fields = [(name, pa.from_numpy_dtype(dtype)) for name, dtype in table.dtypes.items()]
    schema = pa.schema(fields, metadata)
    # A dictionary of ids and weights is no smaller than they are, and twice as slow to read.
    with ParquetWriter(path, schema, use_dictionary=False) as file:
        for columns in table.chunks(_GROUP_EDGES):
            file.write_table(pa.table(columns, schema), _GROUP_EDGES)


FORMAT = Format(
    "parquet",
    (".parquet",),
    read_parquet,
    parquet_source,
    write_parquet,
    read_parquet_forest,
    begins=lambda line: line.startswith(b"PAR1"),
    has_columns=True,
)
