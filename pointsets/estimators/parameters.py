"""Estimators whose parameters are declared as the fields of a dataclass."""

from __future__ import annotations

from typing import TypeVar

_T = TypeVar("_T")


def as_estimator(declared: type[_T]) -> type[_T]:
    """Make a dataclass an ordinary class that keeps its `__init__`.

    Dask compares and copies an instance of a dataclass by its fields alone. So it would confuse
    estimators with equal parameters that were fitted to different samples.
    """
    delattr(declared, "__dataclass_fields__")
    return declared
