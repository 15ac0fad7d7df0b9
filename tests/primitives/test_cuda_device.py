"""Tests of the CUDA device without a GPU: compiling, caching, launching, and error messages."""

import importlib.util
import os
import stat
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import sleep
from types import ModuleType, SimpleNamespace

import pytest

import mstflow
from mstflow import primitives
from mstflow.errors import KernelError
from mstflow.pointsets.primitives.cuda import searches
from mstflow.primitives.cuda import device as cuda_device
from mstflow.primitives.cuda.compiler import SOURCES, Compiler, open_cache
from mstflow.runtime.sizes import tuned
from processes import run_python

HEADER = "#pragma once\nusing u32 = unsigned int;\nusing u64 = unsigned long long;\n"
SOURCE = """#include "common.cuh"
template <class T, class S>
__global__ void fill(u64 size, T* out, u64 value) {
    u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < size) out[i] = T(S(value));
}
"""
KERNEL = "own", "fill<u64, u32>", "sm_80"


@pytest.fixture
def sources(tmp_path, monkeypatch):
    folder = tmp_path / "cuda"
    folder.mkdir()
    (folder / "common.cuh").write_text(HEADER)
    (folder / "own.cu").write_text(SOURCE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    return folder


class Double(Compiler):
    """A double of the compiler that lists the kernels that it compiled."""

    def __init__(self, sources=SOURCES, version=12090, cache=None):
        super().__init__(sources, cache={} if cache is None else cache)
        self.compiled, self.found = [], (version, [80, 90])

    def version(self):
        return self.found

    def compile(self, file, kernels, architecture):
        self.compiled.append((file, *kernels, architecture))
        cubin = f"cubin of {self.compiled[-1]}, number {len(self.compiled)}".encode()
        return dict.fromkeys(kernels, "lowered"), cubin


@pytest.fixture
def compiler(sources):
    return Double(sources)


def test_a_template_compiles(sources):
    pytest.importorskip("cuda.core")
    file, kernel, architecture = KERNEL
    names, cubin = Compiler(sources).compile(file, [kernel], architecture)
    name = names[kernel]
    assert name.startswith("_Z4fillIyj")
    assert cubin.startswith(b"\x7fELF")
    assert name.encode() in cubin


@pytest.mark.parametrize(
    ("kernel", "log"),
    [
        (("own", "fill<u64, nothing>", "sm_80"), 'identifier "nothing" is undefined'),
        (("own", "fill<u64, u32>", "sm_1"), "invalid value for --gpu-architecture"),
        (("absent", "fill", "sm_80"), "No such file"),
    ],
)
def test_compile_errors_have_the_log(sources, kernel, log):
    pytest.importorskip("cuda.core")
    file, name, architecture = kernel
    with pytest.raises(KernelError, match=log) as raised:
        Compiler(sources).compile(file, [name], architecture)
    assert f"{file}.cu: {name} for {architecture} does not compile" in str(raised.value)


def test_a_cached_kernel_is_compiled_once(compiler):
    first = compiler.cached(*KERNEL)
    assert first == compiler.cached(*KERNEL) == ("lowered", first[1])
    assert compiler.compiled == [KERNEL]


def test_a_cubin_depends_on_kernel_sources_and_compiler(sources, compiler):
    def number_compiled(*kernel):
        compiler.cached(*kernel)
        return len(compiler.compiled)

    assert number_compiled(*KERNEL) == 1
    assert number_compiled("own", "fill<u32, u32>", "sm_80") == 2
    assert number_compiled("own", "fill<u64, u32>", "sm_90") == 3
    (sources / "own.cu").write_text(SOURCE + "\n")
    assert number_compiled(*KERNEL) == 4
    (sources / "common.cuh").write_text(HEADER + "\n")
    assert number_compiled(*KERNEL) == 5
    compiler.found = 12060, [80, 90]
    assert number_compiled(*KERNEL) == 6
    (sources / "common.cuh").write_text(HEADER)
    assert number_compiled(*KERNEL) == 7


@pytest.mark.parametrize("home", ["file", "file/below"])
def test_kernels_compile_without_a_folder(sources, tmp_path, monkeypatch, home):
    pytest.importorskip("cuda.core")
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / home))
    before = sorted(tmp_path.rglob("*"))
    assert Compiler(sources).cached(*KERNEL)[1].startswith(b"\x7fELF")
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
@pytest.mark.parametrize("others", [0o720, 0o702])
def test_a_folder_that_others_may_write_to_is_not_used(sources, others):
    utils = pytest.importorskip("cuda.core.utils")
    before = os.umask(0)
    try:
        assert isinstance(open_cache(), utils.FileStreamProgramCache)
    finally:
        os.umask(before)
    folder = sources.parent / "home" / "mstflow" / "kernels"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    folder.chmod(others)
    assert isinstance(open_cache(), utils.InMemoryProgramCache)


class Full(dict):
    """A double of a cache on a full disk."""

    def __setitem__(self, *_):
        raise OSError(28, "No space left on device")


def test_kernels_compile_if_the_disk_is_full(sources):
    compiler = Double(sources, cache=Full())
    assert compiler.cached(*KERNEL) != compiler.cached(*KERNEL)
    assert compiler.compiled == [KERNEL] * 2


def test_processes_share_the_cache(sources):
    pytest.importorskip("cuda.core")
    program = (
        "import pathlib\nfrom mstflow.primitives.cuda.compiler import Compiler\n"
        f"print(Compiler(pathlib.Path({str(sources)!r})).cached(*{KERNEL!r}))"
    )
    command = [sys.executable, "-c", program]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    first, second = (process.communicate()[0] for process in processes)
    assert first == second == f"{Compiler(sources).cached(*KERNEL)}\n"
    folder = sources.parent / "home"
    assert len([path for path in folder.rglob("*") if path.is_file()]) == 1


class Array:
    """A double of a contiguous array of CuPy."""

    def __init__(self, address):
        self.data, self.flags = SimpleNamespace(ptr=address), SimpleNamespace(c_contiguous=True)


class Arrays:
    """A double of CuPy that records what is loaded and launched."""

    def __init__(self, driver=12090, runtime=12090, devices=1, capability="80"):
        self.launched, self.loaded = [], []
        self.ndarray = Array
        properties = {"name": b"A device", "totalGlobalMem": 16 * 10**9, "major": 8, "minor": 0}
        self.cuda = SimpleNamespace(
            runtime=SimpleNamespace(
                driverGetVersion=lambda: driver,
                runtimeGetVersion=lambda: runtime,
                getDevice=lambda: 0,
                getDeviceCount=lambda: devices,
                getDeviceProperties=lambda _: properties,
            ),
            Device=lambda _: SimpleNamespace(compute_capability=capability),
            get_current_stream=lambda: SimpleNamespace(ptr=7),
        )

    def core(self):
        """Return a double of cuda.core."""
        core = ModuleType("cuda.core")
        core.launch = lambda *launch: self.launched.append(launch)
        core.LaunchConfig = lambda grid, block: (grid, block)
        core.Stream = SimpleNamespace(from_handle=lambda handle: f"stream {handle}")
        core.ObjectCode = SimpleNamespace(from_cubin=self._code)
        return core

    def _code(self, cubin):
        self.loaded.append(cubin)
        return SimpleNamespace(get_kernel=lambda name: name)


@pytest.fixture
def library(monkeypatch):
    """Return a function that replaces CuPy by a double."""

    def forget():
        for cached in ("_load", "_blocks", "_stream"):
            getattr(cuda_device, cached).cache_clear()

    def install(arrays):
        forget()
        module = ModuleType("cupy")
        vars(module).update(vars(arrays), __version__="14.0.0")
        monkeypatch.setitem(sys.modules, "cupy", module)
        monkeypatch.setitem(sys.modules, "cuda.core", arrays.core())
        return arrays

    yield install
    forget()


def test_launch(compiler, library):
    arrays = library(Arrays())
    device = cuda_device.CupyDevice(compiler)
    out = Array(1000)
    device.launch("own", "fill<u64, u32>", 0, out, 7)
    assert compiler.compiled == []
    device.launch("own", "fill<u64, u32>", 3, out, -1)
    device.launch("own", "fill<u64, u32>", 2**33 + 1, out, True)
    assert (len(compiler.compiled), len(arrays.loaded)) == (1, 1)
    words = [(3, -1), (2**33 + 1, 1)]  # cuda.core takes them as signed words
    for launch, (size, value) in zip(arrays.launched, words, strict=True):
        assert launch == ("stream 7", (-(-size // 256), 256), "lowered", size, 1000, value)
        assert {type(word) for word in launch[3:]} == {int}


class Pool:
    """CuPy's memory pool: blocks in use, some of them split, and idle ones."""

    def __init__(self, device, used, split, idle, limit):
        self._device, self._used, self._split, self._idle = device, used, split, idle
        self.get_limit = lambda: limit

    def total_bytes(self):
        return self._used + self._split + self._idle

    def used_bytes(self):
        return self._used

    def free_bytes(self):
        return self._split + self._idle

    def free_all_blocks(self):
        self._device["free"] += self._idle
        self._idle = 0


@pytest.mark.parametrize(("limit", "free"), [(0, 130), (1000, 130), (90, 30)])
def test_free_memory_is_what_one_array_can_take(library, limit, free):
    """Free parts of split blocks do not count, because one array cannot use several of them."""
    arrays, device = library(Arrays()), {"free": 100}
    pool = Pool(device, used=40, split=20, idle=30, limit=limit)
    arrays.cuda.runtime.memGetInfo = lambda: (device["free"], 200)
    sys.modules["cupy"].get_default_memory_pool = lambda: pool
    assert cuda_device.CupyDevice().free_memory() == free


class Slow(Double):
    """A compiler that another thread can overtake."""

    def cached(self, *kernel):
        sleep(0.1)
        return super().cached(*kernel)


def test_threads_load_a_kernel_once(sources, library):
    """A duplicate module could be unloaded while its kernel runs."""
    arrays, compiler = library(Arrays()), Slow(sources)
    device = cuda_device.CupyDevice(compiler)
    with ThreadPoolExecutor() as team:
        list(team.map(lambda _: device.launch("own", "fill<u64, u32>", 1), range(2)))
    assert len(arrays.launched) == 2
    assert (len(compiler.compiled), len(arrays.loaded)) == (1, 1)


def fail(error):
    def raising(*_):
        raise error

    return raising


def broken(error):
    """Return a compiler that cannot be loaded."""
    compiler = Double()
    compiler.version = fail(error)
    return compiler


def no_answer():
    arrays = Arrays()
    arrays.cuda.runtime.getDeviceCount = fail(RuntimeError("cudaErrorNoDevice: none"))
    return arrays


@pytest.mark.skipif(os.name == "nt", reason="Windows has another library of C")
@pytest.mark.parametrize(
    ("arrays", "compiler", "reason"),
    [
        (Arrays(), Double(), ""),
        (Arrays(driver=13010), Double(), ""),
        (None, Double(), "CuPy cannot be loaded (ModuleNotFoundError: "),
        (
            Arrays(),
            broken(RuntimeError("no libnvrtc.so\nanywhere")),
            "NVRTC cannot be loaded (RuntimeError: no libnvrtc.so anywhere): install",
        ),
        (
            Arrays(),
            broken(ImportError("No module named 'cuda'")),
            "(ImportError: No module named 'cuda'): install mstflow[cuda12]",
        ),
        (
            Arrays(),
            Double(version=13010),
            "NVRTC is built for CUDA 13.1, but the driver supports 12.9: install",
        ),
        (
            no_answer(),
            Double(),
            "the driver finds no device (RuntimeError: cudaErrorNoDevice: none)",
        ),
        (Arrays(devices=0), Double(), "the driver finds no device"),
        (
            Arrays(driver=11040),
            Double(),
            "the driver supports CUDA 11.4, but 12.0 or newer is needed",
        ),
        (Arrays(driver=0), Double(), "the driver supports CUDA 0.0"),
        (
            Arrays(runtime=13000),
            Double(),
            "CuPy is built for CUDA 13.0, but the driver supports 12.9: install mstflow[cuda12]",
        ),
        (
            Arrays(capability="120"),
            Double(),
            "NVRTC 12.9 does not compile for this device, sm_120",
        ),
    ],
)
def test_obstacles(library, monkeypatch, arrays, compiler, reason):
    if arrays is None:
        monkeypatch.setitem(sys.modules, "cupy", None)
    else:
        library(arrays)
    found = cuda_device.find_obstacle("libc.so.6", compiler)
    assert found == reason if not reason else reason in found
    assert "\n" not in found


def test_a_host_without_driver():
    found = cuda_device.find_obstacle("libnothing.so.1", Double())
    assert found == "there is no NVIDIA driver: libnothing.so.1 cannot be loaded"


@pytest.mark.parametrize("backend", mstflow.primitives.known_backends()[1:3])
def test_backends_that_are_not_usable(backend, tmp_path):
    """In a process that cannot import the package of the backend."""
    graph = tmp_path / "graph.txt"
    graph.write_text("0 1 3\n")
    program = f"""
        import sys
        sys.modules[{backend!r}] = None
        from mstflow import backends, primitives
        from mstflow.__main__ import main
        print(primitives.why_not({backend!r}))
        assert {backend!r} not in backends()
        assert primitives.resolve_backend("auto", 10**12) != {backend!r}
        try:
            primitives.array_module(primitives.Backend({backend!r}))
        except Exception as error:
            print(error)
        sys.stderr = sys.stdout
        assert main(["solve", {str(graph)!r}, "--backend", {backend!r}]) == 2
        assert main(["solve", {str(graph)!r}, "--quiet"]) == 0
        assert main(["info"]) == 0
    """
    done = run_python("-c", textwrap.dedent(program))
    assert (done.returncode, done.stderr) == (0, "")
    reason, error, shown, *rest = done.stdout.splitlines()
    assert reason.startswith(f"it needs the package {backend}: mstflow[c")
    assert error == f"backend {backend!r} is not usable here: {reason}"
    assert shown == f"error: {error}"
    assert f"backend       {backend} is not usable: {reason}" in rest


@pytest.mark.skipif(not importlib.util.find_spec("cupy"), reason="without CuPy, no advice")
def test_the_plan_advises_a_gpu_for_large_graphs_on_the_host():
    with tuned(device_from=10**10):
        assert primitives.suggest_gpu(10**10 - 1) == ""
        assert "10,000,000,000 edges" in primitives.suggest_gpu(10**10)


def test_a_description_of_devices(library):
    library(Arrays(driver=13010, devices=2))
    device = {"name": "A device", "memory_bytes": 16 * 10**9, "compute_capability": "8.0"}
    versions = {"driver": "13.1", "runtime": "12.9", "nvrtc": "12.9"}
    assert cuda_device.describe_devices(Double()) == {**versions, "devices": [device] * 2}


def test_the_installed_package_has_the_sources():
    for folder in (SOURCES, searches.NVRTC.sources):
        part = folder.relative_to(Path(mstflow.__file__).parent)
        written = Path(__file__).parents[2] / part
        installed = {path.name for path in folder.glob("*.cu*")}
        assert installed == {path.name for path in written.glob("*.cu*")} != set()
