"""What arrays can do: one vocabulary (`interface`), one module of it for each array library."""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, cast

from ..errors import OptionError
from .checked import CheckedModule

if TYPE_CHECKING:
    from .interface import ArrayModule

#: Name of each backend and the module that implements it, imported when first used.
_MODULES = {"numpy": ".numpy_arrays"}

#: Whether primitives check their arguments: the environment variable ``MSTFLOW_DEBUG``.
DEBUG = os.environ.get("MSTFLOW_DEBUG", "") not in ("", "0")


def backends() -> list[str]:
    """Return the names of the array modules that are usable here."""
    return list(_MODULES)


def resolve_backend(backend: str) -> str:
    """Return the name of an array module for `backend`; "auto" is the best one usable here.

    Raises
    ------
    OptionError
        If there is no such backend.
    """
    name = "numpy" if backend == "auto" else backend
    if not isinstance(name, str) or name not in _MODULES:
        message = f"backend {backend!r} is not available; choose from: auto, {', '.join(_MODULES)}"
        raise OptionError(message)
    return name


def array_module(backend: str) -> ArrayModule:
    """Return the array module for `backend`, one that checks its callers if `DEBUG` is set."""
    path = _MODULES[resolve_backend(backend)]
    module = cast("ArrayModule", importlib.import_module(path, __name__))
    return cast("ArrayModule", CheckedModule(module)) if DEBUG else module
