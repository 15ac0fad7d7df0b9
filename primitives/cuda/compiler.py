"""Compile CUDA kernels with NVRTC, and keep the cubins in cuda.core's cache."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...errors import KernelError
from ...runtime.host import private_cache_folder

#: The folder with the sources of the kernels.
SOURCES = Path(__file__).parent / "sources"
_LANGUAGE = "c++17"


class Compiler:
    """Compiles the sources of one folder with NVRTC; needs no GPU.

    The sources include headers of the folder `headers`, by default their own. The cache maps bytes
    to bytes; see `open_cache` for the default.
    """

    def __init__(
        self, sources: Path = SOURCES, cache: Any = None, headers: Path | None = None
    ) -> None:
        self.sources, self._cache, self._headers = sources, cache, headers or sources

    def version(self) -> tuple[int, list[int]]:
        """Return NVRTC's version (12090 for 12.9) and the architectures it compiles for."""
        import cuda.core  # noqa: F401  # fail here if it is missing
        from cuda.bindings import nvrtc

        _, major, minor = nvrtc.nvrtcVersion()
        _, architectures = nvrtc.nvrtcGetSupportedArchs()
        return 1000 * major + 10 * minor, list(architectures)

    def compile(
        self, file: str, kernels: Sequence[str], architecture: str
    ) -> tuple[dict[str, str], bytes]:
        """Compile several kernels of a file to one cubin; return their mangled names and the cubin.

        The kernels are C++ name expressions, and an architecture is such as ``"sm_90"``. An error
        has the names and the log of the compiler.
        """
        from cuda.core import Program, ProgramOptions

        options = ProgramOptions(
            name=f"{file}.cu", arch=architecture, std=_LANGUAGE, include_path=str(self._headers)
        )
        try:
            program = Program((self.sources / f"{file}.cu").read_text(), "c++", options)
            code = program.compile("cubin", name_expressions=tuple(kernels))
            names = {kernel: code.symbol_mapping[kernel].decode() for kernel in kernels}
        except Exception as error:  # the class differs between releases of cuda.core
            target = f"{file}.cu: {', '.join(kernels)} for {architecture}"
            raise KernelError(f"{target} does not compile: {error}") from error
        return names, bytes(code.code)

    def cached(self, file: str, kernel: str, architecture: str) -> tuple[str, bytes]:
        """Return the mangled name and the cubin of one kernel, from the cache if possible."""
        sources = [self.sources / f"{file}.cu", *sorted(self._headers.glob("*.cuh"))]
        parts = kernel, architecture, _LANGUAGE, self.version(), [s.read_text() for s in sources]
        key = hashlib.sha256(repr(("mstflow", parts)).encode()).digest()
        if self._cache is None:
            self._cache = open_cache()
        entry: bytes | None = None
        with contextlib.suppress(OSError):
            entry = self._cache.get(key)
        if entry is None:
            names, cubin = self.compile(file, [kernel], architecture)
            entry = names[kernel].encode() + b"\0" + cubin
            with contextlib.suppress(OSError):  # such as a full or read-only file system
                self._cache[key] = entry
        name, _, cubin = entry.partition(b"\0")
        return name.decode(), cubin


def open_cache() -> Any:
    """Open the folder of compiled kernels; without one, a cache in memory."""
    from cuda.core.utils import FileStreamProgramCache, InMemoryProgramCache

    folder = private_cache_folder("kernels")
    return InMemoryProgramCache() if folder is None else FileStreamProgramCache(folder)


#: The compiler of this package's kernels.
NVRTC = Compiler()
