"""Pairs of names: rows of tables and files whose vertices have names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import count, takewhile
from typing import Any

import numpy as np

from ...errors import GraphError, OptionError
from ...graphs.libraries import kinds, pa
from ...graphs.segments import compute_chunk
from ...progress import report_progress
from ..column_names import Chooser, Column, ColumnNames, columns_in
from ..formats import parts_of
from ..libraries.arrow_tables import arrow_dtype, check_no_nulls, plain_column
from ..libraries.dask import dask_chunks, is_dask
from ..libraries.hints import check_no_rows
from ..libraries.tables import arrow_column, is_column, is_table, tables
from ..places.url import places_of


def named_pairs(
    graph: Any,
    ends: Sequence[Any] | None,
    weight: Column | None,
    format: str | None = None,  # noqa: A002
    encoding: str | None = None,
) -> Iterator[Any]:
    """Yield the pairs of a graph whose vertices have names, in order.

    Each block of pairs is a `pyarrow.Table` with the columns l and r, and weight if the graph has
    weights. The names are strings, integers or structs of these.

    The graph is a table of pandas, polars, pyarrow, Dask or any library that supports Arrow; a path
    of a Parquet, Arrow or text file; or an iterable of these. `ends` and `weight` name its columns.
    """
    choose, first = Chooser(weight, ends), 0
    for (left, right, weights), table in _tables(graph, choose, format, encoding):
        fields = [*map(_field_name, columns_in(left), columns_in(right), count(1))]
        pairs = {}
        for end, columns in (("l", left), ("r", right)):
            names = columns_in(columns)
            name_columns = [_name_column(name, table[name], first) for name in names]
            is_one = len(name_columns) == 1
            pairs[end] = name_columns[0] if is_one else _as_structs(fields, name_columns)
        if weights is not None:
            column = table[weights]
            arrow_dtype(weights, column.type)  # raises an error unless numeric
            check_no_nulls(weights, column, first)
            pairs["weight"] = plain_column(weights, column, first, is_weight=True)
        first += len(table)
        report_progress("read pairs", first, 0)
        yield pa.table(pairs)


def _tables(
    graph: Any,
    choose: Chooser,
    format: str | None,  # noqa: A002
    encoding: str | None,
) -> Iterator[tuple[ColumnNames, Any]]:
    """Yield the names of the chosen columns with a `pyarrow.Table` of them."""
    if places := places_of(graph):
        for part, file_format in parts_of(places, format, encoding):
            yield from file_format.named_tables(part, choose)
    elif is_dask(graph):
        for chunk, _ in dask_chunks(graph):
            yield from _tables(compute_chunk(chunk), choose, format, encoding)
    elif is_table(graph):
        yield from tables(graph, choose)
    elif _are_columns(graph):
        names = ["u", "v", "weight"][: len(graph)]
        columns = list(map(arrow_column, names, graph))
        yield choose(names), pa.table(columns, names)
    elif isinstance(graph, Iterable) and not hasattr(graph, "__array__"):
        check_no_rows(graph)
        for item in graph:
            yield from _tables(item, choose, format, encoding)
    else:
        raise OptionError(
            "ends= needs a tuple of columns, a table of pandas, polars, pyarrow, Dask or any "
            "library that supports Arrow, or .parquet, .arrow, .csv or .txt files; found "
            f"{type(graph).__name__}"
        )


def _are_columns(graph: Any) -> bool:
    """Return whether an object is a tuple of two or three columns."""
    return isinstance(graph, tuple) and len(graph) in (2, 3) and all(map(is_column, graph))


def _name_column(name: str, column: Any, first_edge: int) -> Any:
    """Return a column as strings or integers; check that no value is missing."""
    column = plain_column(name, column)
    check_no_nulls(name, column, first_edge)
    if kinds.is_floating(column.type):
        return _whole_numbers(name, column, first_edge)
    type_tests = (kinds.is_string, kinds.is_large_string, kinds.is_integer)
    if not any(test(column.type) for test in type_tests):
        wanted = f"must hold names, strings or integers, not {column.type}"
        hint = "cast both ends to one type, then to strings"
        raise GraphError(f"column {name!r} {wanted}; {hint}")
    return column


def _whole_numbers(name: str, column: Any, first_edge: int) -> Any:
    """Return floats as integers: libraries convert integers with missing values to floats."""
    values = column.cast(pa.float64()).to_numpy()
    is_whole = (values == np.floor(values)) & (abs(values) < 2**53)
    if is_whole.all():
        return pa.chunked_array([values.astype(np.int64)])
    edge = int((~is_whole).argmax())
    problem = f"is {values[edge]}, but names are strings or integers"
    if np.isnan(values[edge]):
        problem = "has no value"
    elif abs(values[edge]) >= 2**53:
        problem = f"is {values[edge]}, which may be rounded; read it as integers or strings"
    raise GraphError(f"edge {first_edge + edge}: column {name!r} {problem}")


def _field_name(left: str, right: str, number: int) -> str:
    """Return the common prefix of the names of two columns: "id" for "id_l" and "id_r"."""
    same = takewhile(lambda pair: pair[0] == pair[1], zip(left, right, strict=False))
    return "".join(letter for letter, _ in same).rstrip("_-. ") or f"name_{number}"


def _as_structs(fields: Sequence[str], columns: Sequence[Any]) -> Any:
    """Return several columns of names as one column of structs."""
    arrays = [pa.concat_arrays(column.chunks) for column in columns]
    return pa.chunked_array([pa.StructArray.from_arrays(arrays, fields)])


def common_type(types: Sequence[Any]) -> Any:
    """Return the Arrow type that represents the names of all columns."""
    if any(map(kinds.is_struct, types)):
        fields = zip(*types, strict=True)  # each field, in all types
        return pa.struct([(each[0].name, common_type([f.type for f in each])) for each in fields])
    are_integers = [kinds.is_integer(name_type) for name_type in types]
    if any(are_integers) and not all(are_integers):
        found = "both" if are_integers[0] == are_integers[-1] else f"{types[0]} and {types[-1]}"
        raise GraphError(f"names must all be strings or all integers, found {found}")
    if all(are_integers):
        return pa.uint64() if pa.uint64() in types else pa.int64()
    return pa.large_string() if pa.large_string() in types else pa.string()
