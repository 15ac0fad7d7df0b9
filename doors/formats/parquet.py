"""Parquet files, which are read and written by row groups."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
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


def read_parquet(path: Place, weight: str | None = "weight", keys: Keys = ()) -> EdgeList:
    """Read a Parquet file; `choose_columns` finds its columns, also among `keys` of its folders."""
    with _opened(path) as file:
        _, dtypes = _graph_columns(file, weight, keys)
        starts, num_vertices = _starts(file), stated_num_vertices(file.metadata.metadata)
    # Concatenation would double the memory.
    columns = [np.empty(starts[-1], dtype) for dtype in dtypes.values()]

    def read(group: int) -> None:
        (found,) = row_groups(path, weight, [group], keys)
        for column, values in zip(columns, found, strict=False):
            column[starts[group] : starts[group + 1]] = values

    team(threads_sharing()).call(read, [(group,) for group in range(len(starts) - 1)])
    with arrow_errors(path):
        return EdgeList(*columns, num_vertices=num_vertices)


def row_groups(
    path: Place, weight: Weight = "weight", groups: Iterable[int] | None = None, keys: Keys = ()
) -> Iterator[Columns]:
    """Yield u, v and weight (or None) of all row groups, or of `groups`."""
    choose = partial(choose_columns, weight=weight)
    with _opened(path) as file:
        starts = _starts(file)
        chosen = range(file.num_row_groups) if groups is None else groups
        for group, (names, table) in zip(chosen, _read(file, choose, chosen, keys), strict=True):
            yield arrow_columns(names, table, starts[group])


def parquet_tables(path: Place, choose: Choose, keys: Keys = ()) -> Iterator[Any]:
    """Yield the chosen columns, and a table of them, for at most `_TABLE_ROWS` rows at a time."""
    with _opened(path) as file:
        names, stored = _chosen(file, choose, keys)
        use_threads = threads_sharing() > 1
        for batch in file.iter_batches(_TABLE_ROWS, columns=stored, use_threads=use_threads):
            yield names, with_keys(pa.table(batch), keys)


def _read(
    file: Any, choose: Choose, groups: Iterable[int], keys: Keys
) -> Iterator[tuple[ColumnNames, Any]]:
    """Yield for each row group the chosen columns, and a table of them."""
    names, stored = _chosen(file, choose, keys)
    for group in groups:
        # The threads of mstflow read several row groups.
        table = file.read_row_group(group, columns=stored, use_threads=False)
        yield names, with_keys(table, keys)


def _chosen(file: Any, choose: Choose, keys: Keys) -> tuple[ColumnNames, list[str]]:
    """Return the chosen columns, and those of them that the file stores."""
    names = choose(keyed_schema(file.schema_arrow, keys).names)
    return names, [name for name in names.present if name in file.schema_arrow.names]


def parquet_source(path: Place, weight: Weight = "weight", keys: Keys = ()) -> EdgeSource:
    """Return a Parquet file as a source, reading only its footer."""
    state = FileState.of(path)
    with unchanged(path, state), _opened(path) as file:
        names, dtypes = _graph_columns(file, weight, keys)
        ranges, num_vertices = pairwise(_starts(file)), stated_num_vertices(file.metadata.metadata)
    segments = (
        RowGroup(path, state, group, names, start, stop - start, keys, stop=stop - start)
        for group, (start, stop) in enumerate(ranges)
    )
    weight_dtype = dtypes[names.weight] if names.weight is not None else np.dtype(np.int64)
    return EdgeSource(tuple(segments), num_vertices, weight_dtype=weight_dtype)


def _graph_columns(
    file: Any, weight: Weight, keys: Keys
) -> tuple[ColumnNames, dict[str, np.dtype[Any]]]:
    """Return the columns of the graph in a file, and their dtypes by name."""
    schema = keyed_schema(file.schema_arrow, keys)
    names = choose_columns(schema.names, weight)
    return names, arrow_dtypes(names, schema)


@dataclass(frozen=True)
class RowGroup(Range):
    """A range of the rows of one row group, which is always read as a whole."""

    path: Place
    state: FileState
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
        yield self.num_edges, partial(rows_of, self._read, self.start, self.stop)

    def fingerprint(self) -> str:
        """Return the fingerprint of the file, the row group, the columns and the range of rows."""
        rows = f"{self.group}, {self.start}:{self.stop}"
        return f"{file_fingerprint(self.path)}[{rows}] {self.columns} {self.keys}"

    def _read(self) -> Columns:
        with unchanged(self.path, self.state):
            return next(row_groups(self.path, self.columns, [self.group], self.keys))


def _starts(file: Any) -> list[int]:
    """Return the first row of each row group, and at the end the number of rows."""
    groups = map(file.metadata.row_group, range(file.num_row_groups))
    return list(accumulate((group.num_rows for group in groups), initial=0))


@contextlib.contextmanager
def _opened(path: Place) -> Iterator[Any]:
    """Open a file; a URL is read by ranges: the footer, then the chosen columns."""
    with arrow_errors(path), contextlib.ExitStack() as opened:
        handle: Any = path
        if isinstance(path, Url):
            handle = opened.enter_context(path.open(is_sequential=False))
        options = {"pre_buffer": isinstance(path, Url)}
        file = opened.enter_context(parquet.ParquetFile(handle, **options))
        if file.metadata.num_rows > max_expanded_size(path):
            message = f"states {file.metadata.num_rows:,} rows, far more than its bytes hold"
            raise ValueError(message)
        if (held := _starts(file)[-1]) != file.metadata.num_rows:
            message = f"states {file.metadata.num_rows:,} rows, but {held:,} in its row groups"
            raise ValueError(message)
        yield file


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
