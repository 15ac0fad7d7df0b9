"""Run CUDA kernels on the processor, compiled by g++ with `tests/cuda_host/host.h`."""

import contextlib
import ctypes
import functools
import itertools
import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import mstflow.primitives
import strict_device
from mstflow.primitives.cuda.arrays import CudaArrays
from mstflow.primitives.cuda.kernels import KERNELS

SOURCES = Path(mstflow.primitives.__file__).parent / "cuda"
HEADER = Path(__file__).parents[1] / "cuda_host"
SANITIZERS = "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g"


def compile_file(file, folder, *options):
    """Compile the kernels of a file to a library with one function, `launch`."""
    kernels = "".join(
        f'    if (name == "{kernel}") return run({kernel}, size, arguments, widths, seed);\n'
        for kernel in KERNELS[file]
    )
    source, library = folder / f"{file}.cpp", folder / f"{file}.so"
    source.write_text(
        f'#include "host.h"\n#include "{file}.cu"\n#include <string_view>\n'
        'extern "C" bool launch('
        "const char* kernel, u64 size, void** arguments, const u64* widths, u64 seed) {\n"
        f"    const std::string_view name(kernel);\n{kernels}    return false;\n}}\n"
    )
    include = f"-I{HEADER}", f"-I{SOURCES}"
    compiler = [shutil.which("g++") or "c++", "-std=c++17", "-O1", "-Wall", "-Werror", "-fopenmp"]
    flags = ["-shared", "-fPIC", *include, *options]
    subprocess.run([*compiler, *flags, "-o", library, source], check=True)
    return library


def compile_kernels(folder, *options):
    """Compile all kernels into a folder, and return the folder."""
    with ThreadPoolExecutor() as team:
        list(team.map(lambda file: compile_file(file, folder, *options), KERNELS))
    return folder


class HostDevice:
    """A device in host memory; each launch runs its threads in a different order."""

    xp = strict_device

    def __init__(self, folder):
        self._folder, self._seed = Path(folder), itertools.count()

    def launch(self, file, kernel, size, /, *arguments):
        words = [
            ctypes.c_void_p(each.data.ptr) if hasattr(each, "dtype") else ctypes.c_uint64(each)
            for each in arguments
        ]
        pointers = (ctypes.c_void_p * len(words))(*map(ctypes.addressof, words))
        widths = [getattr(each, "itemsize", 0) for each in arguments]
        sizes = (ctypes.c_uint64 * len(widths))(*widths)
        seed = ctypes.c_uint64(next(self._seed) % 97)
        launch = self._library(file).launch
        is_taken = launch(kernel.encode(), ctypes.c_uint64(size), pointers, sizes, seed)
        assert is_taken, f"{kernel} of {file} does not take arrays of widths {widths}"
        assert all(each.flags.c_contiguous for each in arguments if hasattr(each, "dtype"))

    def free_memory(self):
        return 2**40

    def beside(self):
        return contextlib.nullcontext()

    @functools.cache  # noqa: B019
    def _library(self, file):
        library = ctypes.CDLL(str(self._folder / f"{file}.so"))
        library.launch.restype = ctypes.c_bool
        return library


class HostCudaArrays(CudaArrays):
    """The CUDA array module over kernels from the folder that the environment names."""

    def __init__(self, threads=1):
        super().__init__(HostDevice(os.environ["CUDA_LIBRARIES"]))
