"""Compile CUDA kernels with NVRTC, and cache the cubins."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import KernelError
from .store import digest, load_or_compile

if TYPE_CHECKING:
    from collections.abc import Sequence

#: The folder with the sources of the kernels.
SOURCES = Path(__file__).parent / "sources"
_LANGUAGE = "c++17"


class Compiler:
    """Compiles the sources of one folder with NVRTC; needs no GPU."""

    def __init__(self, sources: Path = SOURCES) -> None:
        self.sources = sources

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

        Parameters
        ----------
        file : str
            A source, without its suffix.
        kernels : sequence of str
            C++ name expressions, as for `CupyDevice.launch`.
        architecture : str
            Target, for example ``"sm_90"``.

        Raises
        ------
        KernelError
            If a kernel does not compile. The message has the names and the log of the compiler.
        """
        from cuda.core import Program, ProgramOptions

        options = ProgramOptions(
            name=f"{file}.cu", arch=architecture, std=_LANGUAGE, include_path=str(self.sources)
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
        """Return the mangled name and the cubin of one kernel, from the cache if possible.

        Raises
        ------
        KernelError
            If the kernel does not compile.
        """
        sources = [self.sources / f"{file}.cu", *sorted(self.sources.glob("*.cuh"))]
        parts = kernel, architecture, _LANGUAGE, self.version(), [s.read_text() for s in sources]

        def compile_one() -> tuple[str, bytes]:
            names, cubin = self.compile(file, [kernel], architecture)
            return names[kernel], cubin

        return load_or_compile(f"{file}-{digest(*parts)}", compile_one)


#: The compiler of this package's kernels.
NVRTC = Compiler()
