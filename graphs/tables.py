"""Tables as graphs: find the columns of the ends and the weight, and convert Arrow columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import GraphError, OptionError
from .edge_list import EdgeList
from .files import file_errors
from .libraries.arrow import kinds, pa

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

#: Metadata key of the number of vertices, which may exceed the largest id plus one.
NUM_VERTICES = "num_vertices"

#: Names for the columns of the two ends, in order of preference.
END_NAMES = (("u", "v"), ("source", "target"), ("src", "dst"))


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Convert errors of pyarrow and of columns to errors that name the file."""
    with file_errors(path, pa.ArrowException, ValueError):
        path.open("rb").close()  # the system's message is shorter than pyarrow's
        yield


class ColumnNames(NamedTuple):
    """Names of the columns of a graph. The weight None stands for integer 1 on every edge."""

    u: str
    v: str
    weight: str | None

    @property
    def present(self) -> list[str]:
        """The names that are not None."""
        return [name for name in self if name is not None]


#: Chooses the columns of a graph among the names of all columns.
Choose = Callable[[Sequence[str]], ColumnNames]


def choose_columns(
    names: Sequence[str], weight: str | None, ends: Sequence[str] | None = None
) -> ColumnNames:
    """Find the columns of a graph among the `names` of all columns of a table.

    By default, the columns of the two ends are the first pair of `END_NAMES` that exists. The
    column "weight", which is the default of all callers, may be missing if the table has only ends
    and edge ids.
    """
    # Show only the start: if the file is prose, a line may look like many long names.
    found = ", ".join(str(name)[:24] for name in names[:12]) or "nothing"
    known = END_NAMES if ends is None else ((ends[0], ends[1]),)
    chosen = next((pair for pair in known if set(pair) <= set(names)), None)
    repeated = {name for name in names if list(names).count(name) > 1}
    if chosen is None or repeated & {*chosen, weight}:
        pairs = ", or ".join(" and ".join(pair) for pair in known)
        hint = " (name columns of names or numbers with ends=)" if ends is None else ""
        raise GraphError(f"expected one column each for {pairs}; found {found}{hint}")
    if weight is None or weight in names:
        return ColumnNames(*chosen, weight)
    if weight == "weight" and not set(names) - {*chosen, "edge_id"}:
        return ColumnNames(*chosen, None)
    # Otherwise a graph whose weights are misspelt would be taken as unweighted.
    raise (GraphError if weight == "weight" else OptionError)(
        f"no column {weight!r} for the weights; found {found} (name it with weight=; None: all 1)"
    )


def class_names(value: Any) -> list[str]:
    """Return `library.Class` for the class of an object and each of its bases."""
    return [f"{cls.__module__.partition('.')[0]}.{cls.__name__}" for cls in type(value).__mro__]


def is_delayed(value: Any) -> bool:
    """Return whether an object is a value that Dask computes."""
    return not {"dask.Delayed", "distributed.Future"}.isdisjoint(class_names(value))


def is_dask_table(value: Any) -> bool:
    """Return whether an object is a Dask table, not one of its columns."""
    return hasattr(value, "to_delayed") and hasattr(value, "columns")


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
