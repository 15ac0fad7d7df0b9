"""The options with which a graph is read, for all functions that take a graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict


class Reading(TypedDict, total=False):
    """The options; see `mstflow.minimum_spanning_forest`. Each may be left out."""

    format: str | None
    num_vertices: int | None
    weight: str | int | Callable[..., Any] | None
    ends: Sequence[Any] | None
    columns: Sequence[str | int] | None
    first_id: int | None
    encoding: str | None


#: The names of the options.
READING = Reading.__annotations__.keys()


def check_names(function: str, reading: Mapping[str, Any]) -> None:
    """Raise a TypeError, as Python does, if a function has no option of one of these names."""
    for name in reading.keys() - READING:
        raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")
