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


def class_names(value: Any) -> list[str]:
    """Return `library.Class` for the class of an object and each of its bases."""
    return [f"{cls.__module__.partition('.')[0]}.{cls.__name__}" for cls in type(value).__mro__]
