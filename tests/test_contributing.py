"""The rules of CONTRIBUTING.md: every entry of a registry is in the documentation."""

import importlib.util
import itertools
import re
import tomllib
from pathlib import Path

import pytest
import yaml

import mstflow
from mstflow.doors.formats import FORMATS
from mstflow.plugins import registered
from mstflow.primitives import known_backends

ROOT = Path(__file__).parents[1]
LAYERS = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"benchmarks"}
BACKENDS = [name for name in known_backends() if name not in registered("backend", ())]


def read(path):
    return (ROOT / path).read_text()


def modules_of(folder):
    return {path.stem for path in (ROOT / folder).glob("*.py")} - {"__init__"}


def project():
    return tomllib.loads(read("pyproject.toml"))["project"]


def table(page, head):
    """Return the rows of the table whose first column has this head, as lists of cells."""
    lines = iter(read(page).splitlines())
    rows = itertools.dropwhile(lambda line: not line.startswith(f"| {head} |"), lines)
    _head, _rule, *rows = itertools.takewhile(lambda line: line.startswith("|"), rows)
    return [[cell.strip(" `") for cell in row.strip("|").split("|")] for row in rows]


def test_contributing_names_files_that_exist():
    named = re.findall(r"`((?:[\w.-]+/)+[\w.-]*)`", read("CONTRIBUTING.md"))
    assert named
    assert not [path for path in named if not (ROOT / path).exists()]


def test_links_of_pages_lead_to_files():
    folders = [ROOT / name for name in ("benchmarks", "docs", "examples")]
    pages = [*ROOT.glob("*.md"), *(page for folder in folders for page in folder.glob("**/*.md"))]
    links = [
        page.parent / link
        for page in pages
        for link in re.findall(r"\]\(([^)#:]+)(?:#[\w-]+)?\)", page.read_text())
    ]
    assert links
    assert not [str(link) for link in links if not link.exists()]


def test_folders_in_the_layout():
    folders = {str(path.parent.relative_to(ROOT)) for path in ROOT.glob("*/**/__init__.py")}
    package = {name for name in folders if name.partition("/")[0] in LAYERS}
    listed = set(re.findall(r"`([a-z/]+)/`", read("docs/layout.md")))
    assert package <= listed
    assert not [name for name in listed if not (ROOT / name).is_dir()]


def test_algorithms_on_the_pages():
    spec = importlib.util.spec_from_file_location("catalogue", ROOT / "docs" / "catalogue.py")
    catalogue = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(catalogue)
    written = catalogue.files()
    stale = [str(p) for p, text in written.items() if not p.exists() or p.read_text() != text]
    assert not stale, "run `python docs/catalogue.py`"
    sections = written[ROOT / "docs" / "algorithms.md"]
    assert sections.count("\nSource: ") == len(catalogue.NAMES)


def test_stages_in_the_documentation():
    names = [f"strategies.{name}" for name in modules_of("stages/strategies")]
    names += modules_of("stages")
    declaring = {
        value.function.__module__.split(".")[2]
        for module in (importlib.import_module(f"mstflow.stages.{name}") for name in names)
        for value in vars(module).values()
        if isinstance(value, mstflow.Stage)
    }
    _, _, section = read("docs/reference/stages.md").partition("::: mstflow.stages\n")
    listed = re.findall(r"members: \[(.+)\]", section)[0]
    assert set(listed.split(", ")) == declaring


@pytest.mark.parametrize("name", mstflow.strategies())
def test_strategy_in_the_documentation(name):
    values = {option: values for option, values, _ in table("README.md", "option")}
    assert name in re.findall(r"[\w-]+", values["strategy"])
    assert f'"{name}"' in mstflow.minimum_spanning_forest.__doc__
    page, listing = (
        read("docs/strategies.md"),
        mstflow.strategy(name, "boruvka-edgelist").describe(),
    )
    assert f"\n| `{name}` |" in page
    assert f"```text\n{listing}\n```" in page


def test_backends_in_the_documentation():
    assert [name for name, *_ in table("docs/how-to/backend.md", "backend")] == BACKENDS


@pytest.mark.parametrize("kind", FORMATS, ids=lambda kind: kind.name)
def test_format_in_the_documentation(kind):
    page = read("docs/formats.md")
    assert re.search(rf"\b{kind.name}\b", page, re.IGNORECASE)
    assert not [suffix for suffix in kind.suffixes if f"`{suffix}`" not in page]


def test_gate_runs_on_every_declared_python():
    declared = re.findall(r"Python :: (3\.\d+)", "\n".join(project()["classifiers"]))
    gate = yaml.safe_load(read(".github/workflows/gate.yml"))["jobs"]["gate"]
    assert gate["strategy"]["matrix"]["python"] == declared
    assert project()["requires-python"] == f">={declared[0]}"


def test_citation_is_of_this_version():
    citation = yaml.safe_load(read("CITATION.cff"))
    assert citation["version"] == mstflow.__version__
    assert citation["license"] == project()["license"]


@pytest.mark.parametrize("page", ["CHANGELOG.md", "CONTRIBUTING.md"])
def test_pages_of_the_root_are_on_the_site(page):
    assert read(f"docs/{page}") == read(page)
