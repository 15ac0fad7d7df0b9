"""The command `mstflow info` without a file: what this machine can run, and why not the rest."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import sys
from typing import TYPE_CHECKING, Any

from ..graphs.read import formats
from ..plugins import plugins
from ..primitives import known_backends, why_not
from .schedulers import kernel_threads

if TYPE_CHECKING:
    import argparse

_PACKAGES = ("dask", "distributed", "pyarrow", "matplotlib")


def run(options: argparse.Namespace, version: str) -> None:
    """Print what `describe_machine` returns, a line for each fact or as one JSON object."""
    facts = {"mstflow": version, **describe_machine()}
    if options.json:
        print(json.dumps(facts))
        return
    for name, value in _lines(facts):
        print(f"{name:<13} {value}")


def describe_machine() -> dict[str, Any]:
    """Return what runs here, as JSON has it.

    Keys are "python", "platform", "processors", "threads" (of compiled kernels, by default),
    "backends" (for each, whether it is usable, its version, and why it is not), "cuda" (None, or
    versions and devices), "kernels" (the folder where compiled ones are kept), "packages" (None, or
    their versions), "formats" and "plugins".
    """
    # Imported here, since every command imports this module.
    from ..primitives.cuda_device import describe_devices
    from ..primitives.kernel_store import kernel_folder

    reasons = {name: why_not(name) for name in known_backends()}
    folder = kernel_folder()
    return {
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
        "formats": formats(),
        "plugins": [str(plugin) for plugin in plugins()],
    }


def _version(name: str) -> str | None:
    """Return the version of what is installed; a distribution of CuPy has another name."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return getattr(sys.modules.get(name), "__version__", None)


def _lines(facts: dict[str, Any]) -> list[tuple[str, Any]]:
    lines = [
        (name, facts[name]) for name in ("mstflow", "python", "platform", "processors", "threads")
    ]
    for name, found in facts["backends"].items():
        reason = found["why_not"]
        state = f"is not usable: {reason}" if reason else found["version"] or "of a plugin"
        lines.append(("backend", f"{name} {state}"))
    if cuda := facts["cuda"]:
        versions = f"driver {cuda['driver']}, runtime {cuda['runtime']}, NVRTC {cuda['nvrtc']}"
        lines.append(("cuda", versions))
        for device in cuda["devices"]:
            memory = f"{device['memory_bytes'] / 1e9:.1f} GB"
            capability = f"compute capability {device['compute_capability']}"
            lines.append(("device", f"{device['name']}, {memory}, {capability}"))
    lines.append(("kernels", facts["kernels"] or "not kept: there is no home folder"))
    lines += [(name, version or "not installed") for name, version in facts["packages"].items()]
    lines.append(("formats", ", ".join(facts["formats"])))
    return lines + [("plugin", plugin) for plugin in facts["plugins"]]
