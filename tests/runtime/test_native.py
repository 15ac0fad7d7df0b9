"""Kernels as machine code: kept, loaded without Numba, and compiled anew when anything changes."""

import importlib
import json
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from mstflow.errors import KernelError
from mstflow.runtime import native
from mstflow.runtime.native import Kernels

pytest.importorskip("numba")

FOLDER = "mstflow.primitives.numba"
MODULE, OTHER = f"{FOLDER}.trees", f"{FOLDER}.kruskal"
PROGRAM = """
import json, sys
import numpy as np
import mstflow
random = np.random.default_rng(1)
graph = *random.integers(0, 999, (2, 9999)).astype(np.int32), random.random(9999, np.float32)
forest = mstflow.minimum_spanning_forest(graph, backend="numba", threads=1)
print(json.dumps(["numba" in sys.modules, forest.edge_ids.tolist()]))
"""


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def forgetful(monkeypatch):
    """What is known of compilers and folders, as a new process would find it."""
    for known in (native._folder, native._compilers):
        known.cache_clear()
    yield
    monkeypatch.undo()
    for known in (native._folder, native._compilers):
        known.cache_clear()


@pytest.mark.usefixtures("home")
def test_what_one_process_compiled_others_load_without_numba():
    command = [sys.executable, "-c", PROGRAM]
    runs = [json.loads(subprocess.check_output(command)) for _ in range(2)]
    assert [loads_numba for loads_numba, _ in runs] == [True, False]
    assert runs[0][1] == runs[1][1]


@pytest.mark.usefixtures("home")
def test_kernels_that_are_kept_or_loaded_pay_for_smaller_graphs():
    kernels, other = Kernels(MODULE), Kernels(OTHER)
    assert not kernels.pay_for(native.LOADED_FROM)
    assert kernels.flatten(np.zeros(1, np.int8)) == []  # of no run's dtype
    assert kernels.pay_for(native.LOADED_FROM)
    assert kernels.pay_for(native.USED_FROM)
    assert not other.pay_for(native.LOADED_FROM)
    assert not Kernels(MODULE).pay_for(native.USED_FROM)


@pytest.mark.usefixtures("forgetful")
def test_what_decides_on_the_code_tells_it_from_other_code(monkeypatch):
    def folder():
        native._folder.cache_clear()
        native._compilers.cache_clear()
        return native._folder(MODULE)

    first = folder()
    assert folder() == first
    assert native._folder(OTHER) != first
    monkeypatch.setenv("NUMBA_CPU_NAME", "generic")
    assert folder() != first
    monkeypatch.undo()
    monkeypatch.setattr("importlib.metadata.version", lambda _: "0.0")
    assert folder() != first
    monkeypatch.undo()
    read = Path.read_text
    monkeypatch.setattr(Path, "read_text", lambda *args, **options: read(*args, **options) + "\n")
    assert folder() != first


def test_no_two_kernels_share_a_name():
    """They are compiled by several processes and linked in one, by names."""
    from mstflow.graphs.text import line_kernels
    from mstflow.primitives import numba

    folder = Path(numba.__file__).parent
    modules = [f"{FOLDER}.{path.stem}" for path in folder.glob("[a-z]*.py")]
    modules.append("mstflow.runtime.intrinsics")
    modules = [line_kernels, *map(importlib.import_module, modules)]
    values = [value for module in modules for value in vars(module).values()]
    functions = {value.py_func for value in values if hasattr(value, "py_func")}
    names = [(function.__module__, function.__qualname__) for function in functions]
    assert len(set(names)) == len(names) > 50


def test_a_kernel_that_cannot_be_compiled(home, monkeypatch):
    monkeypatch.setattr("numba.config.DISABLE_JIT", 1)
    with pytest.raises(KernelError, match="count_roots is not compiled yet, and NUMBA_DISABLE_JIT"):
        Kernels(MODULE).count_roots(0, 9, np.arange(9, dtype=np.uint16))  # of no run's dtype


def test_a_folder_that_cannot_be_searched(monkeypatch):
    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(Path, "stat", refuse)
    monkeypatch.setattr("os.stat", refuse)
    assert not Kernels(MODULE).are_kept()


def test_one_kernel_for_arrays_of_many_kinds():
    kernels = Kernels(MODULE)
    read_only = np.arange(8)[::-1].copy()
    read_only.flags.writeable = False
    out = np.empty(8, int)
    assert Kernels(f"{FOLDER}.elements").gather(0, 8, read_only, np.arange(8), out) == []
    assert out.tolist() == [*range(7, -1, -1)]
    assert kernels.count_roots(0, 0, np.empty(0, np.uint32)) == 0
    assert kernels.count_roots(np.int64(1), 3, np.arange(3, dtype=np.uint8)) == 2
    with pytest.raises(TypeError, match="contiguous"):
        kernels.count_roots(0, 4, np.arange(8)[::2])


@pytest.mark.usefixtures("home")
def test_threads_that_ask_for_a_kernel_at_once_share_it(monkeypatch):
    monkeypatch.setattr(native, "_load", native.functools.cache(native._load.__wrapped__))
    compiled, counts = [], []
    compile_kernel = native._compile
    monkeypatch.setattr(
        native, "_compile", lambda *kernel: compiled.append(kernel) or compile_kernel(*kernel)
    )
    root = np.arange(9, dtype=np.int16)  # of no run's dtype
    threads = [
        threading.Thread(target=lambda: counts.append(Kernels(MODULE).count_roots(0, 9, root)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [9] * 4
    assert len(compiled) == 1
