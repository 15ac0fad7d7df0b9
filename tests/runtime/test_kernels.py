"""Compiled kernels are stored in one folder for each version of the sources, never beside them."""

import importlib
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numba
import pytest

from mstflow.pointsets.choice import BLOCKS_KERNEL, TREE_KERNEL
from mstflow.primitives import SAMPLE_KERNEL
from mstflow.runtime.kernel_cache import remove_unused, source_key
from processes import run_python

ROOT = Path(__file__).parents[2]
#: Loads a kernel and a function of a user, and prints the folders where Numba stores them.
LOAD = """
import sys
import numpy as np
from mstflow.runtime.kernel_cache import cache_folder
{before}
from mstflow.primitives.compiled.elements import count_up
{after}
sys.path.insert(0, sys.argv[1])
from of_a_user import add
print(count_up.stats.cache_path, add.stats.cache_path)
"""
OF_A_USER = "import numba\n\n@numba.njit(cache=True)\ndef add(a, b):\n    return a + b\n"


def stored_beside_the_sources():
    """Return the files that earlier checkouts stored there; there should be no new ones."""
    return sorted(
        path for name in ("primitives", "runtime") for path in (ROOT / name).rglob("*.nb?")
    )


def folders(tmp_path, before="", after="", **variables):
    """Return where a process with these environment variables stores a kernel and a function."""
    user = tmp_path / "user"
    user.mkdir(exist_ok=True)
    (user / "of_a_user.py").write_text(OF_A_USER)
    variables = {"NUMBA_CACHE_DIR": "", "XDG_CACHE_HOME": str(tmp_path / "cache"), **variables}
    program = LOAD.format(before=before, after=after)
    beside = stored_beside_the_sources()
    done = run_python("-c", program, user, variables=variables)
    assert (done.returncode, done.stderr) == (0, "")
    assert stored_beside_the_sources() == beside
    return done.stdout.split()


def test_kernels_are_stored_in_the_cache_folder_of_the_user(tmp_path):
    kernels, users = folders(tmp_path, after="count_up(0, 3, np.arange(3))")
    parent = tmp_path / "cache" / "mstflow" / "numba"
    assert Path(kernels).parents[1] == parent
    assert parent.stat().st_mode & 0o777 == 0o700
    assert list(Path(kernels).glob("elements.count_up-*.nbc"))
    assert users == str(tmp_path / "user" / "__pycache__")  # Numba's setting is restored


def test_the_environment_overrides_the_folder(tmp_path):
    chosen = tmp_path / "chosen"
    kernels, users = folders(tmp_path, NUMBA_CACHE_DIR=str(chosen))
    assert Path(kernels).parents[1] == chosen / "mstflow"
    assert Path(users).parent == chosen


@pytest.mark.parametrize(
    ("before", "variables"),
    [
        ("", {"XDG_CACHE_HOME": "/dev/null/home"}),
        ("", {"NUMBA_CACHE_DIR": "/dev/null/chosen"}),
        # The folder is lost after it was found to be usable.
        ("import shutil; cache_folder().rename(sys.argv[1] + '/lost'); cache_folder().touch()", {}),
    ],
)
def test_without_a_folder_kernels_are_compiled_in_each_process(tmp_path, before, variables):
    assert folders(tmp_path, before, **variables)[0] == "None"


@pytest.fixture
def sources(tmp_path):
    for name in ("pointsets", "primitives/compiled", "runtime", "stages"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "module.py").write_text("")
    return tmp_path


def test_a_change_of_any_source_of_kernels_changes_the_key(sources):
    keys = {source_key(sources)}
    for name in (
        "pointsets/module.py", "primitives/compiled/module.py", "primitives/new.py",
        "runtime/module.py",
    ):  # fmt: skip
        (sources / name).write_text("changed = True\n")
        assert source_key(sources) not in keys
        keys.add(source_key(sources))
    (sources / "stages" / "module.py").write_text("changed = True\n")
    assert source_key(sources) in keys


def test_checkouts_have_their_own_keys(sources, tmp_path):
    before = source_key(sources)
    assert source_key(sources.rename(tmp_path.with_name(f"{tmp_path.name}-moved"))) != before


def test_unused_folders_are_removed(tmp_path):
    for name, days in (("old", 31), ("new", 29)):
        (tmp_path / name / "kernels").mkdir(parents=True)
        used = time.time() - 86_400 * days
        os.utime(tmp_path / name, (used, used))
    remove_unused(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["new"]


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("mstflow.primitives.compiled.kruskal", SAMPLE_KERNEL),
        ("mstflow.pointsets.primitives.compiled.blocks", BLOCKS_KERNEL),
        ("mstflow.pointsets.primitives.compiled.search", TREE_KERNEL),
    ],
)
def test_the_cache_is_asked_for_kernels_that_exist(module, name):
    assert numba.extending.is_jitted(getattr(importlib.import_module(module), name))


SOLVE_WITHOUT_KERNELS = """
import sys
import numpy as np
import mstflow
u = np.arange(2_000_000)
assert mstflow.minimum_spanning_forest((u, u // 2, u), memory="4GB").report.plan.backend == "numpy"
assert "numba" not in sys.modules
"""


def test_a_solve_without_kernels_does_not_import_numba(tmp_path):
    """Its time and its memory would count for nothing."""
    done = run_python(
        "-c", SOLVE_WITHOUT_KERNELS, variables={"NUMBA_CACHE_DIR": str(tmp_path / "empty")}
    )
    assert (done.returncode, done.stderr) == (0, "")


#: Compiles a kernel for an array of the dtype of its number when all processes have compiled it.
COMPILE_AT_ONCE = """
import sys, time
from pathlib import Path
import numpy as np
from numba.core import event

class WaitForOthers(event.Listener):
    def on_start(self, event): pass
    def on_end(self, event):
        if event.data["dispatcher"].py_func.__name__ == "count_up":
            Path(sys.argv[2], sys.argv[1]).touch()
            while len(list(Path(sys.argv[2]).iterdir())) < 8:
                time.sleep(0.0001)

event.register("numba:compile", WaitForOthers())  # is called before the listener of mstflow
from mstflow.primitives.compiled.elements import count_up
count_up(0, 3, np.empty(3, "bhilBHIL"[int(sys.argv[1])]))
"""
#: Loads all of them.
LOAD_ALL = """
import numpy as np
from mstflow.primitives.compiled.elements import count_up
for dtype in "bhilBHIL":
    out = np.full(3, 9, dtype)
    count_up(0, 3, out)
    assert out.tolist() == [0, 1, 2]
assert not count_up.stats.cache_misses, count_up.stats
"""


def test_processes_that_compile_at_once_store_all_versions(tmp_path):
    """Numba's index has no lock, so versions were lost, or named the code of other types."""
    variables = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    (tmp_path / "compiled").mkdir()

    def compile_one(number):
        return run_python(
            "-c", COMPILE_AT_ONCE, number, tmp_path / "compiled", variables=variables, timeout=600
        )

    with ThreadPoolExecutor(8) as pool:
        assert [(done.returncode, done.stderr) for done in pool.map(compile_one, range(8))] == [
            (0, "")
        ] * 8
    done = run_python("-c", LOAD_ALL, variables=variables)
    assert (done.returncode, done.stderr) == (0, "")


#: Forks while it stores a kernel; then another process stores one.
FORK_WHILE_STORING = """
import os, sys, time
from mstflow.runtime.kernel_cache import cache_folder, storing
from mstflow.runtime.scratch import LOCK, try_lock
end, write = os.pipe()
with storing():
    if not os.fork():
        os.close(write)
        os.read(end, 1)  # until the parent ends
        os._exit(0)
file = os.open(cache_folder() / LOCK, os.O_RDWR)
print(try_lock(file))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_does_not_keep_the_lock_of_the_cache(tmp_path):
    """Each kernel would be stored after ten seconds only, as long as the process runs."""
    done = run_python("-c", FORK_WHILE_STORING, variables={"NUMBA_CACHE_DIR": str(tmp_path)})
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")


REPORT_STEPS = """
import numpy as np
import mstflow
u = np.arange(1000)
steps = []
progress = lambda step, done, total: steps.append(step)
options = {"algorithm": "prim", "backend": "numba"}  # compiles few kernels
mstflow.minimum_spanning_forest((u, u // 2, u), progress=progress, **options)
print(steps.count("compiling kernels, once"))
"""


def test_compiling_is_reported_once(tmp_path):
    def reports():
        variables = {"NUMBA_CACHE_DIR": str(tmp_path)}
        return int(run_python("-c", REPORT_STEPS, variables=variables).stdout)

    assert reports() > 0
    assert reports() == 0


def test_kernels_of_others_without_a_module():
    namespace = {"__name__": None}
    exec("def add(x): return x + 1", namespace)
    assert numba.njit(namespace["add"])(1) == 2
