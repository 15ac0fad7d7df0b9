"""Run the examples and the code on all pages; check that the reference is complete."""

import doctest
import re
import runpy
import shutil
import sys
from pathlib import Path

import pytest
from matplotlib import pyplot

import mstflow

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
CODE = re.compile(r"^```(python|pycon)\n(.*?)^```", re.MULTILINE | re.DOTALL)
PAGES = [
    page
    for page in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
    if CODE.search(page.read_text())
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
    """A page is one program; the output of its sessions (pycon) must match."""
    monkeypatch.chdir(checkout)
    text, names = page.read_text(), {"__name__": "__main__"}
    for block in CODE.finditer(text):
        kind, code = block.groups()
        line = text.count("\n", 0, block.start(2))
        if kind == "python":
            exec(compile("\n" * line + code, page, "exec"), names)
        else:
            session = doctest.DocTestParser().get_doctest(code, names, page.name, str(page), line)
            assert not doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(session).failed


@pytest.mark.parametrize("name", mstflow.__all__)
def test_public_name_is_in_the_reference(name):
    pages = [page.read_text() for page in ROOT.glob("docs/reference/*.md")]
    assert re.search(rf"^::: mstflow\.{name}\b", "\n".join(pages), re.MULTILINE)
