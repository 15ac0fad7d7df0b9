"""Parquet files, which are read and written by row groups."""

from __future__ import annotations

import contextlib
import functools
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from ...graphs.edge_list import Columns, EdgeList
from ...graphs.edge_table import EdgeTable
from ...graphs.libraries import pa, parquet
from ...graphs.segments import Range, Read, rows_of
from ...graphs.source import EdgeSource
from ...runtime.team import team, threads_sharing
from ..column_names import Choose, ColumnNames, Weight, choose_columns
from ..file_checks import FileState, file_fingerprint, max_expanded_size, unchanged
from ..libraries.arrow_tables import (
    NUM_VERTICES,
    arrow_columns,
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
#: The largest number of footers in memory: a scan reads few files at once.
_FOOTERS = 8


def read_parquet(path: Place, weight: str | None = "weight", keys: Keys = ()) -> EdgeList:
    """Read a Parquet file; `choose_columns` finds its columns, also among `keys` of its folders."""
    groups, dtypes, num_vertices = _row_groups(path, weight, keys)
    # Concatenation would double the memory.
    num_rows = sum(group.num_rows for group in groups)
    columns = [np.empty(num_rows, dtype) for dtype in dtypes]

    def read(group: RowGroup) -> None:
        rows = slice(group.first_row, group.first_row + group.num_rows)
        for column, values in zip(columns, group.columns_of_all_rows(), strict=False):
            column[rows] = values

    team(threads_sharing()).call(read, [(group,) for group in groups])
    with arrow_errors(path):
        return EdgeList(*columns, num_vertices=num_vertices)


def parquet_source(path: Place, weight: Weight = "weight", keys: Keys = ()) -> EdgeSource:
    """Return a Parquet file as a source, reading only its footer."""
    groups, (_, _, *weights), num_vertices = _row_groups(path, weight, keys)
    weight_dtype = weights[0] if weights else np.dtype(np.int64)
    return EdgeSource(tuple(groups), num_vertices, weight_dtype=weight_dtype)


def parquet_tables(path: Place, choose: Choose, keys: Keys = ()) -> Iterator[Any]:
    """Yield the chosen columns, and a table of them, for at most `_TABLE_ROWS` rows at a time."""
    with _opened(path) as file:
        names = choose(keyed_schema(file.schema_arrow, keys).names)
        stored, use_threads = _stored(file, names), threads_sharing() > 1
        for batch in file.iter_batches(_TABLE_ROWS, columns=stored, use_threads=use_threads):
            yield names, with_keys(pa.table(batch), keys)


def _row_groups(
    path: Place, weight: Weight, keys: Keys
) -> tuple[list[RowGroup], list[np.dtype[Any]], int | None]:
    """Return the row groups, the dtypes of their columns, and the number of vertices if stated."""
    state = FileState.of(path)
    with unchanged(path, state), arrow_errors(path):
        file = _File(path)
        footer = _footer(file)
        schema = keyed_schema(footer.schema.to_arrow_schema(), keys)
        names = choose_columns(schema.names, weight)
        dtypes = arrow_dtypes(names, schema)
        num_vertices = stated_num_vertices(footer.metadata)
    starts = _starts(footer)
    groups = [
        RowGroup(path, state, file, group, names, start, stop - start, keys, stop=stop - start)
        for group, (start, stop) in enumerate(pairwise(starts))
    ]
    return groups, [dtypes[name] for name in names.present], num_vertices


@dataclass(frozen=True, eq=False)
class _File:
    """A file that was opened; opened again, it may have other content in the same state."""

    path: Place


@functools.lru_cache(_FOOTERS)
def _footer(file: _File) -> Any:
    """Return the metadata of a file, which are parsed once, not for each row group."""
    with _opened(file.path) as opened:
        return opened.metadata


def _stored(file: Any, names: ColumnNames) -> list[str]:
    """Return the chosen columns that a file has: folders may state others."""
    return [name for name in names.present if name in file.schema_arrow.names]


@dataclass(frozen=True)
class RowGroup(Range):
    """A range of the rows of one row group, which is always read as a whole."""

    path: Place
    state: FileState
    file: _File = field(compare=False, repr=False)
    group: int
    columns: ColumnNames
    #: The first row of the row group, and its number of rows.
    first_row: int
    num_rows: int
    keys: Keys = ()
    detects_changes = True

    @property
    def edges_at_once(self) -> int:
        """Number of edges that each read loads: all of the row group."""
        return self.num_rows

    @property
    def is_weighted(self) -> bool:
        """Whether the file has the column of weights."""
        return self.columns.weight is not None

    @property
    def origin(self) -> tuple[str, int]:
        """The file, and the row of the first edge."""
        return str(self.path), self.first_row + self.start

    def reads(self, size: int) -> Iterator[Read]:  # `size` has no effect
        """Yield one function, which reads the row group."""
        yield self.num_edges, partial(rows_of, self.columns_of_all_rows, self.start, self.stop)

    def fingerprint(self) -> str:
        """Return the fingerprint of the file, the row group, the columns and the range of rows."""
        rows = f"{self.group}, {self.start}:{self.stop}"
        return f"{file_fingerprint(self.path)}[{rows}] {self.columns} {self.keys}"

    def columns_of_all_rows(self) -> Columns:
        """Read u, v and weight (or None) of the row group."""
        with unchanged(self.path, self.state), _opened(self.path, _footer(self.file)) as file:
            # The threads of mstflow read several row groups.
            table = file.read_row_group(
                self.group, columns=_stored(file, self.columns), use_threads=False
            )
            return arrow_columns(self.columns, with_keys(table, self.keys), self.first_row)


def _starts(footer: Any) -> list[int]:
    """Return the first row of each row group, and at the end the number of rows."""
    groups = map(footer.row_group, range(footer.num_row_groups))
    return list(accumulate((group.num_rows for group in groups), initial=0))


@contextlib.contextmanager
def _opened(path: Place, footer: Any = None) -> Iterator[Any]:
    """Open a file, and check its footer unless it is given.

    A URL is read by ranges: the footer, then the chosen columns.
    """
    with arrow_errors(path), contextlib.ExitStack() as opened:
        handle: Any = path
        if isinstance(path, Url):
            handle = opened.enter_context(path.open(is_sequential=False))
        options = {"metadata": footer, "pre_buffer": isinstance(path, Url)}
        file = opened.enter_context(parquet.ParquetFile(handle, **options))
        if footer is None:
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
    fields = [
        (name, pa.from_numpy_dtype(dtype) if isinstance(dtype, np.dtype) else dtype)
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
