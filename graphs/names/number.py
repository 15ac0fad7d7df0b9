"""Open a graph whose vertices are known by names: read the pairs, and number the vertices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...errors import OptionError
from .in_memory import number_in_memory
from .pairs import named_pairs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..edge_list import EdgeList


def number_graph(
    graph: Any,
    ends: Sequence[str],
    weight: str | None,
    *,
    format: str | None = None,  # noqa: A002
    num_vertices: int | None = None,
) -> EdgeList:
    """Return a graph of named pairs with its vertices numbered.

    Parameters
    ----------
    graph
        As for `named_pairs`.
    ends : sequence of two str
        Names of the columns of the two ends.
    weight : str or None
        Name of the column of weights; with None every edge weighs 1.
    format : str, optional
        Format of the files.
    num_vertices : int, optional
        Must be None: the names determine it.

    Raises
    ------
    GraphError
        As `named_pairs`, and as `EdgeList`.
    OptionError
        If `ends` are not two names, or `num_vertices` is given.
    """
    names = [ends] if isinstance(ends, str) else list(ends)
    if len(names) != 2 or names[0] == names[1] or not all(isinstance(n, str) for n in names):
        message = f"ends must be the names of two columns, not {ends!r}"
        raise OptionError(message)
    if num_vertices is not None:
        message = "num_vertices= is for numbered vertices; with ends=, the names determine it"
        raise OptionError(message)
    return number_in_memory(named_pairs(graph, names, weight, format))
