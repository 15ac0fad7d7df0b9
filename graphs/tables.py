"""Tables as graphs: which columns are the ends and the weight, and Arrow's columns as arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import GraphError, OptionError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

#: What the columns of the two ends may be called; the first pair that is there is taken.
END_NAMES = (("u", "v"), ("source", "target"), ("src", "dst"))


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
    found = ", ".join(map(str, names)) or "nothing"
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
        return np.dtype(arrow_type.to_pandas_dtype())
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
