"""The modules of pyarrow, each imported on first use because that takes long."""

from importlib import import_module
from typing import Any


class _Lazy:
    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        value = getattr(import_module(self._name), attribute)
        setattr(self, attribute, value)
        return value


pa, arrow_csv, compute, kinds, parquet = map(
    _Lazy, ("pyarrow", "pyarrow.csv", "pyarrow.compute", "pyarrow.types", "pyarrow.parquet")
)
