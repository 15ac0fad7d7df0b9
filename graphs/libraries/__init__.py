"""Convert graphs of other libraries to edge lists, without importing these libraries."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any

from ...errors import GraphError, OptionError

if TYPE_CHECKING:
    from collections.abc import Mapping


def check_no_weights(weight: Any, attributes: Mapping[Any, Any]) -> None:
    """Check a graph of which no edge has the attribute `weight`; `attributes` has values of others.

    Each edge then has the weight 1, if `weight` is the default and no other attribute is a number.
    """
    is_number = [isinstance(v, Real) and not isinstance(v, bool) for v in attributes.values()]
    if weight == "weight" and not any(is_number):
        return
    known = ", ".join(map(repr, sorted(map(str, attributes)))) or "none"
    # Otherwise a graph whose weights have another name would be taken as unweighted.
    raise (GraphError if weight == "weight" else OptionError)(
        f"no edge has the attribute {weight!r}; attributes found: {known} (name it with weight=; "
        "None: all 1)"
    )


def class_names(value: Any) -> list[str]:
    """Return `library.Class` for the class of an object and each of its bases."""
    return [f"{cls.__module__.partition('.')[0]}.{cls.__name__}" for cls in type(value).__mro__]
