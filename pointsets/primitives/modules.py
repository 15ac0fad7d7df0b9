"""Array modules with the primitives for points."""

from __future__ import annotations

import importlib
from typing import Any, Protocol

from ...primitives import DEBUG
from ...primitives.vocabulary import ArrayModule
from .blocks import Blocks
from .searches import Proximity

#: For each array module with kernels for points, the module and the name of the factory.
WITH_KERNELS = {
    "numba": (".compiled.blocks", "NumbaPoints"),
    "cupy": (".cuda.searches", "cupy_points"),
}


class PointModule(ArrayModule, Proximity, Blocks, Protocol):
    """All primitives, and those for points."""


def with_primitives(backend: str, factory: Any) -> Any:
    """Return a factory of the array module with the primitives for points.

    `factory` creates the array module called `backend`. Without kernels for points, the definitions
    are added, except for those that the module has itself.
    """
    if DEBUG:
        importlib.import_module(".checks", __package__)  # registers the checks of arguments
    if backend in WITH_KERNELS:
        module, name = WITH_KERNELS[backend]
        return getattr(importlib.import_module(module, __package__), name)
    return type(factory.__name__, (factory, Proximity, Blocks), {})
