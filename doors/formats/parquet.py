"""Parquet files, which are read and written by row groups."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from ...graphs.edge_list import EdgeList
from ...graphs.edge_table import EdgeTable
from ...graphs.libraries import pa, parquet
from ...graphs.source import EdgeSource
from ...runtime.team import team, threads_sharing
from ..column_names import USUAL, Choose, ColumnNames
from ..file_checks import FileState, max_expanded_size, unchanged
from ..libraries.arrow_batches import Batches, OpenFile
from ..libraries.arrow_tables import (
    NUM_VERTICES,
    arrow_dtypes,
    arrow_errors,
    keyed_schema,
    stated_num_vertices,
    with_keys,
)
from ..places.folders import Keys
from ..places.url import Place, Url
from .file_format import IDENTITY, Format, SavedForest, parse_identity

#: Rows of a row group that is written: each costs time when a file is opened, and a reader holds a
#: whole one. Rows of a table with names that is read.
_GROUP_ROWS, _TABLE_ROWS = 2**18, 2**17


def read_parquet(path: Place, choose: Choose = USUAL, keys: Keys = ()) -> EdgeList:
    """Read a Parquet file; some columns may be among `keys`, those of its folders."""
    groups, dtypes, num_vertices = _row_groups(path, choose, keys)
    # Concatenation would double the memory.
    columns = [np.empty(groups.num_edges, dtype) for dtype in dtypes]

    def read(number: int, start: int, stop: int) -> None:
        read_columns = groups.read_batches(number, number + 1)
        for column, values in zip(columns, read_columns, strict=False):
            column[start:stop] = values

    rows = enumerate(pairwise(groups.starts))
    team(threads_sharing()).call(read, [(number, *bounds) for number, bounds in rows])
    with arrow_errors(path):
        return EdgeList(*columns, num_vertices=num_vertices)


def parquet_source(path: Place, choose: Choose = USUAL, keys: Keys = ()) -> EdgeSource:
    """Return a Parquet file as a source, reading only its footer."""
    groups, (_, _, *weights), num_vertices = _row_groups(path, choose, keys)
    weight_dtype = weights[0] if weights else np.dtype(np.int64)
    return EdgeSource((groups,), num_vertices, weight_dtype=weight_dtype)


def parquet_tables(path: Place, choose: Choose, keys: Keys = ()) -> Iterator[Any]:
    """Yield the chosen columns, and a table of them, for at most `_TABLE_ROWS` rows at a time."""
    with _opened(path) as file:
        names = choose(keyed_schema(file.schema_arrow, keys).names)
        stored, use_threads = _stored(file, names), threads_sharing() > 1
        for batch in file.iter_batches(_TABLE_ROWS, columns=stored, use_threads=use_threads):
            yield names, with_keys(pa.table(batch), keys)


def _row_groups(
    path: Place, choose: Choose, keys: Keys
) -> tuple[RowGroups, list[np.dtype[Any]], int | None]:
    """Return the row groups, the dtypes of their columns, and the number of vertices if stated."""
    state = FileState.of(path)
    with unchanged(path, state), _opened(path) as file:
        schema = keyed_schema(file.schema_arrow, keys)
        names = choose(schema.names)
        dtypes = arrow_dtypes(names, schema)
        num_vertices = stated_num_vertices(file.metadata.metadata)
        starts, columns_bytes = _starts(file.metadata), _columns_bytes(file.metadata, names)
    groups = RowGroups(
        path=path,
        state=state,
        columns=names,
        starts=starts,
        columns_bytes=columns_bytes,
        row_bytes=sum(dtype.itemsize for dtype in dtypes.values()),
        keys=keys,
        stop=starts[-1],
        file=OpenFile(path, _open),
    )
    return groups, [dtypes[name] for name in names.present], num_vertices


def _stored(file: Any, names: ColumnNames) -> list[str]:
    """Return the chosen columns that a file has: folders may state others."""
    return [name for name in names.present if name in file.schema_arrow.names]


@dataclass(frozen=True, kw_only=True)
class RowGroups(Batches):
    """A range of the rows of a Parquet file."""

    file: OpenFile[Any] = field(compare=False, repr=False)

    @property
    def format_name(self) -> str:
        """The name of the format."""
        return "parquet"

    def table(self, first: int, last: int) -> Any:
        """Read row groups; the threads of mstflow read several at once."""

        def read(file: Any) -> Any:
            stored = _stored(file, self.columns)
            return file.read_row_groups(range(first, last), columns=stored, use_threads=False)

        return self.file.read(read)


def _starts(footer: Any) -> tuple[int, ...]:
    """Return the first row of each row group, and at the end the number of rows."""
    groups = map(footer.row_group, range(footer.num_row_groups))
    return tuple(accumulate((group.num_rows for group in groups), initial=0))


def _open(path: Place) -> Any:
    """Open a file. A URL is read by ranges: the footer, then the chosen columns."""
    is_url = isinstance(path, Url)
    handle: Any = path.open(is_sequential=False) if isinstance(path, Url) else path
    return parquet.ParquetFile(handle, pre_buffer=is_url)


def _columns_bytes(footer: Any, names: ColumnNames) -> int:
    """Return the bytes of the chosen columns in a file, compressed."""
    stored = [place for place, name in enumerate(footer.schema.names) if name in names.present]
    groups = map(footer.row_group, range(footer.num_row_groups))
    return sum(group.column(place).total_compressed_size for group in groups for place in stored)


@contextlib.contextmanager
def _opened(path: Place) -> Iterator[Any]:
    """Open a file, and check its footer."""
    with arrow_errors(path), _open(path) as file:
        _check(path, file.metadata)
        yield file


def _check(path: Place, footer: Any) -> None:
    """Check the number of rows that a footer states."""
    if footer.num_rows > max_expanded_size(path):
        raise ValueError(f"states {footer.num_rows:,} rows, far more than its bytes hold")
    if (held := _starts(footer)[-1]) != footer.num_rows:
        raise ValueError(f"states {footer.num_rows:,} rows, but {held:,} in its row groups")


def read_parquet_forest(path: Place, _: np.dtype[Any], name_type: Any = None) -> SavedForest:
    """Read all columns, and the identity of the graph from the metadata."""
    with _opened(path) as file:
        table = file.read()
        columns = {name: np.asarray(table[name]) for name in table.column_names}
        return columns, parse_identity((table.schema.metadata or {}).get(IDENTITY.encode()))


def write_parquet(path: Path, table: EdgeTable) -> None:
    """Write columns, and in the metadata the number of vertices and the identity of a graph."""
    stated = {NUM_VERTICES: table.num_vertices, IDENTITY: table.identity}
    metadata = {name: json.dumps(value) for name, value in stated.items() if value is not None}
    # Columns in which values may be missing take twice as long to read.
    fields = [
        pa.field(name, pa.from_numpy_dtype(dtype), nullable=False)
        if isinstance(dtype, np.dtype)
        else pa.field(name, dtype)
        for name, dtype in table.dtypes.items()
    ]
    schema = pa.schema(fields, metadata)
    # No dictionaries: for ids and weights they save no space, and take twice as long to read.
    with parquet.ParquetWriter(path, schema, use_dictionary=False) as file:
        for columns in table.blocks(_GROUP_ROWS):
            batch = pa.record_batch(list(columns.values()), schema)
            file.write_batch(batch)


FORMAT = Format(
    "parquet",
    (".parquet", ".parq", ".pq"),
    read_parquet,
    parquet_source,
    write_parquet,
    read_parquet_forest,
    writes_with="pyarrow.parquet",
    begins=lambda line: line.startswith(b"PAR1"),
    tables=parquet_tables,
    has_columns=True,
    holds_names=True,
)
