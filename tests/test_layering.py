"""Imports point one way, folders stay small, and no large library is imported early."""

import ast
import functools
import inspect
import sys
import tomllib
import typing
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import mstflow
from processes import run_python

ROOT = Path(__file__).parents[1]
#: Each folder of the package, and the folders that its modules may import from.
LAYERS = {
    "runtime": set(),
    "primitives": {"runtime"},
    "graphs": {"runtime"},
    "doors": {"graphs", "runtime"},
    "stages": {"primitives"},
    "pipeline": {"stages", "primitives", "graphs", "runtime"},
    "forest": {"pipeline", "stages", "primitives", "graphs", "runtime"},
    "queries": {"forest", "pipeline", "stages", "primitives", "graphs", "runtime"},
    "pointsets": {
        "testing",
        "queries",
        "forest",
        "pipeline",
        "stages",
        "primitives",
        "graphs",
        "runtime",
    },
    "testing": {"pipeline", "stages", "primitives", "graphs"},
    "interop": {
        "doors",
        "pointsets",
        "queries",
        "forest",
        "pipeline",
        "primitives",
        "graphs",
        "runtime",
    },
    "commands": {"doors", "queries", "forest", "pipeline", "primitives", "graphs", "runtime"},
}
#: Wings whose results a folder returns: only type checkers import them there.
TYPES = {"forest": {"queries"}}
HEAVY = [
    "cupy",
    "distributed",
    "llvmlite",
    "matplotlib",
    "networkx",
    "numba",
    "pandas",
    "pyarrow",
    "rich",
    "scipy",
    "sklearn",
]
ARRAY_LIBRARIES = {"numpy", "cupy", "numba", "dask"}
LARGEST_FOLDER = 12
#: What a reader must hold to follow a run, besides `solve.py`, and the largest number of lines.
CORE = ("forest", "graphs", "pipeline", "primitives", "runtime", "stages")
SOURCES = {".cu", ".cuh", ".py"}
LARGEST_CORE = 20_000
WINGS = {"doors", "interop", "pointsets", "queries"}
#: Folders with a file for each entry of a registry; they may grow.
REGISTRIES = {"algorithms", "formats", "text"}
MODULES = [path for layer in LAYERS for path in sorted((ROOT / layer).rglob("*.py"))]
OTHERS = [p for name in ("benchmarks", "examples", "tests") for p in (ROOT / name).rglob("*.py")]


def name_of(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(["mstflow", *(part for part in parts if part != "__init__")])


@functools.cache
def parsed(path):
    return ast.parse(path.read_text())


def imports(path, only_types=False):
    """Yield the dotted names that a module imports, or those that only type checkers import."""
    package = ("mstflow", *path.relative_to(ROOT).parts[:-1])
    nodes = {*ast.walk(parsed(path))}
    blocks = [node for node in nodes if isinstance(node, ast.If) and _is_type_checking(node.test)]
    types = {node for block in blocks for node in ast.walk(block)}
    for node in types if only_types else nodes - types:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = list(package[: len(package) - node.level + 1]) if node.level else []
            base += node.module.split(".") if node.module else []
            yield from (".".join([*base, alias.name]) for alias in node.names)


def _is_type_checking(test):
    return isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"


def layers_of(names):
    found = [name.split(".") for name in names]
    return {name[1] for name in found if name[0] == "mstflow" and name[1] in LAYERS}


@pytest.mark.parametrize("layer", LAYERS)
def test_imports_point_one_way(layer):
    for path in sorted((ROOT / layer).rglob("*.py")):
        found = [*imports(path)]
        allowed = {layer} | LAYERS[layer]
        assert layers_of(found) <= allowed, path
        assert layers_of(imports(path, only_types=True)) <= allowed | TYPES.get(layer, set()), path
        if "stages" in path.parts:
            assert not {name.partition(".")[0] for name in found} & ARRAY_LIBRARIES, path


def test_imports_have_no_cycle():
    names = {name_of(path): path for path in [*MODULES, *ROOT.glob("*.py")]}
    graph = {}
    for name, path in names.items():
        found = [*imports(path), *imports(path, only_types=True)]
        targets = (each if each in names else each.rpartition(".")[0] for each in found)
        graph[name] = {target for target in targets if target in names} - {name}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" <- ".join(error.args[1]))


def test_folders_are_small():
    for folder in {path.parent for path in MODULES}:
        files = [path for path in folder.iterdir() if path.is_file()]
        assert folder.name in REGISTRIES or len(files) <= LARGEST_FOLDER, folder


def test_the_core_is_small_and_imports_no_wing():
    files = [ROOT / "solve.py"]
    for folder in CORE:
        files += [path for path in (ROOT / folder).rglob("*.*") if path.suffix in SOURCES]
        assert not LAYERS[folder] & WINGS
    assert not layers_of(imports(ROOT / "solve.py")) & WINGS
    assert sum(len(path.read_text().splitlines()) for path in files) <= LARGEST_CORE


def test_the_first_line_states_the_purpose():
    for path in [*MODULES, *ROOT.glob("*.py"), *OTHERS]:
        assert ast.get_docstring(parsed(path)).splitlines()[0].endswith("."), path


def test_every_folder_is_in_the_distribution():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    data = settings["package-data"]["mstflow"]
    folders = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"benchmarks"}
    assert {layer for layer in folders if f"{layer}/**/*.py" in data} == folders == set(LAYERS)


def test_root_modules_are_not_named_like_the_standard_library():
    names = {path.stem for path in ROOT.glob("*.py")} | set(LAYERS)
    assert not names & (sys.stdlib_module_names - {"__main__"})


def test_import_loads_nothing_heavy():
    program = "import sys; from mstflow import *;"
    program += f"print([name for name in {HEAVY} if name in sys.modules])"
    assert run_python("-c", program).stdout == "[]\n"


@pytest.mark.parametrize("name", mstflow.__all__)
def test_annotations_can_be_evaluated(name):
    """Tools read them, also those with classes of a wing."""
    value = getattr(mstflow, name)
    members = [value, *vars(value).values()] if inspect.isclass(value) else [value]
    for member in members:
        if inspect.isfunction(member):
            typing.get_type_hints(member)
