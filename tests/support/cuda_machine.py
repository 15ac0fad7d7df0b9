"""Run CUDA kernels without a GPU: NVRTC's PTX of them, in the interpreter of `tests/gpu`."""

import contextlib
import ctypes
import functools
import itertools
import os
import shutil
import subprocess
from pathlib import Path

import mstflow.primitives
import strict_device
from mstflow.primitives.cuda.arrays import CudaArrays
from mstflow.primitives.cuda.kernels import KERNELS
from mstflow.primitives.numpy_arrays import NumpyArrays

KERNEL_SOURCES = Path(mstflow.primitives.__file__).parent / "cuda"
SOURCES = Path(__file__).parents[1] / "gpu"
#: Threads per block, as in a launch on a device.
BLOCK = 256
MESSAGE = 500


class FindingError(AssertionError):
    """The interpreter found a fault in a kernel."""


class Given(ctypes.Structure):
    """An array as the interpreter sees it; see `Array` in `memory.h`."""

    _fields_ = (
        ("address", ctypes.c_uint64),
        ("bytes", ctypes.c_uint64),
        ("written", ctypes.c_void_p),
    )


def why_not():
    """Return why kernels cannot be interpreted here; empty if they can."""
    if not _compiler():
        return "there is no C++ compiler"
    try:
        from cuda.bindings import nvrtc

        nvrtc.nvrtcVersion()
    except Exception as error:  # any class, from the loader
        return f"NVRTC cannot be loaded: {error}"
    return ""


def build(folder):
    """Compile the interpreter into a folder; return its path."""
    library = folder / "machine.so"
    flags = ["-std=c++17", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    subprocess.run([_compiler(), *flags, "-o", library, SOURCES / "machine.cpp"], check=True)
    return library


def _compiler():
    return shutil.which("g++") or shutil.which("c++")


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
    return names, ptx.rstrip(b"\0")


class Module:
    """The kernels of a file, ready to run.

    Parameters
    ----------
    library : ctypes.CDLL
        The interpreter.
    ptx : bytes
    """

    def __init__(self, library, ptx):
        self._library, self._message = library, ctypes.create_string_buffer(MESSAGE)
        library.load.restype = ctypes.c_void_p
        address = library.load(ptx, self._message, ctypes.c_uint64(MESSAGE))
        if not address:
            raise FindingError(self._message.value.decode())
        self._handle = ctypes.c_void_p(address)

    def launch(self, name, size, arguments, seed):
        """Run one thread for each of `size` elements; return the number of instructions."""
        arrays = [each for each in arguments if hasattr(each, "dtype")]
        assert all(each.flags.c_contiguous for each in arrays)
        words = [size, *(each.data.ptr if hasattr(each, "dtype") else each for each in arguments)]
        assert len(words) == self._library.parameters(self._handle, name.encode())
        given = (Given * len(arrays))(*map(_given, arrays))
        count, message = ctypes.c_uint64(), ctypes.create_string_buffer(MESSAGE)
        failed = self._library.launch(
            self._handle, name.encode(), -(-size // BLOCK), BLOCK,
            (ctypes.c_uint64 * len(words))(*words), given, len(arrays), ctypes.c_uint64(seed),
            ctypes.byref(count), message, ctypes.c_uint64(MESSAGE),
        )  # fmt: skip
        if failed:
            raise FindingError(f"{name}, seed {seed}: {message.value.decode()}")
        return count.value


def _given(array):
    written = strict_device.written(array)
    return array.data.ptr, array.nbytes, None if written is None else written.ctypes.data


class MachineDevice:
    """A device in host memory; each launch has another schedule, and is recorded by the double.

    Parameters
    ----------
    library : path
        The interpreter; see `build`.
    sources : path
        The folder of the kernels.
    """

    xp = strict_device

    def __init__(self, library, sources=KERNEL_SOURCES):
        self._library, self._sources = ctypes.CDLL(str(library)), Path(sources)
        self._seed = itertools.count()

    def launch(self, file, kernel, size, /, *arguments):
        module, names = self._module(file)
        strict_device.calls.append(kernel)
        module.launch(names[kernel], size, arguments, next(self._seed))

    def free_memory(self):
        return 2**40

    def beside(self):
        return contextlib.nullcontext()

    @functools.cache  # noqa: B019
    def _module(self, file):
        source = (self._sources / f"{file}.cu").read_text()
        names, ptx = compile_ptx(source, KERNELS[file], self._sources)
        return Module(self._library, ptx), names


class MachineCudaArrays(CudaArrays):
    """The CUDA array module over the interpreter in the folder that the environment names."""

    def __init__(self, threads=1):
        super().__init__(MachineDevice(os.environ["CUDA_MACHINE"]))


class SmallDevice(NumpyArrays):
    """NumPy in place of a device with little memory, for graphs that take the interpreter long."""

    free = 0

    def device_memory(self):
        return self.free
