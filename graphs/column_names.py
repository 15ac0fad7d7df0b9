"""The columns of a table that hold the ends and the weights of a graph, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..errors import GraphError, OptionError

#: Names for the columns of the two ends, in order of preference.
END_NAMES = (("u", "v"), ("source", "target"), ("src", "dst"))


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
