"""Pairs of names: rows of tables and files whose vertices have names."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from ...errors import GraphError, OptionError
from ...progress import report_progress
from ..column_names import choose_columns
from ..file_checks import FileState, file_errors, places_of, unchanged
from ..formats import parts_of
from ..libraries.arrow_tables import arrow_dtype, check_no_nulls, plain_column
from ..libraries.dask import is_collection, is_delayed
from ..libraries.pyarrow import kinds, pa
from ..libraries.tables import is_table, tables

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..column_names import Choose


def named_pairs(
    graph: Any,
    ends: Sequence[str],
    weight: str | None,
    format: str | None = None,  # noqa: A002
    first: int = 0,
) -> Iterator[Any]:
    """Yield the pairs of a graph whose vertices have names, in order, from edge `first` on.

    Each is a `pyarrow.Table` of l and r, strings or integers, and weight if the graph has weights.

    The graph is a table of pandas, polars, pyarrow, Dask or any library that supports Arrow; a path
    of a Parquet, Arrow or CSV file; or an iterable of these. `ends` and `weight` name its columns.
    """
    choose = partial(choose_columns, weight=weight, ends=ends)
    skip = first
    for table in _tables(graph, choose, format):
        if skip >= len(table):
            skip -= len(table)
            continue
        table, skip = table.slice(skip), 0
        left, right, weights = choose(table.column_names)
        pairs = {"l": _names(left, table[left], first), "r": _names(right, table[right], first)}
        if weights is not None:
            arrow_dtype(weights, table[weights].type)
            check_no_nulls(weights, table[weights], first)
            pairs["weight"] = plain_column(weights, table[weights])
        first += len(table)
        report_progress("read pairs", first, 0)
        yield pa.table(pairs)


def _tables(graph: Any, choose: Choose, format: str | None) -> Iterator[Any]:  # noqa: A002
    """Yield `pyarrow.Table` objects with at least the chosen columns."""
    if places := places_of(graph):
        for (path, keys), file_format in parts_of(places, format):
            if file_format.tables is None:
                raise OptionError(
                    f"{path}: format {file_format.name!r} has no names (ends=); 'csv' has"
                )
            with unchanged(path, FileState.of(path)), file_errors(path, GraphError):
                yield from file_format.tables(path, choose, keys)
    elif is_delayed(graph):
        value = graph.compute() if hasattr(graph, "compute") else graph.result()
        yield from _tables(value, choose, format)
    elif is_collection(graph):
        for chunk in graph.to_delayed():
            yield from _tables(chunk, choose, format)
    elif is_table(graph):
        yield from tables(graph, choose)
    elif isinstance(graph, Iterable) and not hasattr(graph, "__array__"):
        for item in graph:
            yield from _tables(item, choose, format)
    else:
        raise OptionError(
            "ends= needs a table of pandas, polars, pyarrow, Dask or any library that supports "
            f"Arrow, or .parquet, .arrow or .csv files; found {type(graph).__name__}"
        )


def _names(name: str, column: Any, first_edge: int) -> Any:
    """Return a column of names without missing values: of strings or of integers."""
    column = plain_column(name, column)
    check_no_nulls(name, column, first_edge)
    is_name = (kinds.is_string, kinds.is_large_string, kinds.is_integer)
    if not any(is_kind(column.type) for is_kind in is_name):
        wanted = f"must hold names, strings or integers, not {column.type}; cast it to strings"
        raise GraphError(f"column {name!r} {wanted}")
    return column


def common_type(types: Sequence[Any]) -> Any:
    """Return the Arrow type that represents the names of all columns."""
    integers = [kinds.is_integer(kind) for kind in types]
    if any(integers) and not all(integers):
        found = "both" if integers[0] == integers[-1] else f"{types[0]} and {types[-1]}"
        raise GraphError(f"names must all be strings or all integers, found {found}")
    if all(integers):
        return pa.uint64() if pa.uint64() in types else pa.int64()
    return pa.large_string() if pa.large_string() in types else pa.string()
