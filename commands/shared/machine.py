"""Facts about this installation: versions, usable backends, devices, formats and plugins."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
from typing import Any

from ...graphs.formats import format_names
from ...plugins import plugins
from ...primitives import known_backends, why_not
from ...runtime.team import kernel_threads

_PACKAGES = ("dask", "distributed", "pyarrow", "matplotlib")


def describe_machine() -> dict[str, Any]:
    """Return facts about this installation, ready for JSON.

    Returns
    -------
    dict
        - "mstflow", "python", "platform": versions,
        - "processors", "threads": counts; "threads" is the default for compiled kernels,
        - "backends": by name, whether it is usable, its version, or the reason why it is not,
        - "cuda": versions and devices, or None,
        - "kernels": the cache folder of compiled kernels, or None,
        - "packages": versions by name, or None,
        - "formats", "plugins": lists.
    """
    # Imported only here, because every command imports this module.
    from ...primitives.cuda.device import describe_devices
    from ...runtime.kernel_store import kernel_folder

    reasons = {name: why_not(name) for name in known_backends()}
    folder = kernel_folder()
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
        "kernels": None if folder is None else str(folder),
        "packages": {name: _version(name) for name in _PACKAGES},
        "formats": format_names(),
        "plugins": [str(plugin) for plugin in plugins()],
    }


def _version(name: str) -> str | None:
    """Return the version of a distribution, or of an imported module such as CuPy."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return getattr(sys.modules.get(name), "__version__", None)
