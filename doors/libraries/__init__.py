"""Convert graphs of other libraries to edge lists, without importing these libraries."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Real
from typing import Any

from ...errors import GraphError, OptionError


def check_no_weights(weight: Any, attributes: Iterable[tuple[Any, Any]]) -> None:
    """Check a graph in which no edge has the attribute `weight`; pass all names and values.

    Each edge has the weight 1 if `weight` is the default and no attribute is a number.
    """
    found: dict[str, bool] = {}
    for name, value in attributes:
        is_number = isinstance(value, Real) and not isinstance(value, bool)
        found[str(name)] = is_number or found.get(str(name), False)
    if weight == "weight" and not any(found.values()):
        return
    known = ", ".join(map(repr, sorted(found))) or "none"
    # Otherwise a graph whose weights have another name would be taken as unweighted.
    raise (GraphError if weight == "weight" else OptionError)(
        f"no edge has the attribute {weight!r}; attributes found: {known} (name it with weight=; "
        "to weigh each edge 1, pass weight=None)"
    )
