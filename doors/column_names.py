"""The columns of a table that hold the ends and the weights of a graph, by name or by position."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..errors import GraphError, OptionError

#: Names for the columns of the two ends, in order of preference.
END_NAMES = (("u", "v"), ("source", "target"), ("src", "dst"))

#: A column: its name, or its position from 0. In a table that has integers as names, an integer is
#: a name.
Column = str | int


class ColumnNames(NamedTuple):
    """Names of the columns of a graph. The weight None stands for integer 1 on every edge.

    If the names of vertices are in several columns, an end is the tuple of these columns.
    """

    u: Any
    v: Any
    weight: Any

    @property
    def present(self) -> list[Any]:
        """The names of all columns, each once."""
        return list(dict.fromkeys(columns_in(tuple(self))))

    @property
    def as_strings(self) -> ColumnNames:
        """The same names as strings; tables of pandas may have other names."""
        return ColumnNames(*map(_as_strings, self))


#: Finds the columns of a graph among the names of all columns of a table.
Choose = Callable[[Sequence[str]], ColumnNames]


@dataclass(frozen=True)
class Choice:
    """The columns that a caller chose; it finds them among the names of all columns of a table."""

    #: The column of the weights; None for weight 1 on every edge. For a graph of networkx or
    #: igraph, an attribute of the edges, or a function.
    weight: Any = "weight"
    #: The columns of both ends; None for the first pair of `END_NAMES` that exists.
    ends: Sequence[Any] | None = None

    @property
    def is_usual(self) -> bool:
        """Whether the columns have their usual names, except for the name of the weights."""
        return self.ends is None and not isinstance(self.weight, int)

    @property
    def ignores_weights(self) -> bool:
        """Whether weights are ignored, also those of formats without names of columns."""
        return self.weight is None and self.ends is None

    @property
    def is_by_position(self) -> bool:
        """Whether an end is a position."""
        return any(isinstance(part, int) for part in columns_in(self.ends))

    def __call__(self, names: Sequence[str]) -> ColumnNames:
        """Choose among the names of all columns.

        The column "weight", which is the default of all callers, may be missing if the table has
        only ends and edge ids.
        """
        column, ends = _named(self.weight, names), self.ends
        pairs = END_NAMES if ends is None else (tuple(_named(end, names) for end in ends),)
        # Show only the start: if the file is prose, a line may look like many long names.
        found = ", ".join(str(name)[:24] for name in names[:12]) or "nothing"
        needed = [{*columns_in(u), *columns_in(v)} for u, v in pairs]
        chosen = next(
            (pair for pair, both in zip(pairs, needed, strict=True) if both <= {*names}), None
        )
        repeated = {name for name in names if list(names).count(name) > 1}
        if chosen is None or repeated & {*columns_in(chosen), column}:
            wanted = ", or ".join(" and ".join(map(str, columns_in(pair))) for pair in pairs)
            hint = "text without a header has positions from 0"
            if ends is None:
                hint = "choose columns of numbers by columns=, of names by ends=: names or "
                hint += "positions from 0"
            raise GraphError(f"expected one column each for {wanted}; found {found} ({hint})")
        u, v = chosen
        if ends is None and column in chosen:
            raise OptionError(f"column {column!r} has an end of each edge, not the weights")
        if column is None or column in names:
            return ColumnNames(u, v, column)
        if column == "weight" and not set(names) - {*columns_in(chosen), "edge_id"}:
            return ColumnNames(u, v, None)
        # Otherwise a graph whose weights are misspelt would be taken as unweighted.
        raise (GraphError if column == "weight" else OptionError)(
            f"no column {column!r} for the weights; found {found} (name it with weight=; "
            "to weigh each edge 1, pass weight=None)"
        )


@dataclass(frozen=True)
class Chooser(Choice):
    """Chooses the columns of a graph whose vertices have names, in each of its tables."""

    #: Whether the tables so far have weights: empty, {True} or {False}.
    _have_weights: set[bool] = field(default_factory=set, init=False, repr=False)

    def __call__(self, names: Sequence[str]) -> ColumnNames:
        """Choose among the names of all columns; check that all tables have weights, or none."""
        chosen = super().__call__(names)
        self._have_weights.add(chosen.weight is not None)
        if len(self._have_weights) > 1:
            found = "no column" if chosen.weight is None else "a column"
            raise GraphError(f"has {found} of weights, unlike earlier tables of the graph")
        return chosen


#: The columns with their usual names.
USUAL = Choice()


def chosen_columns(columns: Any, weight: Any) -> Choice:
    """Return the choice that the options `columns` and `weight` of a caller make."""
    if columns is None:
        return Choice(weight)
    wanted = [columns] if isinstance(columns, str) else list(columns)
    if len(wanted) not in (2, 3) or not all(isinstance(column, str | int) for column in wanted):
        raise OptionError(f"columns must be two or three names or positions, not {columns!r}")
    if len(wanted) == 2:  # with two positions, the graph has no weights unless weight= names them
        are_positions = all(isinstance(column, int) for column in wanted)
        wanted.append(None if weight == "weight" and are_positions else weight)
    elif weight != "weight":
        raise OptionError("columns= has the column of the weights; leave out weight=")
    if len(set(wanted)) < 3:
        raise OptionError(f"columns must be different columns, not {columns!r}")
    *ends, weight = wanted
    return Choice(weight, tuple(ends))


def columns_in(column: Any) -> Iterable[Any]:
    """Yield the columns in nested tuples of columns; none for None."""
    if isinstance(column, tuple | list):
        for part in column:
            yield from columns_in(part)
    elif column is not None:
        yield column


def _as_strings(column: Any) -> Any:
    """Return columns with strings as names."""
    if isinstance(column, tuple | list):
        return tuple(map(_as_strings, column))
    return None if column is None else str(column)


def _named(column: Any, names: Sequence[str]) -> Any:
    """Return columns with names in place of positions."""
    if isinstance(column, tuple | list):
        return tuple(_named(part, names) for part in column)
    if not isinstance(column, int) or any(isinstance(name, int | np.integer) for name in names):
        return column
    if not 0 <= column < len(names):
        raise GraphError(f"no column at position {column}: there are {len(names)}, counted from 0")
    return names[column]
