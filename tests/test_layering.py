"""The architecture: imports point one way, and nothing heavy is loaded before it is used."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LAYERS = {
    "primitives": set(),
    "stages": {"primitives"},
    "graphs": {"primitives"},
    "pipeline": {"primitives", "stages", "graphs"},
}
HEAVY = [
    "cupy",
    "distributed",
    "llvmlite",
    "matplotlib",
    "numba",
    "pandas",
    "pyarrow",
    "rich",
    "scipy",
]
ARRAY_LIBRARIES = {"numpy", "cupy", "numba", "dask"}
MODULES = [path for layer in LAYERS for path in sorted((ROOT / layer).rglob("*.py"))]
OTHERS = [p for name in ("benchmarks", "examples", "tests") for p in (ROOT / name).rglob("*.py")]


def imports(path):
    """Yield what a module imports: layers of this package, and top-level names of others."""
    package = ("mstflow", *path.relative_to(ROOT).parts[:-1])
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            targets = [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = list(package[: len(package) - node.level + 1]) if node.level else []
            base += node.module.split(".") if node.module else []
            targets = [[*base, alias.name] for alias in node.names]
        else:
            continue
        for target in targets:
            if target[0] != "mstflow":
                yield target[0]
            elif target[1] in LAYERS:
                yield "mstflow." + target[1]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_one_way(path):
    layer = path.relative_to(ROOT).parts[0]
    allowed = {f"mstflow.{name}" for name in (layer, *LAYERS[layer])}
    found = set(imports(path))
    assert {name for name in found if name.startswith("mstflow.")} <= allowed
    if layer == "stages":
        assert not found & ARRAY_LIBRARIES


@pytest.mark.parametrize("path", [*MODULES, *ROOT.glob("*.py"), *OTHERS])
def test_first_line_says_what_a_file_is_for(path):
    assert ast.get_docstring(ast.parse(path.read_text())).splitlines()[0].endswith(".")


def test_root_modules_are_not_named_like_the_standard_library():
    names = {path.stem for path in ROOT.glob("*.py")} | set(LAYERS)
    assert not names & (sys.stdlib_module_names - {"__main__"})


def test_import_loads_nothing_heavy():
    program = f"import sys, mstflow; print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "[]\n"
