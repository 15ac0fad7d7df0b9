"""Functions on arrays: one vocabulary, implemented by a module for each array library."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
import sys
from typing import Any, NamedTuple, cast

import numpy as np

from ..errors import OptionError
from ..plugins import Plugin, registered, wing
from ..runtime.kernel_cache import is_cached
from ..runtime.sizes import sizes
from .loading import Losses, loading_pays
from .vocabulary import ArrayModule

#: For each array module, the module and the name of its factory, and the library that it needs.
_BACKENDS = {
    "numpy": (".numpy_arrays", "NumpyArrays", "numpy"),
    "numba": (".compiled.arrays", "NumbaArrays", "numba"),
    "cupy": (".cuda.arrays", "cupy_arrays", "cupy"),
}
_EXTRAS = {
    "numba": "mstflow[cpu]",
    "cupy": "mstflow[cuda12] or mstflow[cuda13], depending on the driver",
}

#: A kernel of `compiled.kruskal` that stands for all; `mstflow info --compile` stores all at once.
SAMPLE_KERNEL = "deal"

#: The edges of the graphs that this process solved without kernels.
_edges_solved = Losses()

#: Whether primitives check their arguments: the environment variable ``MSTFLOW_DEBUG``.
DEBUG = os.environ.get("MSTFLOW_DEBUG", "") not in ("", "0")


class Backend(NamedTuple):
    """The name of an array module, and the number of threads for its kernels."""

    name: str
    threads: int = 1
    #: The wing whose primitives the module has in addition; empty for none.
    wing: str = ""


def backends() -> list[str]:
    """Return the names of the array modules that are usable here, plugins last."""
    return [name for name in known_backends() if not why_not(name)]


def known_backends() -> list[str]:
    """Return the names of all array modules, usable here or not, plugins last."""
    return [*_BACKENDS, *_plugins()]


def why_not(backend: str) -> str:
    """Return the reason why a known backend is not usable here; empty if it is usable.

    A plugin counts as usable, because it is loaded only on first use.
    """
    if backend not in _BACKENDS:
        return ""
    library = _BACKENDS[backend][-1]
    if not _is_installed(library):
        return f"it needs the package {library}: {_EXTRAS[backend]}"
    if backend == "cupy":
        from .cuda import device as cuda_device

        return cuda_device.why_not()
    return ""


def _plugins() -> dict[str, Plugin]:
    return registered("backend", ("auto", *_BACKENDS))


@functools.cache
def _is_installed(library: str) -> bool:
    return importlib.util.find_spec(library) is not None


class ModuleName(str):
    """The name of a caller's array module, which it carries, also to other processes."""

    module: Any

    @classmethod
    def of(cls, module: Any) -> ModuleName:
        """Return the name of an array module: its attribute `name`, or its class."""
        name = cls(getattr(module, "name", type(module).__name__))
        name.module = module
        return name


def resolve_backend(backend: Any, num_edges: int, *, on_device: bool = False) -> str:
    """Return the name of an array module; "auto" chooses the fastest for this number of edges.

    The caller may pass the array module itself.

    For arrays in host memory, "auto" is "numpy" or "numba"; see `loading_pays`. Callers first use
    `gpu_pays` to decide on a GPU. Arrays on a GPU need "cupy".
    """
    if not isinstance(backend, str) and hasattr(backend, "scatter_min_pairs"):
        backend = ModuleName.of(backend)
    if on_device:
        if backend not in ("auto", "cupy"):
            message = (
                f"backend {backend!r} does not support arrays on a GPU; choose 'cupy', or copy "
                "them to the host (cupy.asnumpy)"
            )
            raise OptionError(message)
        backend = "cupy"
    if backend == "auto":
        return "numba" if not why_not("numba") and _kernels_pay(num_edges) else "numpy"
    if isinstance(backend, ModuleName):
        return backend
    if not isinstance(backend, str) or backend not in (*_BACKENDS, *_plugins()):
        known = ", ".join(backends())
        message = (
            f"backend {backend!r} is not available; choose from: auto, {known}, or pass an array "
            "module"
        )
        raise OptionError(message)
    if reason := why_not(backend):
        message = f"backend {backend!r} is not usable here: {reason}"
        raise OptionError(message)
    return backend


def _kernels_pay(num_edges: int) -> bool:
    """Return whether compiled kernels are faster for this graph, or for many such graphs.

    The first graphs of a process are solved without kernels.
    """
    if f"{__name__}.compiled.arrays" in sys.modules:
        return num_edges >= sizes().kernels_used_from
    edges = _edges_solved.add(num_edges + sizes().calls)
    loaded_from, compiled_from = sizes().kernels_loaded_from, sizes().kernels_compiled_from
    return loading_pays(edges, loaded_from, compiled_from, _are_cached)


@functools.cache
def _are_cached() -> bool:
    return is_cached(SAMPLE_KERNEL)


def gpu_pays(num_edges: int) -> bool:
    """Return whether a GPU solves a graph in host memory faster, including the copies to it.

    Loading CuPy takes longer than a solve saves, so this process must have loaded it already.
    """
    if "cupy" not in sys.modules or why_not("cupy"):
        return False
    needed = sizes().device_bytes * num_edges
    is_large = num_edges >= sizes().device_from
    return is_large and (array_module("cupy").device_memory(needed) or 0) >= needed


def suggest_gpu(num_edges: int) -> str:
    """Return advice to try a GPU for a graph in host memory, or an empty string."""
    least = sizes().device_from
    if num_edges < least or not _is_installed("cupy"):
        return ""
    return f'on a GPU, backend="cupy" is faster from {least:,} edges on'


def array_module(backend: Backend | str) -> ArrayModule:
    """Return the array module for `backend`; it checks arguments if `DEBUG` is set.

    If `backend` is a name, the module uses one thread.
    """
    name = backend if isinstance(backend, str) else backend.name
    if type(name) is ModuleName:
        return cast("ArrayModule", name.module)
    return loaded_module(backend)


@functools.cache
def loaded_module(backend: Backend | str) -> ArrayModule:
    """Return an array module of this package or of a plugin."""
    if isinstance(backend, str):
        backend = Backend(backend)
    resolve_backend(backend.name, 0)  # a worker may lack libraries that its client has
    factory: Any
    if backend.name in _BACKENDS:
        path, name, _ = _BACKENDS[backend.name]
        factory = getattr(importlib.import_module(path, __name__), name)
    else:
        factory = _plugins()[backend.name].load(type)
    if backend.wing:
        factory = wing(backend.wing).with_primitives(backend.name, factory)
    module = factory(backend.threads)
    return cast("ArrayModule", wing("testing").CheckedModule(module)) if DEBUG else module


def reading_backend(backend: Backend) -> Backend:
    """Return the backend for blocks of a graph: NumPy in place of a caller's or plugin's module.

    Buffers are written to, which the contract of arrays does not allow.
    """
    return backend if backend.name in _BACKENDS else backend._replace(name="numpy")


def transfer(array: Any, backend: Backend, *, on_device: bool) -> Any:
    """Return an array in the memory of the graph: on the device of the backend, or on the host."""
    if isinstance(array, np.ndarray) and not on_device:
        return array
    ops = array_module(backend)
    return ops.asarray(array) if on_device else ops.to_host(array)
