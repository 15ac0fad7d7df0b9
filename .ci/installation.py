"""Install mstflow in several ways in one environment, and solve with kernels after each step.

Run it by an interpreter whose environment has the dependencies of the extra `cpu`.
"""

import os
import shutil
import stat
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterable
from pathlib import Path

CHECKOUT = Path(__file__).parents[1]
PIP = sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"
#: Solves a path of three edges.
SOLVE = """
import mstflow
graph = [0, 1, 2, 0], [1, 2, 3, 3], [1, 2, 3, 4]
forest = mstflow.minimum_spanning_forest(graph, algorithm="prim", backend="numba")
assert forest.edge_ids.tolist() == [0, 1, 2], forest.edge_ids
print(mstflow.__file__)
"""


class Environment:
    """A virtual environment that lacks only mstflow."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.cache = folder, folder / "cache"
        self.sources, self.venv = folder / "sources", folder / "venv"
        ignored = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info", "build", "results")
        shutil.copytree(CHECKOUT, self.sources, ignore=ignored)
        run([sys.executable, "-m", "venv", "--without-pip", self.venv], {})
        self.python = self.venv / "bin" / "python"
        paths = {"base": str(self.venv), "platbase": str(self.venv)}
        self.packages = Path(sysconfig.get_path("purelib", vars=paths))
        # Folders in such a file are searched for packages, but not for further such files: so an
        # editable mstflow beside the dependencies is not found.
        found = [path for path in sys.path if path.endswith("-packages")]
        (self.packages / "dependencies.pth").write_text("\n".join(found))

    def pip(self, *arguments: object) -> None:
        """Run pip for this environment."""
        print("+ pip", *arguments, flush=True)
        run([*PIP[:3], "--python", self.python, *PIP[3:], *arguments], {"XDG_CACHE_HOME": None})

    def solve(self, package: Path, **variables: str | None) -> set[Path]:
        """Solve with the mstflow in the folder `package`; return the new files of kernels."""
        print("+ solve", *(f"{name}={value}" for name, value in variables.items()), flush=True)
        before, kernels = files(self.venv, self.sources), set(files(self.cache))
        found = self.run_python(SOLVE, **variables)
        assert found == f"{package / '__init__.py'}\n", found
        assert files(self.venv, self.sources) == before
        return set(files(self.cache)) - kernels

    def run_python(self, program: str, **variables: str | None) -> str:
        """Return the output of a program, which runs outside the sources."""
        variables = {"XDG_CACHE_HOME": str(self.cache), "PYTHONDONTWRITEBYTECODE": "1", **variables}
        return run([self.python, "-c", program], variables, cwd=self.folder)


def run(command: Iterable[object], variables: dict[str, str | None], **options: Path) -> str:
    """Run a command; return its output. A variable of the environment that is None is not set."""
    everything = {**os.environ, "NUMBA_CACHE_DIR": None, "PYTHONPATH": None, **variables}
    environment = {name: value for name, value in everything.items() if value is not None}
    words = [str(word) for word in command]
    return subprocess.run(
        words, env=environment, stdout=subprocess.PIPE, text=True, check=True, **options
    ).stdout


def files(*folders: Path) -> dict[Path, int]:
    """Return the files below some folders, and when each was changed."""
    found = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    return {path: path.stat().st_mtime_ns for path in found}


def make_read_only(folder: Path) -> None:
    """Take the permission to write from everything in a folder."""
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode & ~(stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH))


def check(folder: Path) -> None:
    """Go through all installations in a new environment."""
    here = Environment(folder)
    installed, sources = here.packages / "mstflow", here.sources
    install = "install", "--no-deps", "--force-reinstall"

    here.pip(*install, sources)
    assert here.solve(installed), "no kernel was stored"
    assert not here.solve(installed), "kernels were not found again"
    here.pip(*install, "-e", sources)
    assert here.solve(sources), "kernels of another installation were taken"
    here.pip("uninstall", "-y", "mstflow")
    assert not installed.exists()
    found = here.run_python("import importlib.util as u; print(u.find_spec('mstflow'))")
    assert found == "None\n", found
    here.pip(*install, sources)
    # Numba would compile for files with other times, and overwrite kernels that others may load.
    assert here.solve(installed), "kernels of an earlier installation were overwritten"
    assert not here.solve(installed), "kernels were not found again"

    print("+ upgrade a function that kernels of other files call", flush=True)
    with (sources / "runtime" / "intrinsics.py").open("a") as file:
        file.write("# A newer version.\n")
    here.pip(*install, sources)
    assert here.solve(installed), "kernels of an older version were taken"

    print("+ make the installation read-only", flush=True)
    make_read_only(here.venv)
    assert not here.solve(installed)
    nowhere = dict.fromkeys(("HOME", "XDG_CACHE_HOME"), os.devnull + "/home")
    assert not here.solve(installed, **nowhere)
    assert not here.solve(installed, NUMBA_CACHE_DIR=os.devnull + "/cache")
    chosen = here.cache / "chosen"
    stored = here.solve(installed, NUMBA_CACHE_DIR=str(chosen))
    assert stored
    assert all(path.is_relative_to(chosen) for path in stored)


if __name__ == "__main__":
    work = Path(tempfile.mkdtemp(prefix="mstflow-installation-"))
    try:
        check(work)
    finally:
        run(["chmod", "-R", "u+w", work], {})
        shutil.rmtree(work)
