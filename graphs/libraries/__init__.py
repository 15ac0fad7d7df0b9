"""Convert graphs of other libraries to edge lists, without importing these libraries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Iterable


def no_weights(weight: str, names: Iterable[Any]) -> OptionError:
    """Return the error for a graph in which no edge has the attribute `weight`."""
    known = ", ".join(map(repr, sorted(map(str, names)))) or "none"
    return OptionError(f"no edge has the attribute {weight!r}; attributes found: {known}")
