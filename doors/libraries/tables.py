"""Tables of any library as Arrow tables: whole, or streamed in blocks of rows.

`_READERS` has a reader for each class of tables. All other tables must support Arrow's stream
interface.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...errors import GraphError, MstflowError
from ...graphs.libraries import class_names, is_instance, pa
from ..column_names import Choose, ColumnNames
from .hints import matrix_hint

#: Rows of a block of a streamed table.
_ROWS = 2**20

#: Classes that support Arrow's stream interface but hold a single column.
_COLUMN_CLASSES = {"pandas.Series", "polars.Series", "pyarrow.ChunkedArray", "xarray.DataArray"}
#: Classes whose rows are in memory.
_IN_MEMORY = {"pandas.DataFrame", "polars.DataFrame", "pyarrow.Table", "pyarrow.RecordBatch"}


class _Reader(NamedTuple):
    """The functions that read the tables of a class."""

    #: Returns the names of all columns.
    names: Callable[[Any], Sequence[Any]]
    #: Takes a table and the names of columns; yields tables or record batches that have them. Their
    #: names are strings.
    batches: Callable[[Any, list[Any]], Any]


def _levels(table: Any) -> list[Any]:
    """Return the names that `reset_index` gives to an index of several levels; none for others."""
    names = table.index.names
    numbered = [f"level_{at}" if name is None else name for at, name in enumerate(names)]
    return numbered if len(names) > 1 else []


def series_as_table(graph: Any) -> Any:
    """Return a Series whose index has the ends as a DataFrame; return other objects unchanged.

    Its values are the weights: the column "weight", and the column with the name of the Series.
    """
    if not is_instance(graph, "pandas.Series") or not _levels(graph):
        return graph
    frame = graph.to_frame("weight")
    if graph.name is not None:
        frame[graph.name] = graph
    return frame


def _pandas(frame: Any, names: list[Any]) -> Iterator[Any]:
    levels = _levels(frame)
    yield _table_of(
        {
            name: frame.index.get_level_values(levels.index(name))
            if name in levels
            else frame[name]
            for name in names
        }
    )


def _table_of(columns: Mapping[Any, Any]) -> Any:
    """Return columns by name as a `pyarrow.Table`, whose names are strings."""
    names = list(map(str, columns))
    if len({*names}) < len(names):
        raise GraphError(f"columns {', '.join(map(repr, columns))} have the same text as names")
    return pa.table({str(name): arrow_column(name, column) for name, column in columns.items()})


def arrow_column(name: str, column: Any) -> Any:
    """Convert a column of any library without rounding; NaN in an array of floats stays NaN."""
    dtype = getattr(column, "dtype", None)
    try:
        if isinstance(dtype, np.dtype) and dtype.kind in "biuf":
            return pa.array(np.asarray(column, dtype.newbyteorder("=")))
        return pa.array(column, from_pandas=True)
    except OverflowError as error:
        return _large_integers(name, column, error)
    except (pa.ArrowException, ValueError, TypeError) as error:
        kinds = {type(value).__name__ for value in column}
        found = f"has values of types {', '.join(sorted(kinds))}; make all of one type"
        raise GraphError(f"column {name!r} {found} ({error})") from error


def _large_integers(name: str, column: Any, error: OverflowError) -> Any:
    """Convert integers of which one has more than 63 bits."""
    try:
        return pa.array(column, pa.uint64(), from_pandas=True)
    except (pa.ArrowException, OverflowError, TypeError):
        raise GraphError(
            f"column {name!r} has an integer of more than 64 bits, or negative and unsigned ones "
            "of 64 bits; if vertices have names, cast the columns of both ends to strings"
        ) from error


def _polars(frame: Any, names: list[str]) -> Any:
    query = frame.select(names)
    # Earlier versions of polars cannot stream to Python.
    stream = getattr(query, "collect_batches", None)
    return stream(chunk_size=_ROWS, maintain_order=True) if stream else [query.collect()]


def _mapping(columns: Any, names: list[Any]) -> Iterator[Any]:
    yield _table_of({name: columns[name] for name in names})


_IN_ARROW = _Reader(lambda table: table.schema.names, lambda table, _: [table])

_READERS = {
    "pyarrow.Table": _IN_ARROW,
    "pyarrow.RecordBatch": _IN_ARROW,
    "pandas.DataFrame": _Reader(lambda frame: [*_levels(frame), *frame.columns], _pandas),
    "polars.LazyFrame": _Reader(lambda frame: frame.collect_schema().names(), _polars),
    "pyarrow.Dataset": _Reader(
        lambda data: data.schema.names, lambda data, names: data.to_batches(columns=names)
    ),
    "pyarrow.Scanner": _Reader(
        lambda scan: scan.projected_schema.names, lambda scan, _: scan.to_reader()
    ),
    "pyarrow.ParquetFile": _Reader(
        lambda file: file.schema_arrow.names,
        lambda file, names: file.iter_batches(_ROWS, columns=names),
    ),
}

#: For columns by name: a dict, a Dataset of xarray, a group of HDF5, an opened `.npz` file.
_MAPPING = _Reader(list, _mapping)


def is_column(value: Any) -> bool:
    """Return whether an object in memory is one column."""
    is_sequence = isinstance(value, list | tuple | np.ndarray)
    return is_sequence or is_instance(value, *_COLUMN_CLASSES, "pandas.Index", "pyarrow.Array")


def is_table(value: Any) -> bool:
    """Return whether an object is a table in memory or a stream of rows, not one of its columns."""
    return _reader_of(value) is not None or _has_stream(value)


def is_lazy(value: Any) -> bool:
    """Return whether a value is a table that reads or computes its rows in each iteration."""
    is_in_memory = isinstance(value, Mapping) or is_instance(value, *_IN_MEMORY)
    return is_table(value) and not is_in_memory


def is_read_once(table: Any) -> bool:
    """Return whether the rows of a lazy table can be iterated over only once."""
    return is_instance(table, "pyarrow.RecordBatchReader")


def tables(value: Any, choose: Choose) -> Iterator[tuple[ColumnNames, Any]]:
    """Yield the chosen columns of a table in blocks of rows, each a `pyarrow.Table`."""
    try:
        reader = _reader_of(value)
        if reader is None:
            stream = pa.RecordBatchReader.from_stream(value)
            chosen = _chosen(value, stream.schema.names, choose)
            batches: Any = stream if is_lazy(value) else [stream.read_all()]
        else:
            chosen = _chosen(value, list(reader.names(value)), choose)
            batches = reader.batches(value, chosen.present)
            chosen = chosen.as_strings
        for batch in batches:
            yield chosen, _as_table(batch).select(chosen.present)
    except MstflowError:
        raise
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise GraphError(
            f"the {type(value).__name__} cannot be converted to Arrow ({error}); cast its columns "
            "to integers of 64 bits, floats or strings"
        ) from error


def _chosen(table: Any, names: list[Any], choose: Choose) -> ColumnNames:
    """Choose among the names of all columns; an error says how to pass a matrix."""
    try:
        return choose(names)
    except GraphError as error:
        raise GraphError(f"{error}{matrix_hint(table)}") from error


@dataclass(frozen=True)
class Rows:
    """An iterable over the rows of a lazy table, in blocks of one size; see `tables`.

    Libraries may divide the same rows differently in each scan.
    """

    table: Any
    choose: Choose

    def __iter__(self) -> Iterator[tuple[ColumnNames, Any]]:
        block: list[Any] = []
        for names, table in tables(self.table, self.choose):
            while len(table):
                num_lacking = _ROWS - sum(map(len, block))
                block.append(table.slice(0, num_lacking))
                table = table.slice(num_lacking)
                if len(block[-1]) == num_lacking:
                    yield names, pa.concat_tables(block)
                    block = []
        if block:
            yield names, pa.concat_tables(block)


def _reader_of(value: Any) -> _Reader | None:
    if isinstance(value, Mapping):
        return _MAPPING
    return next((_READERS[name] for name in class_names(value) if name in _READERS), None)


def _has_stream(value: Any) -> bool:
    # A class has the attribute, too.
    has_stream = hasattr(value, "__arrow_c_stream__") and not isinstance(value, type)
    return has_stream and not is_instance(value, *_COLUMN_CLASSES)


def _as_table(batch: Any) -> Any:
    if isinstance(batch, pa.Table):
        return batch
    is_batch = isinstance(batch, pa.RecordBatch)
    return pa.Table.from_batches([batch]) if is_batch else pa.table(batch)
