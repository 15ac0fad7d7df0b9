"""The installed versions of Numba and llvmlite, and the names of compiled code in the cache."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import runpy
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .kernel_store import digest

if TYPE_CHECKING:
    from collections.abc import Callable

#: The tested minor versions of Numba, each with the minor version of llvmlite that it needs.
TESTED = {
    "0.61": "0.44",
    "0.62": "0.45",
    "0.63": "0.46",
    "0.64": "0.46",
    "0.65": "0.47",
    "0.66": "0.48",
    "0.67": "0.49",
    "0.68": "0.50",
}


@functools.cache
def is_tested() -> bool:
    """Return whether machine code of the installed versions can be called without Numba."""
    numba, llvmlite = (".".join(version.split(".")[:2]) for version in versions())
    return TESTED.get(numba) == llvmlite


@functools.cache
def versions() -> list[str]:
    """Return the installed versions of Numba and llvmlite.

    Neither Numba nor `importlib.metadata` is imported: they would delay each first run.
    """
    specs = (importlib.util.find_spec(name) for name in ("numba", "llvmlite"))
    files = (Path(str(spec and spec.origin)).with_name("_version.py") for spec in specs)
    return [runpy.run_path(str(file))["get_versions"]()["version"] for file in files]


def example(*arguments: Any) -> Callable[[Any], Any]:
    """Decorate a kernel with example arguments on which its machine code is tested.

    Examples are integers from 0 to 127, or lists of such integers for arrays. They fit any dtype.
    """

    def decorate(function: Any) -> Any:
        function.example = arguments
        return function

    return decorate


@functools.cache
def folder_of(module: str) -> str:
    """Return a name in the kernel cache that changes with all a module's kernels depend on."""
    spec = importlib.util.find_spec(module)
    source = Path(str(spec and spec.origin))
    return f"{source.stem}-{_dependencies(source.parent)}"


@functools.cache
def _dependencies(folder: Path) -> str:
    """Return a digest of all dependencies of the kernels in a folder.

    They may call any function in the folder, so they depend on all its files.
    """
    files = sorted(folder.glob("*.py"))
    return digest(_digests(files), *_compilers())


@functools.cache
def _compilers() -> tuple[Any, ...]:
    """Return the dependencies of all kernels: our compiler code, versions, processor, options."""
    from llvmlite import binding

    sources = [Path(__file__).with_name(name) for name in ("native.py", "intrinsics.py")]
    cpu = binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten()
    options = sorted(item for item in os.environ.items() if item[0].startswith("NUMBA_"))
    return _digests(sources), versions(), binding.get_process_triple(), cpu, options


def _digests(files: list[Path]) -> list[str]:
    """Return a digest of each file; `digest` of their texts takes seven times as long."""
    return [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]
