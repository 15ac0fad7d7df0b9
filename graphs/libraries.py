"""Other libraries: their objects, and modules of pyarrow, which are imported on first use."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class _Lazy:
    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        value = getattr(import_module(self._name), attribute)
        setattr(self, attribute, value)
        return value


pa, arrow_csv, compute, dataset, kinds, parquet = map(
    _Lazy,
    (
        "pyarrow",
        "pyarrow.csv",
        "pyarrow.compute",
        "pyarrow.dataset",
        "pyarrow.types",
        "pyarrow.parquet",
    ),
)


def class_names(value: Any) -> list[str]:
    """Return `library.Class` for the class of an object and each of its bases."""
    return [f"{cls.__module__.partition('.')[0]}.{cls.__name__}" for cls in type(value).__mro__]


def is_instance(value: Any, *names: str) -> bool:
    """Return whether the class of an object, or a base of it, has one of the names."""
    return not set(names).isdisjoint(class_names(value))
