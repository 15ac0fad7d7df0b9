"""Convert tables that support Arrow, and Arrow columns, to graphs and arrays."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import GraphError
from ..column_names import choose_columns
from ..edge_list import EdgeList
from ..file_checks import file_errors
from . import class_names
from .pyarrow import kinds, pa

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

#: Metadata key of the number of vertices, which may exceed the largest id plus one.
NUM_VERTICES = "num_vertices"


@contextmanager
def arrow_errors(path: Path) -> Iterator[None]:
    """Convert errors of pyarrow and of columns to errors that name the file."""
    with file_errors(path, pa.ArrowException, ValueError):
        path.open("rb").close()  # the system's message is shorter than pyarrow's
        yield


def as_arrow(table: Any) -> Any:
    """Convert a table of pandas, or of any library that supports Arrow's stream interface."""
    try:
        if "pandas.DataFrame" in class_names(table):
            return pa.Table.from_pandas(table, preserve_index=False)
        return pa.table(table)
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise GraphError(f"the table cannot be converted to Arrow: {error}") from error


#: Arrow's names of floats; other numbers have the same names in NumPy. Arrow's own conversion would
#: import pandas, if it is installed.
_FLOATS = {"halffloat": "float16", "float": "float32", "double": "float64"}


def arrow_dtype(name: str, arrow_type: Any) -> np.dtype[Any]:
    """Return the NumPy dtype of an Arrow column of numbers."""
    numbers = (kinds.is_integer, kinds.is_floating, kinds.is_boolean)
    if any(is_kind(arrow_type) for is_kind in numbers):
        return np.dtype(_FLOATS.get(str(arrow_type), str(arrow_type)))
    hint = "; name the ends with ends= to use strings" if kinds.is_string(arrow_type) else ""
    raise GraphError(f"column {name!r} must hold numbers, not {arrow_type}{hint}")


def check_no_nulls(name: str, column: Any, first_edge: int = 0) -> None:
    """Check that no value is missing in an Arrow column, or in its rows from `first_edge` on."""
    if column.null_count:
        edge = first_edge + column.is_null().index(True).as_py()
        raise GraphError(f"edge {edge}: column {name!r} has no value")


def arrow_values(name: str, column: Any, first_edge: int = 0) -> NDArray[Any]:
    """Return an Arrow column, or rows of it from `first_edge` on, as an array."""
    arrow_dtype(name, column.type)
    check_no_nulls(name, column, first_edge)
    return plain_values(column.chunk(0) if column.num_chunks == 1 else column.combine_chunks())


def plain_values(values: Any) -> NDArray[Any]:
    """Return an Arrow array of numbers as an array, without a copy if possible.

    No value may be missing. Arrow's own conversion would import pandas, if it is installed.
    """
    is_boolean = str(values.type) == "bool"  # of one bit each
    return np.asarray(values) if is_boolean else np.from_dlpack(values)


def arrow_graph(table: Any, weight: str | None) -> EdgeList:
    """Convert a `pyarrow.Table` to an edge list; `choose_columns` finds its columns."""
    names = choose_columns(table.column_names, weight).present
    columns = (arrow_values(name, table[name]) for name in names)
    return EdgeList(*columns, num_vertices=stated_num_vertices(table.schema.metadata))


def stated_num_vertices(metadata: Mapping[bytes, bytes] | None) -> int | None:
    """Return the number of vertices in a table's metadata, or None if they have no number."""
    stated = (metadata or {}).get(NUM_VERTICES.encode())
    if stated is not None and not stated.isdigit():
        raise GraphError(f"metadata {NUM_VERTICES!r} must be a number, not {stated!r}")
    return None if stated is None else int(stated)
