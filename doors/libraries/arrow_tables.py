"""Convert Arrow tables and columns to graphs and arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import FileFormatError, GraphError, file_errors
from ...graphs.edge_list import Columns, EdgeList
from ...graphs.libraries import compute, kinds, pa
from ..column_names import ColumnNames
from ..places.folders import Keys
from ..places.url import Place

#: Metadata key of the number of vertices, which may exceed the largest id plus one.
NUM_VERTICES = "num_vertices"


@contextmanager
def arrow_errors(path: Place) -> Iterator[None]:
    """Convert errors of pyarrow and of columns to errors that name the file."""
    with file_errors(path, ValueError):
        path.open("rb").close()  # the system's message is shorter than pyarrow's
        try:
            yield
        except pa.ArrowException as error:
            message = f"is damaged or has another format ({error}); write it again"
            raise FileFormatError(f"{path}: {message}") from error


#: Arrow's names of floats; other numbers have the same names in NumPy. Arrow's own conversion would
#: import pandas, if it is installed.
_FLOATS = {"halffloat": "float16", "float": "float32", "double": "float64"}


def arrow_dtype(name: str, arrow_type: Any, *, is_weight: bool = False) -> np.dtype[Any]:
    """Return the NumPy dtype of an Arrow column of numbers; see `plain_column`."""
    if kinds.is_dictionary(arrow_type):
        return arrow_dtype(name, arrow_type.value_type, is_weight=is_weight)
    if kinds.is_decimal(arrow_type):
        return np.dtype(np.float64 if is_weight and arrow_type.scale > 0 else np.int64)
    if kinds.is_null(arrow_type):
        return np.dtype(np.int64)
    number_tests = (kinds.is_integer, kinds.is_floating, kinds.is_boolean)
    if any(test(arrow_type) for test in number_tests):
        return np.dtype(_FLOATS.get(str(arrow_type), str(arrow_type)))
    raise GraphError(
        f"column {name!r} must hold numbers, not {arrow_type}; cast it to float64, or to int64 if "
        "all are whole; to use names, pass ends= with the columns of both ends"
    )


def plain_column(name: str, column: Any, first_edge: int = 0, *, is_weight: bool = False) -> Any:
    """Return an Arrow column of categories, decimals or UUIDs as one of numbers or strings.

    Decimals become int64, and weights with decimal places float64, if all are exact. Other columns
    are returned unchanged.
    """
    arrow_type = column.type
    if kinds.is_dictionary(arrow_type):
        value_type = _plain_type(arrow_type.value_type)
        chunks = [chunk.dictionary.cast(value_type).take(chunk.indices) for chunk in column.chunks]
        decoded = pa.chunked_array(chunks, value_type)
        return plain_column(name, decoded, first_edge, is_weight=is_weight)
    if kinds.is_decimal(arrow_type) and is_weight and arrow_type.scale > 0:
        return _decimals_as_floats(name, column, first_edge)
    if kinds.is_decimal(arrow_type):
        try:
            return column.cast(pa.int64())
        except pa.ArrowInvalid as error:
            raise GraphError(
                f"column {name!r} is {arrow_type} and not all of its values are whole numbers of "
                "64 bits; cast it to double (float64), which may round; if vertices have names, "
                "cast the columns of both ends to strings"
            ) from error
    if str(arrow_type) == _UUID:
        texts = [_uuid_text(chunk.storage) for chunk in column.chunks]
        return pa.chunked_array(texts, pa.string())
    plain_type = _plain_type(arrow_type)
    return column if arrow_type == plain_type else column.cast(plain_type)


#: Decimals of at most this number of digits differ if they are rounded to float64.
_EXACT_DIGITS = 15


def _decimals_as_floats(name: str, column: Any, first_edge: int) -> Any:
    """Return decimals as the nearest floats; each must be the shortest text of its float.

    So different decimals are different floats, also in blocks and files of other types.
    """
    texts = column.cast(pa.string())  # Arrow rounds text correctly, but not decimals
    floats = texts.cast(pa.float64())
    if column.type.precision <= _EXACT_DIGITS:
        return floats
    with suppress(pa.ArrowInvalid):  # the float has more digits than the type
        again = floats.cast(pa.string()).cast(column.type)
        if compute.all(compute.equal(again, column), min_count=0).as_py():
            return floats
    pairs = zip(texts.to_pylist(), floats.to_pylist(), strict=True)
    edge, text = next(
        (edge, text)
        for edge, (text, value) in enumerate(pairs)
        if text is not None and Decimal(text) != Decimal(repr(value))
    )
    raise GraphError(
        f"edge {first_edge + edge}: column {name!r} is {text}, which is not exact as float64; "
        "scale it to integers of 64 bits, or cast it to double (float64), which may round"
    )


#: The type of UUIDs, as text: older versions of pyarrow lack it.
_UUID = "extension<arrow.uuid>"
#: Positions of the hexadecimal digits in the text of a UUID; the others are hyphens.
_DIGITS = [position for position in range(36) if position not in (8, 13, 18, 23)]


def _plain_type(arrow_type: Any) -> Any:
    """Return a type of strings that all functions of Arrow support; other types are unchanged."""
    return pa.large_string() if kinds.is_string_view(arrow_type) else arrow_type


def _uuid_text(storage: Any) -> Any:
    """Return UUIDs, an Arrow array of 16 bytes each, as text; missing ones stay missing."""
    if not len(storage):
        return pa.array([], pa.string())
    start, size = 16 * storage.offset, 16 * len(storage)
    data = np.frombuffer(storage.buffers()[1], np.uint8)[start : start + size]
    digit = np.stack([data >> 4, data & 15], axis=-1).reshape(-1, 32)
    text = np.full((len(storage), 36), ord("-"), np.uint8)
    text[:, _DIGITS] = np.frombuffer(b"0123456789abcdef", np.uint8)[digit]
    strings = pa.array(text.view("S36").ravel(), pa.string())
    return compute.if_else(storage.is_valid(), strings, None)


def keyed_schema(schema: Any, keys: Keys) -> Any:
    """Return a `pyarrow.Schema` with the columns that folders state, unless it has them."""
    for name, value in keys:
        if name not in schema.names:
            schema = schema.append(pa.field(name, pa.scalar(value).type))
    return schema


def with_keys(table: Any, keys: Keys) -> Any:
    """Return a `pyarrow.Table` with the columns that folders state, unless it has them."""
    for name, value in keys:
        if name not in table.column_names:
            table = table.append_column(name, pa.repeat(pa.scalar(value), len(table)))
    return table


def check_no_nulls(name: str, column: Any, first_edge: int = 0) -> None:
    """Check that no value is missing in an Arrow column, or in its rows from `first_edge` on."""
    if column.null_count:
        edge = first_edge + column.is_null().index(True).as_py()
        raise GraphError(f"edge {edge}: column {name!r} has no value")


def arrow_values(
    name: str, column: Any, first_edge: int = 0, *, is_weight: bool = False
) -> NDArray[Any]:
    """Return an Arrow column, or rows of it from `first_edge` on, as an array."""
    dtype = arrow_dtype(name, column.type, is_weight=is_weight)
    column = plain_column(name, column, first_edge, is_weight=is_weight)
    check_no_nulls(name, column, first_edge)
    if not len(column):
        return np.empty(0, dtype)
    return plain_values(column.chunk(0) if column.num_chunks == 1 else column.combine_chunks())


def plain_values(values: Any) -> NDArray[Any]:
    """Return an Arrow array of numbers as an array, without a copy if possible.

    No value may be missing. Arrow's own conversion would import pandas, if it is installed.
    """
    is_boolean = str(values.type) == "bool"  # stored as one bit each
    return np.asarray(values) if is_boolean else np.from_dlpack(values)


def arrow_dtypes(names: ColumnNames, schema: Any) -> dict[str, np.dtype[Any]]:
    """Return the dtypes of the columns of a graph, by name."""
    return {
        name: arrow_dtype(name, schema.field(name).type, is_weight=name == names.weight)
        for name in names.present
    }


def arrow_columns(names: ColumnNames, table: Any, first_edge: int = 0) -> Columns:
    """Return u, v and weight (or None) of a `pyarrow.Table`, or of rows from `first_edge` on."""
    u, v, *weight = (
        arrow_values(name, table[name], first_edge, is_weight=name == names.weight)
        for name in names.present
    )
    return u, v, weight[0] if weight else None


def arrow_graph(names: ColumnNames, table: Any) -> EdgeList:
    """Convert a `pyarrow.Table` to an edge list."""
    columns = arrow_columns(names, table)
    return EdgeList(*columns, num_vertices=stated_num_vertices(table.schema.metadata))


def stated_num_vertices(metadata: Mapping[bytes, bytes] | None) -> int | None:
    """Return the number of vertices in a table's metadata, or None if they have no number."""
    stated = (metadata or {}).get(NUM_VERTICES.encode())
    if stated is not None and not stated.isdigit():
        raise GraphError(f"metadata {NUM_VERTICES!r} must be a number, not {stated!r}")
    return None if stated is None else int(stated)
