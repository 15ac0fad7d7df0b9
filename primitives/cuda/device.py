"""Run kernels on a CUDA device: launches, streams, free memory, and whether CUDA works here."""

from __future__ import annotations

import collections
import contextlib
import ctypes
import functools
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

from ...errors import KernelError
from .compiler import NVRTC, Compiler

#: Threads per block, a multiple of the warp size, because kernels use warp votes.
_BLOCK = 256
#: CUDA's handle of the per-thread default stream.
_STREAM_PER_THREAD = 2
_DRIVER = "nvcuda.dll" if os.name == "nt" else "libcuda.so.1"


class CupyDevice:
    """CuPy, as `xp`, with its current device, memory pool and stream."""

    def __init__(self, compiler: Compiler = NVRTC) -> None:
        import cupy
        from cuda.core import launch

        self.xp, self._launch, self._compiler = cupy, launch, compiler
        #: The loaded kernels, by name and device.
        self._kernels: dict[tuple[str, int], Any] = {}
        self._idle_streams: dict[int, list[Any]] = collections.defaultdict(list)

    def launch(self, file: str, kernel: str, size: int, /, *arguments: Any) -> None:
        """Queue one thread of a kernel for each of `size` elements, fewer than 2**38.

        `file` is a source of the compiler, without its suffix. `kernel` is a C++ name expression in
        it, such as ``"gather<u64, u32>"``. The size is the kernel's first argument. Arrays are
        copied if they are not contiguous, and passed as pointers. Numbers are passed as ``u64``
        modulo 2**64.
        """
        if not size:
            return
        device = self.xp.cuda.runtime.getDevice()
        loaded = self._kernels.get((kernel, device))
        if loaded is None:
            with _loading_lock:
                loaded = _load(self._compiler, file, kernel, device)
                self._kernels[kernel, device] = loaded
        words: list[int] = []
        copies = []  # keep them alive until the kernel is queued: the pool could reuse their memory
        for argument in arguments:
            if isinstance(argument, self.xp.ndarray):
                if not argument.flags.c_contiguous:
                    argument = self.xp.ascontiguousarray(argument)
                    copies.append(argument)
                words.append(argument.data.ptr)
            else:
                word = int(argument) % 2**64
                words.append(word - (word >> 63 << 64))  # the same bits, signed
        stream = _stream(self.xp.cuda.get_current_stream().ptr)
        self._launch(stream, _blocks(-(-size // _BLOCK)), loaded, size, *words)

    def free_memory(self, needed: int = sys.maxsize) -> int:
        """Return the size in bytes of the largest array that can be allocated now.

        If it is less than `needed`, the pool first returns its idle blocks to the device, because
        one allocation can neither combine blocks nor use a block of another stream.
        """
        pool = self.xp.get_default_memory_pool()

        def free() -> int:
            of_device, _ = self.xp.cuda.runtime.memGetInfo()
            limit = pool.get_limit()
            return int(min(of_device, limit - pool.total_bytes()) if limit else of_device)

        if (size := free()) < needed:
            pool.free_all_blocks()
            size = free()
        return size

    def beside(self) -> AbstractContextManager[None]:
        """Return a context in which another thread uses this device, and a stream of its own.

        Kernels on that stream are ordered with those on the default stream, so arrays and memory of
        the pool need no events. Streams are reused, because CuPy's pool keeps memory for each
        stream. If the current stream is not the default stream, the other thread uses the current
        stream. Other streams do not synchronise with the per-thread default stream, so it raises an
        error.
        """
        cuda = self.xp.cuda
        stream = cuda.get_current_stream()
        if stream.ptr == _STREAM_PER_THREAD:
            message = "cannot use the per-thread default stream; use the default or a new stream"
            raise KernelError(message)
        return self._using(cuda.Device(), stream)

    @contextlib.contextmanager
    def _using(self, device: Any, stream: Any) -> Iterator[None]:
        with device, stream if stream.ptr else self._lent_stream(device.id):
            yield

    @contextlib.contextmanager
    def _lent_stream(self, device: int) -> Iterator[None]:
        """Use an idle stream. Create one only if all are in use, so there is one per thread."""
        idle = self._idle_streams[device]
        try:
            stream = idle.pop()
        except IndexError:
            stream = self.xp.cuda.Stream()
        try:
            with stream:
                yield
        finally:
            idle.append(stream)


def computing_here(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function so that, in any thread, it uses this thread's current device and stream.

    A new thread would use device 0 and the default stream.
    """
    cupy = sys.modules.get("cupy")
    if cupy is None or not cupy.cuda.is_available():
        return function
    device, stream = cupy.cuda.Device(), cupy.cuda.get_current_stream()

    def compute(*arguments: Any) -> Any:
        with device, stream:
            return function(*arguments)

    return compute


#: Serialises loading: a duplicate module could be unloaded while its kernel runs.
_loading_lock = threading.Lock()


@functools.cache
def _load(compiler: Compiler, file: str, kernel: str, device: int) -> Any:
    """Load a kernel on a device."""
    import cupy
    from cuda.core import ObjectCode

    name, cubin = compiler.cached(file, kernel, _architecture(cupy, device))
    return ObjectCode.from_cubin(cubin).get_kernel(name)


@functools.lru_cache(4096)
def _blocks(count: int) -> Any:
    """Return the configuration of a launch of this number of blocks."""
    from cuda.core import LaunchConfig

    return LaunchConfig(grid=count, block=_BLOCK)


@functools.lru_cache(256)
def _stream(handle: int) -> Any:
    """Wrap CuPy's stream with this handle for cuda.core; CuPy still owns it."""
    from cuda.core import Stream

    return Stream.from_handle(handle)


def _architecture(cupy: Any, device: int) -> str:
    return f"sm_{cupy.cuda.Device(device).compute_capability}"


@functools.cache
def why_not() -> str:
    """Return the reason why kernels cannot run here; empty if they can."""
    return find_obstacle(_DRIVER, NVRTC)


def find_obstacle(driver_library: str, compiler: Compiler) -> str:
    """Return the reason why kernels cannot run on this driver by this compiler, or an empty string.

    Fast checks come first. CuPy is loaded only if there is a driver.
    """
    try:
        ctypes.CDLL(driver_library)
    except OSError:
        return f"there is no NVIDIA driver: {driver_library} cannot be loaded"
    try:
        import cupy
    except Exception as error:  # any class; the cause is clearer than CuPy's message
        return f"CuPy cannot be loaded ({_one_line(error.__cause__ or error)})"
    return _find_wrong_version(cupy, compiler) or _find_wrong_device(cupy, compiler)


def _find_wrong_version(cupy: Any, compiler: Compiler) -> str:
    """Return why the driver, CuPy and NVRTC do not fit together, or an empty string."""
    driver = cupy.cuda.runtime.driverGetVersion()
    if driver < 12000:
        return f"the driver supports CUDA {_version_text(driver)}, but 12.0 or newer is needed"
    remedy = f"install mstflow[cuda{min(driver // 1000, 13)}]"
    try:
        version, _ = compiler.version()
    except Exception as error:  # any class, from the loader
        return f"NVRTC cannot be loaded ({_one_line(error)}): {remedy}"
    for name, built in (("CuPy", cupy.cuda.runtime.runtimeGetVersion()), ("NVRTC", version)):
        if built // 1000 > driver // 1000:
            versions = f"{_version_text(built)}, but the driver supports {_version_text(driver)}"
            return f"{name} is built for CUDA {versions}: {remedy}"
    return ""


def _find_wrong_device(cupy: Any, compiler: Compiler) -> str:
    """Return why no kernel runs on the current device, or an empty string."""
    try:
        if not cupy.cuda.runtime.getDeviceCount():
            return "the driver finds no device"
        architecture = _architecture(cupy, cupy.cuda.runtime.getDevice())
    except RuntimeError as error:  # the base of CuPy's errors
        return f"the driver finds no device ({_one_line(error)})"
    version, architectures = compiler.version()
    if int(architecture.removeprefix("sm_")) in architectures:
        return ""
    return f"NVRTC {_version_text(version)} does not compile for this device, {architecture}"


def describe_devices(compiler: Compiler = NVRTC) -> dict[str, Any]:
    """Return the devices that CuPy finds and the versions of CUDA; call `why_not` first."""
    import cupy

    runtime = cupy.cuda.runtime
    properties = map(runtime.getDeviceProperties, range(runtime.getDeviceCount()))
    return {
        "driver": _version_text(runtime.driverGetVersion()),
        "runtime": _version_text(runtime.runtimeGetVersion()),
        "nvrtc": _version_text(compiler.version()[0]),
        "devices": [
            {
                "name": facts["name"].decode(),
                "memory_bytes": facts["totalGlobalMem"],
                "compute_capability": f"{facts['major']}.{facts['minor']}",
            }
            for facts in properties
        ],
    }


def _version_text(version: int) -> str:
    return f"{version // 1000}.{version % 1000 // 10}"


def _one_line(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())
