"""Run the examples and the code on all pages; check that the reference is complete."""

import re
import runpy
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from subprocess import CalledProcessError

import pytest
from matplotlib import pyplot

import mstflow
from pages import blocks_of, run_page

ROOT = Path(__file__).parents[1]
#: Without those that need a library that is not installed.
EXAMPLES = [
    path
    for path in sorted((ROOT / "examples").glob("*.py"))
    if path.stem != "jax_backend" or find_spec("jax")
]
#: The pages of users. Commands of `CONTRIBUTING.md` and `benchmarks` need a checkout, and hours.
PAGES = [
    page
    for pattern in ("README.md", "docs/**/*.md", "examples/**/*.md")
    for page in sorted(ROOT.glob(pattern))
    if blocks_of(page) and not page.is_symlink()
]


@pytest.fixture
def checkout(tmp_path):
    """A folder with a copy of the examples, where they may write."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    return tmp_path


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path, checkout, monkeypatch, capsys):
    """Run the program in this process, which has loaded most libraries already."""
    pyplot.switch_backend("agg")
    monkeypatch.chdir(checkout)
    monkeypatch.syspath_prepend(checkout / "examples")
    monkeypatch.setattr(sys, "argv", [path.name])
    runpy.run_path(str(checkout / "examples" / path.name), run_name="__main__")
    pyplot.close("all")
    assert capsys.readouterr().out


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_code_of_page(page, checkout, monkeypatch):
    """Run the code of a page; it writes nothing beside the example data."""
    monkeypatch.chdir(checkout)
    examples = checkout / "examples"
    before = {path: path.stat().st_mtime_ns for path in examples.rglob("*")}
    run_page(page)
    assert {path: path.stat().st_mtime_ns for path in examples.rglob("*")} == before


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("python", "one = 2"),
        ("pycon", ">>> one\n2"),
        ("sh", "false | true"),
        ("console", "$ echo 1.5 one\n2 one\n$ echo two\none"),
        ("sql", "SELECT 1"),
    ],
)
def test_faults_on_a_page_are_found(kind, code, tmp_path):
    page, check = tmp_path / "page.md", "```python\nassert one == 1\n```\n"
    right = f"```python\none = 1\n```\n\n<!-- not run: it fails -->\n```sh\nfalse\n```\n\n{check}"
    page.write_text(right)
    run_page(page)
    page.write_text(f"{right}\n```{kind}\n{code}\n```\n\n{check}")
    with pytest.raises((AssertionError, CalledProcessError, KeyError)):
        run_page(page)


@pytest.mark.parametrize("name", mstflow.__all__)
def test_public_name_is_in_the_reference(name):
    pages = [page.read_text() for page in ROOT.glob("docs/reference/*.md")]
    assert re.search(rf"^::: mstflow\.{name}\b", "\n".join(pages), re.MULTILINE)


def test_what_pages_import_is_in_the_reference():
    """So it is under the policy of versions."""
    pages = "\n".join(page.read_text() for page in ROOT.glob("docs/reference/*.md"))
    for page in PAGES:
        found = re.findall(r"(?m)^from (mstflow\.[\w.]+) import ([^#\n(]+)", page.read_text())
        for module, names in found:
            for name in names.split(","):
                path = f"{module}.{name.strip()}"
                parents = [path[:dot] for dot in (m.start() for m in re.finditer(r"\.", path))]
                is_listed = any(f"::: {part}\n" in f"{pages}\n" for part in (path, *parents[1:]))
                assert is_listed or f"`{path}`" in pages, (page.name, path)


def test_every_stage_is_in_the_reference():
    pages = "\n".join(page.read_text() for page in ROOT.glob("docs/reference/*.md"))
    shown = set()
    for package, options in re.findall(r"^::: mstflow\.(\S+)\n((?: .*\n)*)", pages, re.MULTILINE):
        if "show_submodules: true" in options:
            (members,) = re.findall(r"members: \[(.*)\]", options)
            shown.update(f"{package}.{member}".replace(".", "/") for member in members.split(", "))
    packages = ROOT / "stages/__init__.py", *ROOT.glob("*/stages/__init__.py")
    for path in (module for package in packages for module in package.parent.rglob("*.py")):
        if "\n@stage(" in path.read_text():
            place = path.relative_to(ROOT).with_suffix("")
            assert shown & {str(place), *map(str, place.parents)}, place
