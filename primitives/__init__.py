"""What arrays can do: one vocabulary (`interface`, `fused`), one module of it for each library."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
import sys
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from ..errors import OptionError
from ..plugins import Plugin, registered
from .checked import CheckedModule

if TYPE_CHECKING:
    from .fused import ArrayModule

#: The class of each backend's array module, imported when first used, and the library it needs.
_BACKENDS = {
    "numpy": (".numpy_arrays", "NumpyArrays", "numpy"),
    "numba": (".numba_arrays", "NumbaArrays", "numba"),
}

#: From so many edges on "auto" takes compiled kernels, once they are loaded ...
COMPILED_FROM = 30_000
#: ... and from so many on it loads them: that takes most of a second, as much as they save then.
LOADED_FROM = 4_000_000

#: Whether primitives check their arguments: the environment variable ``MSTFLOW_DEBUG``.
DEBUG = os.environ.get("MSTFLOW_DEBUG", "") not in ("", "0")


class Backend(NamedTuple):
    """An array module by name, and how many threads its kernels may use."""

    name: str
    threads: int = 1


def backends() -> list[str]:
    """Return the names of the array modules that are usable here, those of plugins last."""
    return [*_usable(), *_plugins()]


def _usable() -> list[str]:
    return [name for name, (*_, library) in _BACKENDS.items() if _is_installed(library)]


def _plugins() -> dict[str, Plugin]:
    return registered("backend", ("auto", *_BACKENDS))


@functools.cache
def _is_installed(library: str) -> bool:
    return importlib.util.find_spec(library) is not None


def resolve_backend(backend: str, num_edges: int) -> str:
    """Return the name of an array module for `backend`; "auto" is the fastest for so many edges.

    Raises
    ------
    OptionError
        If there is no such backend, or its library is not installed.
    """
    usable = _usable()
    if backend == "auto":
        least = COMPILED_FROM if f"{__name__}.numba_arrays" in sys.modules else LOADED_FROM
        return "numba" if "numba" in usable and num_edges >= least else "numpy"
    if isinstance(backend, str) and (backend in usable or backend in _plugins()):
        return backend
    message = f"backend {backend!r} is not available; choose from: auto, {', '.join(backends())}"
    if isinstance(backend, str) and backend in _BACKENDS:
        message += f" ({backend} needs the package {_BACKENDS[backend][-1]}: mstflow[cpu])"
    raise OptionError(message)


@functools.cache
def array_module(backend: Backend | str) -> ArrayModule:
    """Return the array module for `backend`, one that checks its callers if `DEBUG` is set.

    A name alone means one thread.
    """
    if isinstance(backend, str):
        backend = Backend(backend)
    make: Any
    if backend.name in _BACKENDS:
        path, name, _ = _BACKENDS[backend.name]
        make = getattr(importlib.import_module(path, __name__), name)
    else:
        make = _plugins()[backend.name].load(type)
    module = make(backend.threads)
    return cast("ArrayModule", CheckedModule(module)) if DEBUG else module
