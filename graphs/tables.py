"""Tables as graphs: which columns are the ends and the weight, and Arrow's columns as arrays."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import GraphError, OptionError
from .edge_list import EdgeList
from .file_errors import file_errors

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

#: Under this name a table states its number of vertices, which may exceed the largest id plus one.
NUM_VERTICES = "num_vertices"
#: Under this name a saved forest states the identity of its graph, as JSON.
IDENTITY = "graph"

#: What the columns of the two ends may be called; the first pair that is there is taken.
END_NAMES = (("u", "v"), ("source", "target"), ("src", "dst"))


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Let whatever is wrong with a file of columns name the file."""
    import pyarrow as pa

    with file_errors(path, pa.ArrowException, ValueError):
        path.open("rb").close()  # pyarrow would say why it cannot in words of its own
        yield


class ColumnNames(NamedTuple):
    """Names of the columns that make a graph; without a weight every edge weighs integer 1."""

    u: str
    v: str
    weight: str | None

    @property
    def present(self) -> list[str]:
        """The names without None."""
        return [name for name in self if name is not None]


def choose_columns(names: Sequence[str], weight: str | None) -> ColumnNames:
    """Find the columns of a graph among the columns of a table.

    Parameters
    ----------
    names : sequence of str
        Of all columns.
    weight : str or None
        The column of weights; None takes every weight as 1. The default of every caller,
        "weight", may be absent from a table of two ends and nothing else.

    Raises
    ------
    GraphError
        If there are no columns for the ends, or none is called "weight" and another may be meant.
    OptionError
        If any other `weight` is not there.
    """
    found = ", ".join(str(name)[:24] for name in names[:12]) or "nothing"  # prose has commas too
    ends = next((pair for pair in END_NAMES if set(pair) <= set(names)), None)
    repeated = {name for name in names if list(names).count(name) > 1}
    if ends is None or repeated & {*ends, weight}:
        pairs = ", or ".join(" and ".join(pair) for pair in END_NAMES)
        message = f"expected one column each for {pairs}; found {found}"
        raise GraphError(message)
    if weight is None or weight in names:
        return ColumnNames(*ends, weight)
    if weight == "weight" and not set(names) - {*ends, "edge_id"}:
        return ColumnNames(*ends, None)
    # A misspelt column of weights must not make an unweighted graph.
    message = f"no column {weight!r} for the weights; found {found} (None takes each as 1)"
    raise (GraphError if weight == "weight" else OptionError)(message)


def arrow_dtype(name: str, arrow_type: Any) -> np.dtype[Any]:
    """Return the dtype of an Arrow column of numbers.

    Raises
    ------
    GraphError
        If it holds anything else; names the column.
    """
    import pyarrow.types as kinds

    numbers = (kinds.is_integer, kinds.is_floating, kinds.is_boolean)
    if any(is_kind(arrow_type) for is_kind in numbers):
        dtype: np.dtype[Any] = np.dtype(arrow_type.to_pandas_dtype())
        return dtype
    message = f"column {name!r} must hold numbers, not {arrow_type}"
    raise GraphError(message)


def arrow_values(name: str, column: Any, first_edge: int = 0) -> NDArray[Any]:
    """Return an Arrow column, or a chunk of it that starts at edge `first_edge`, as an array.

    Raises
    ------
    GraphError
        If a value is missing; names the edge.
    """
    if column.null_count:
        edge = first_edge + column.is_null().index(True).as_py()
        message = f"edge {edge}: column {name!r} has no value"
        raise GraphError(message)
    return np.asarray(column)


def arrow_graph(table: Any, weight: str | None) -> EdgeList:
    """Make a graph of a `pyarrow.Table`; its columns are named as `choose_columns` has it.

    Raises
    ------
    GraphError, OptionError
        As the functions above, and `EdgeList`.
    """
    columns = []
    for name in choose_columns(table.column_names, weight).present:
        arrow_dtype(name, table.schema.field(name).type)
        columns.append(arrow_values(name, table[name]))
    return EdgeList(*columns, num_vertices=stated_num_vertices(table.schema.metadata))


def stated_num_vertices(metadata: Mapping[bytes, bytes] | None) -> int | None:
    """Read the number of vertices that a table's metadata may give.

    Raises
    ------
    GraphError
        If that is no number.
    """
    stated = (metadata or {}).get(NUM_VERTICES.encode())
    if stated is not None and not stated.isdigit():
        message = f"metadata {NUM_VERTICES!r} is {stated!r}, which is no number"
        raise GraphError(message)
    return None if stated is None else int(stated)


def parse_identity(text: str | bytes | None) -> dict[str, Any] | None:
    """Read the identity of a graph, if it is stated; a ValueError says what is wrong with it."""
    if text is None:
        return None
    found = json.loads(text)
    if not isinstance(found, dict):
        message = f"{IDENTITY} must be a JSON object, not {text!r}"
        raise ValueError(message)
    return found


def chosen_weight(graph: EdgeList, weight: str | None) -> EdgeList:
    """Choose among the weights of a graph that has one, called "weight"; None: each edge 1.

    Raises
    ------
    OptionError
        If it has none of that name.
    """
    check_weight(weight)
    return graph if weight else EdgeList(graph.u, graph.v, num_vertices=graph.num_vertices)


def check_weight(weight: str | None, owner: str = "the graph") -> None:
    """Check that `weight` names the weights of a graph whose columns have no names, or is None.

    Raises
    ------
    OptionError
        If it is another name; names the owner.
    """
    if weight not in ("weight", None):
        message = f"{owner} has no weights called {weight!r}; it has: 'weight'"
        raise OptionError(message)
