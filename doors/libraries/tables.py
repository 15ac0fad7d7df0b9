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

#: Rows of a block of a streamed table.
_ROWS = 2**20

#: Classes that support Arrow's stream interface but hold a single column.
_COLUMN_CLASSES = {"pandas.Series", "polars.Series", "pyarrow.ChunkedArray", "xarray.DataArray"}
#: Classes whose rows are in memory.
_IN_MEMORY = {"pandas.DataFrame", "polars.DataFrame", "pyarrow.Table", "pyarrow.RecordBatch"}


class _Reader(NamedTuple):
    """The functions that read the tables of a class."""

    #: Returns the names of all columns.
    names: Callable[[Any], Sequence[str]]
    #: Takes a table and the names of columns; yields tables or record batches that have them.
    batches: Callable[[Any, list[str]], Any]


def _pandas(frame: Any, names: list[str]) -> Iterator[Any]:
    yield pa.table({name: _pandas_column(name, frame[name]) for name in names})


def _pandas_column(name: str, column: Any) -> Any:
    """Convert a column without rounding; NaN in a column of floats stays NaN."""
    is_plain = isinstance(column.dtype, np.dtype) and column.dtype.kind in "biuf"
    try:
        if is_plain:
            values = column.to_numpy()
            return pa.array(values.astype(values.dtype.newbyteorder("="), copy=False))
        return pa.array(column, from_pandas=True)
    except (pa.ArrowException, ValueError, TypeError) as error:
        advice = "cast it by astype to int64, float64 or str"
        raise GraphError(f"column {name!r} cannot be read ({error}); {advice}") from error


def _polars(frame: Any, names: list[str]) -> Any:
    query = frame.select(names)
    # Earlier versions of polars cannot stream to Python.
    stream = getattr(query, "collect_batches", None)
    return stream(chunk_size=_ROWS, maintain_order=True) if stream else [query.collect()]


def _mapping(columns: Any, names: list[str]) -> Iterator[Any]:
    yield pa.table({name: np.asarray(columns[name]) for name in names})


_IN_ARROW = _Reader(lambda table: table.schema.names, lambda table, _: [table])

_READERS = {
    "pyarrow.Table": _IN_ARROW,
    "pyarrow.RecordBatch": _IN_ARROW,
    "pandas.DataFrame": _Reader(lambda frame: list(frame.columns), _pandas),
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
            chosen = choose(stream.schema.names)
            batches: Any = stream if is_lazy(value) else [stream.read_all()]
        else:
            chosen = choose(list(reader.names(value)))
            batches = reader.batches(value, chosen.present)
        for batch in batches:
            yield chosen, _as_table(batch).select(chosen.present)
    except MstflowError:
        raise
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise GraphError(
            f"the {type(value).__name__} cannot be converted to Arrow ({error}); cast its columns "
            "to integers of 64 bits, floats or strings"
        ) from error


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
