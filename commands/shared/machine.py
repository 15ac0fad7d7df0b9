"""Facts about this installation: versions, usable backends, devices, formats and plugins."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
from typing import Any

from ...doors.formats import format_names
from ...plugins import plugins
from ...primitives import SAMPLE_KERNEL, known_backends, why_not
from ...runtime.kernel_cache import cache_folder, is_cached
from ...runtime.team import kernel_threads

_PACKAGES = ("dask", "distributed", "pyarrow", "matplotlib")


def describe_machine() -> dict[str, Any]:
    """Return facts about this installation, ready for JSON.

    "threads" is the default for compiled kernels. "kernels" is None without Numba; its "folder" is
    that of their cache, None if it cannot be written.
    """
    # Imported only here: every command imports this module, and most commands need no CUDA.
    from ...primitives.cuda.device import describe_devices

    reasons = {name: why_not(name) for name in known_backends()}
    return {
        "mstflow": sys.modules["mstflow"].__version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "processors": os.cpu_count(),
        "threads": kernel_threads(),
        "backends": {
            name: {"usable": not reason, "version": _version(name), "why_not": reason or None}
            for name, reason in reasons.items()
        },
        "cuda": None if reasons["cupy"] else describe_devices(),
        "kernels": None if reasons["numba"] else _describe_kernels(),
        "packages": {name: _version(name) for name in _PACKAGES},
        "formats": format_names(),
        "plugins": [str(plugin) for plugin in plugins()],
    }


def _describe_kernels() -> dict[str, Any]:
    folder = cache_folder()
    return {"folder": folder and str(folder), "are_compiled": is_cached(SAMPLE_KERNEL)}


def compile_kernels() -> None:
    """Compile the kernels of the default algorithm for usual dtypes, and store them."""
    import numpy as np

    from ...pipeline.catalogue.names import algorithm
    from ...solve import minimum_spanning_forest

    # Filter-Kruskal then filters even this tiny graph, so that every kernel is compiled.
    always_filter = {"small": 0, "dense": 1.0, "sample_size": 8, "light_per_vertex": 1.0}
    pipeline = algorithm("filter-kruskal").given(**always_filter)
    for ids in ("int32", "int64"):
        for dtype in ("float32", "float64", "int64"):
            u = np.arange(100, dtype=ids)
            graph = u, (3 * u + 1) % 100, u.astype(dtype)[::-1] % 7
            for threads in {1, kernel_threads()}:
                minimum_spanning_forest(
                    graph, algorithm=pipeline, backend="numba", threads=threads, progress=False
                )


def _version(name: str) -> str | None:
    """Return the version of a distribution, or of an imported module such as CuPy."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return getattr(sys.modules.get(name), "__version__", None)
