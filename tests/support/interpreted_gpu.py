"""Run CuPy without a GPU: the interpreter of `tests/gpu` runs its kernels and mstflow's.

`install` puts a fake driver in place of NVIDIA's. CuPy's wheel contains the CUDA runtime, so each
of the runtime's functions that the fake has becomes a jump to it. Everything else of CuPy runs as
it is, except for sorts, because Thrust's kernels are machine code.
"""

import contextlib
import ctypes
import functools
import importlib.util
import os
import shutil
import struct
import subprocess
import sys
import types
from pathlib import Path

import numpy as np

import mstflow.primitives
from mstflow.pointsets.primitives.cuda import searches
from mstflow.primitives.cuda.arrays import CudaArrays
from mstflow.primitives.cuda.device import CupyDevice
from mstflow.primitives.cuda.kernels import KERNELS

KERNEL_SOURCES = Path(mstflow.primitives.__file__).parent / "cuda" / "sources"
SOURCES = Path(__file__).parents[1] / "gpu"
#: Names the fake driver's file, also for processes that tests start.
VARIABLE = "MSTFLOW_FAKE_DRIVER"
MESSAGE = 1000
#: The number of the checks of a launch; see `Checks` in `memory.h`.
CHECKS = {"bounds": 0, "values": 1, "races": 2}


class FindingError(AssertionError):
    """The fake driver found a fault."""


class Counts(ctypes.Structure):
    """Counts of operations since the last call of `counts`; see `Counts` in `device.h`."""

    _fields_ = tuple(
        (name, ctypes.c_uint64)
        for name in (
            "launches", "sorts", "copies_in", "copies_out", "copies_within", "sets", "waits",
            "allocations", "streams", "instructions", "bytes_in", "bytes_out", "largest_out",
        )
    )  # fmt: skip


def why_not():
    """Return why CuPy cannot run here without a GPU; empty if it can."""
    if sys.platform != "linux" or os.uname().machine != "x86_64":
        return "the interpreter needs Linux on x86-64"
    if not _compiler():
        return "there is no C++ compiler"
    missing = [
        package
        for package in ("cupy", "nvidia.cuda_nvrtc", "nvidia.cuda_runtime")
        if not _is_installed(package)
    ]
    return f"not installed: {', '.join(missing)}; install mstflow[gpu-test]" if missing else ""


def _is_installed(package):
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:
        return False


def _compiler():
    return shutil.which("g++") or shutil.which("c++")


def build(folder):
    """Return the path of the driver that the environment names; else compile it into a folder."""
    if known := os.environ.get(VARIABLE):
        return Path(known)
    library = Path(folder) / "libcuda.so.1"
    flags = ["-std=c++17", "-O3", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    name = "-Wl,-soname,libcuda.so.1"
    subprocess.run([_compiler(), *flags, name, "-o", library, SOURCES / "driver.cpp"], check=True)
    return library


@functools.cache
def _driver():
    return ctypes.CDLL(os.environ[VARIABLE])


@functools.cache
def install():
    """Load CuPy on the fake driver that the environment names, until the process ends."""
    os.environ |= {"CUPY_COMPILE_WITH_PTX": "1", "CUPY_ACCELERATORS": ""}
    driver = _driver()  # later loads of libcuda.so.1 find it
    import cupy_backends.cuda.api.runtime as runtime

    _replace_functions(os.path.realpath(runtime.__file__), driver)
    sys.modules["cupy.cuda.thrust"] = _thrust(driver)
    import cupy

    from mstflow.primitives.cuda.compiler import Compiler

    Compiler.cached = lambda compiler, *kernel: _kernel(compiler, *kernel)
    start(0)
    cupy.cuda.set_allocator(_allocate)


def is_in_use():
    """Return whether CuPy is loaded on the fake driver."""
    return install.cache_info().currsize > 0


def _replace_functions(library, driver):
    """Write a jump to a function of the driver over each function of a loaded library."""
    listed = subprocess.run(["nm", library], capture_output=True, text=True, check=True).stdout
    with Path("/proc/self/maps").open() as lines:
        base = min(int(line.split("-")[0], 16) for line in lines if line.rstrip().endswith(library))
    with Path("/proc/self/mem").open("r+b", buffering=0) as memory:
        for line in listed.splitlines():
            *place, kind, name = line.split()
            if kind == "t" and name.startswith("cuda") and hasattr(driver, name):
                target = ctypes.cast(getattr(driver, name), ctypes.c_void_p).value
                memory.seek(base + int(place[0], 16))
                memory.write(struct.pack("<HQBH", 0xBB49, target, 0x41, 0xE3FF))  # jmp *%r11


def _thrust(driver):
    """Return a module with the sorts of CuPy, as operations of the fake driver."""

    def arguments(dtype, values, shape):
        import cupy

        (size,) = shape
        stream = ctypes.c_void_p(cupy.cuda.get_current_stream().ptr)
        return (
            ctypes.c_uint64(values),
            ctypes.c_uint64(size),
            np.dtype(dtype).str[1:].encode(),
            stream,
        )

    module = types.ModuleType("cupy.cuda.thrust")
    module.available = True
    module.get_build_version = lambda: 12090
    module.sort = lambda dtype, values, _, shape: driver.fake_sort(*arguments(dtype, values, shape))
    module.argsort = lambda dtype, places, values, _, shape: driver.fake_argsort(
        ctypes.c_uint64(places), *arguments(dtype, values, shape)
    )
    return module


def _allocate(size, pool=None):
    """Allocate memory from a pool, by default CuPy's, and announce the exact size."""
    import cupy

    pointer = (pool or cupy.get_default_memory_pool()).malloc(size)
    _driver().fake_array(ctypes.c_uint64(pointer.ptr), ctypes.c_uint64(size))
    return pointer


def start(seed, *, late=True, checks="races", pooled=True):
    """Choose the order of threads and streams, and the checks; discard earlier findings."""
    _driver().fake_start(ctypes.c_uint64(seed), int(late), CHECKS[checks], int(pooled))
    finding()


def counts():
    """Return counts of operations since the last call."""
    found = Counts()
    _driver().fake_counts(ctypes.byref(found))
    return found


def traffic():
    """Return launches, bytes, random accesses and hot requests of each kernel since the last call.

    An access is random if it is further than 32 bytes from that of the thread before. The hot
    requests of a launch are those to the sector of 32 bytes that receives most; see `Traffic` in
    `memory.h`. Threads run in order, and requests are counted, only with `checks="bounds"`.
    """
    text = ctypes.create_string_buffer(100_000)
    _driver().fake_traffic(text, ctypes.c_uint64(len(text)))
    rows = (line.split() for line in text.value.decode().splitlines())
    return {name: tuple(map(int, figures)) for name, *figures in rows}


def finding():
    """Run all operations; return the first finding since the last call, or an empty string."""
    message = ctypes.create_string_buffer(MESSAGE)
    _driver().fake_finding(message, ctypes.c_uint64(MESSAGE))
    return message.value.decode()


def check():
    """Raise an error if the driver found a fault."""
    if found := finding():
        raise FindingError(found)


@contextlib.contextmanager
def memory(free=2**36, failure=-1):
    """Limit the free memory, or let all allocations after the first `failure` ones fail.

    To count all allocations, they come from a new pool: CuPy's may have room in blocks of which
    other tests hold a part.
    """
    import cupy

    pool = cupy.get_default_memory_pool() if failure < 0 else cupy.cuda.MemoryPool()
    pool.free_all_blocks()
    set_memory = _driver().fake_memory
    set_memory(ctypes.c_uint64(free), ctypes.c_int64(failure))
    try:
        with cupy.cuda.using_allocator(functools.partial(_allocate, pool=pool)):
            yield
    finally:
        set_memory(ctypes.c_uint64(2**36), ctypes.c_int64(-1))


def _kernel(compiler, file, kernel, _):
    names, ptx = compiled(file, compiler.sources)
    return names[kernel], ptx


@functools.cache
def compiled(file, folder):
    """Compile all kernels of a file; return their mangled names and the PTX."""
    headers = KERNEL_SOURCES if folder == searches.NVRTC.sources else folder
    kernels = {**KERNELS, **searches.KERNELS}[file]
    return compile_ptx((Path(folder) / f"{file}.cu").read_text(), kernels, headers)


def compile_ptx(source, kernels, folder=KERNEL_SOURCES):
    """Compile CUDA C++ to PTX; return the mangled names of the kernels, and the PTX.

    Parameters
    ----------
    source : str
    kernels : sequence of str
        C++ names of the instances to compile.
    folder : path
        Where included files are.
    """
    from cuda.bindings import nvrtc

    def checked(status, *values):
        if status:
            raise RuntimeError(f"NVRTC: {status.name}")
        return values[0] if values else None

    program = checked(*nvrtc.nvrtcCreateProgram(source.encode(), b"kernels.cu", 0, [], []))
    for kernel in kernels:
        checked(*nvrtc.nvrtcAddNameExpression(program, kernel.encode()))
    options = [b"-arch=compute_80", b"-std=c++17", f"-I{folder}".encode()]
    (status,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
    if status:
        log = b" " * checked(*nvrtc.nvrtcGetProgramLogSize(program))
        checked(*nvrtc.nvrtcGetProgramLog(program, log))
        raise RuntimeError(log.decode())
    names = {
        kernel: checked(*nvrtc.nvrtcGetLoweredName(program, kernel.encode())).decode()
        for kernel in kernels
    }
    ptx = b" " * checked(*nvrtc.nvrtcGetPTXSize(program))
    checked(*nvrtc.nvrtcGetPTX(program, ptx))
    return names, ptx


class InterpretedArrays(CudaArrays):
    """The array module for CuPy in any process, as a plugin."""

    def __init__(self, threads=1):
        install()
        super().__init__(CupyDevice())
