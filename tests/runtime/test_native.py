"""Tests of compiled kernels: compiling, caching and loading, with and without Numba."""

import functools
import importlib
import importlib.metadata
import inspect
import json
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from mstflow.errors import KernelError
from mstflow.runtime import native, toolchain
from mstflow.runtime.native import Kernels

pytest.importorskip("numba")

FOLDER = "mstflow.primitives.numba"
MODULE, OTHER = f"{FOLDER}.trees", f"{FOLDER}.kruskal"
#: Solves by some kernels. Arguments: whether the installed version of Numba counts as tested; if
#: not, most kernels are called by Numba's dispatcher, which no other test does.
PROGRAM = """
import json, sys
import numpy as np
import mstflow
from mstflow.runtime import toolchain
from mstflow.testing import EVERY_STAGE
if sys.argv[1] == "False":
    toolchain.TESTED.clear()
random = np.random.default_rng(1)
graph = *random.integers(0, 999, (2, 9999)).astype(np.int32), random.random(9999, np.float32)
every_stage = mstflow.algorithm("filter-boruvka").given(**EVERY_STAGE)
ALGORITHMS = {
    "True": ["auto"], "False": ["auto", every_stage, "boruvka-unionfind", "kruskal-helpers"]
}
forests = [
    mstflow.minimum_spanning_forest(graph, backend="numba", threads=1, algorithm=algorithm)
    for algorithm in ALGORITHMS[sys.argv[1]]
]
by_numpy = mstflow.minimum_spanning_forest(graph, backend="numpy")
assert all(np.array_equal(forest.edge_ids, by_numpy.edge_ids) for forest in forests)
numba = sys.modules.get("numba")
print(json.dumps([numba is not None, getattr(numba, "config", None) and numba.config.CACHE_DIR]))
"""


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def cleared_caches(monkeypatch):
    """Clear what the process remembers of compilers and folders, before and after the test."""
    clear_caches()
    yield
    monkeypatch.undo()
    clear_caches()


def clear_caches():
    for known in (toolchain.folder_of, toolchain._dependencies, toolchain._compilers):
        known.cache_clear()


def cached_files(home):
    """Return the modification time of each file."""
    return {path: path.stat().st_mtime_ns for path in home.rglob("*") if path.is_file()}


@pytest.mark.parametrize("is_tested", [True, False])
def test_processes_share_compiled_kernels(home, is_tested):
    command = [sys.executable, "-c", PROGRAM, str(is_tested)]
    first, files = json.loads(subprocess.check_output(command)), cached_files(home)
    second = json.loads(subprocess.check_output(command))
    assert (first, second) == ([True, ""], [False, None] if is_tested else [True, ""])
    assert cached_files(home) == files
    assert {path.suffix in (".nbi", ".nbc") for path in files} == {not is_tested}


@pytest.mark.usefixtures("home")
def test_cached_kernels_pay_for_smaller_graphs():
    kernels, other = Kernels(MODULE), Kernels(OTHER)
    assert not kernels.pay_for(native.LOADED_FROM)
    assert kernels.flatten(np.zeros(1, np.int8)) is None  # a dtype that no run uses
    assert kernels.pay_for(native.LOADED_FROM)
    assert kernels.pay_for(native.USED_FROM)
    assert not other.pay_for(native.LOADED_FROM)
    assert not Kernels(MODULE).pay_for(native.USED_FROM)


@pytest.mark.usefixtures("cleared_caches")
def test_the_folder_depends_on_sources_versions_and_options(monkeypatch):
    def folder():
        clear_caches()
        toolchain.versions.cache_clear()
        return toolchain.folder_of(MODULE)

    first = folder()
    assert folder() == first
    assert toolchain.folder_of(OTHER) != first
    monkeypatch.setenv("NUMBA_CPU_NAME", "generic")
    assert folder() != first
    monkeypatch.undo()
    monkeypatch.setattr("runpy.run_path", lambda _: {"get_versions": lambda: {"version": "0"}})
    assert folder() != first
    monkeypatch.undo()
    read = Path.read_bytes
    for changed in ("trees.py", "pairs.py", "native.py"):  # its own source, a neighbour, a tool

        def read_changed(path, name=changed):
            return read(path) + b"\n" * (path.name == name)

        monkeypatch.setattr(Path, "read_bytes", read_changed)
        assert folder() != first


def test_versions_are_those_of_the_distributions():
    assert toolchain.versions() == [importlib.metadata.version(x) for x in ("numba", "llvmlite")]


def test_kernel_names_are_distinct():
    """Several processes compile kernels, and one process links them by name."""
    from mstflow.graphs.text import line_kernels
    from mstflow.primitives import numba

    folder = Path(numba.__file__).parent
    modules = [f"{FOLDER}.{path.stem}" for path in folder.glob("[a-z]*.py")]
    modules += ["mstflow.runtime.intrinsics", "mstflow.runtime.sections"]
    modules = [line_kernels, *map(importlib.import_module, modules)]
    values = [value for module in modules for value in vars(module).values()]
    functions = set(filter(inspect.isfunction, (getattr(value, "py_func", 0) for value in values)))
    names = [(function.__module__, function.__qualname__) for function in functions]
    assert len(set(names)) == len(names) > 50


def test_symbols_of_several_processes_are_distinct():
    """Each process numbers the functions that it compiles, and may begin with other types."""
    program = (
        "import sys; from mstflow.runtime import native\n"
        f"print(native._compile({MODULE!r}, 'number_in_order', [*map("
        "native._Type, [sys.argv[1]] * 2, [1, 1])])[0])"
    )
    commands = ([sys.executable, "-c", program, dtype] for dtype in ("u2", "u4"))
    first, second = map(subprocess.check_output, commands)
    assert first != second


def test_a_kernel_that_must_be_compiled_without_numba(home, monkeypatch):
    monkeypatch.setattr("numba.config.DISABLE_JIT", 1)
    with pytest.raises(KernelError, match="number_in_order must be compiled, but NUMBA_DIS"):
        Kernels(MODULE).number_in_order(*[np.arange(9, dtype=np.uint16)] * 2)


def test_a_folder_that_cannot_be_searched(monkeypatch):
    def refuse(*_, **__):
        raise PermissionError

    with monkeypatch.context() as patch:  # pytest itself looks at files after a failure
        patch.setattr(Path, "stat", refuse)
        patch.setattr("os.stat", refuse)
        assert not Kernels(MODULE).are_cached()


def test_addresses_are_those_that_numpy_states(tmp_path):
    base = np.arange(12, dtype=np.uint16)
    read_only = base[3:7].view()
    read_only.flags.writeable = False
    mapped = np.memmap(tmp_path / "words", np.int64, "w+", shape=(3, 2))
    arrays = [base, read_only, base[5:], base[:0], base.reshape(3, 4)[1], mapped, mapped[2]]
    expected = [array.ctypes.data for array in arrays]
    assert [*map(native.address_of, arrays)] == expected
    with pytest.raises(TypeError, match="contiguous"):
        native.address_of(base[::2])


def test_kernels_accept_read_only_and_empty_but_not_strided_arrays():
    kernels = Kernels(MODULE)
    read_only = np.arange(8)[::-1].copy()
    read_only.flags.writeable = False
    out = np.empty(8, int)
    assert Kernels(f"{FOLDER}.elements").gather(0, 8, read_only, np.arange(8), out) is None
    assert out.tolist() == [*range(7, -1, -1)]
    empty, few = np.empty(0, np.uint32), np.arange(3, dtype=np.uint8)
    assert kernels.number_in_order(empty, empty) == 0
    assert kernels.number_in_order(few, few.copy()) == 3
    assert Kernels(f"{FOLDER}.sorting").find_range(np.int64(1), 3, few) == (1, 2)
    with pytest.raises(TypeError, match="contiguous"):
        kernels.number_in_order(np.arange(8)[::2], np.arange(4))


@pytest.mark.usefixtures("home")
def test_threads_that_load_a_kernel_concurrently_compile_it_once(monkeypatch):
    monkeypatch.setattr(native, "_load", native.functools.cache(native._load.__wrapped__))
    compiled, counts = [], []
    compile_kernel = native._compile
    monkeypatch.setattr(
        native, "_compile", lambda *kernel: compiled.append(kernel) or compile_kernel(*kernel)
    )
    root = np.arange(9, dtype=np.int16)  # a dtype that no run uses
    threads = [
        threading.Thread(target=lambda: counts.append(Kernels(MODULE).number_in_order(root, root)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [9] * 4
    assert len(compiled) == 1


def test_machine_code_is_compared_with_numba_before_it_is_cached(home, monkeypatch):
    other = functools.partial(native._compile, MODULE, "count_roots")
    monkeypatch.setattr(native, "_compile", lambda _, __, types: other(types))
    parent = np.arange(3, dtype=np.int16)  # a dtype that no run uses
    with pytest.raises(KernelError, match="kernel find_roots and Numba give different results"):
        Kernels(MODULE).find_roots(0, 3, parent, parent.copy())
    assert not cached_files(home)


def test_compile_errors_name_the_version_and_the_kernel(home, monkeypatch):
    def changed(*_):
        message = "numba has no such function any more"
        raise AttributeError(message)

    monkeypatch.setattr(native, "_dispatcher", changed)
    message = "cannot compile the kernel flatten .AttributeError.; tested versions are 0.61, "
    with pytest.raises(KernelError, match=message):
        native.DispatchedKernel(MODULE, "flatten")(np.zeros(1, np.int8))


def test_errors_of_a_compiled_kernel_are_not_reported_as_compile_errors(home, monkeypatch):
    def fail(*_):
        raise MemoryError

    kernel = native.DispatchedKernel(MODULE, "number_in_order")
    arguments = np.arange(3, dtype=np.int16), np.empty(3, np.int16)
    assert kernel(*arguments) == 3
    compiled = native._dispatcher(MODULE, "number_in_order")
    failing = functools.update_wrapper(fail, compiled)
    failing.overloads = compiled.overloads
    monkeypatch.setattr(native, "_dispatcher", lambda *_: failing)
    with pytest.raises(MemoryError):
        kernel(*arguments)


def test_a_query_for_cached_kernels_creates_no_folder(home):
    assert not Kernels(MODULE).are_cached()
    assert not any(home.iterdir())


@pytest.mark.parametrize(("suffix", "content"), [(".nbi", b""), (".nbc", b"garbage")])
def test_damaged_entries_of_numbas_cache_are_compiled_again(home, suffix, content):
    program = (
        "import numpy as np\n"
        "from mstflow.runtime import native, toolchain\n"
        "toolchain.TESTED.clear()\n"
        f"print(native.Kernels({MODULE!r}).number_in_order(*[np.arange(3, dtype='i2')] * 2))"
    )
    command = [sys.executable, "-c", program]
    assert subprocess.check_output(command) == b"3\n"
    files = [path for path in home.rglob(f"*{suffix}") if "number_in_order" in path.name]
    assert files
    for path in files:
        path.write_bytes(content)
    assert subprocess.check_output(command) == b"3\n"
    written = cached_files(home)
    assert subprocess.check_output(command) == b"3\n"
    assert cached_files(home) == written


@pytest.mark.parametrize("llvmlite", ["0.44.0", "0.999.0"])
def test_machine_code_runs_only_with_tested_pairs_of_versions(monkeypatch, llvmlite):
    monkeypatch.setattr(toolchain, "versions", lambda: ["0.61.2", llvmlite])
    assert toolchain.is_tested.__wrapped__() == (llvmlite == "0.44.0")
