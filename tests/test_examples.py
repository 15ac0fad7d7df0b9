"""The examples, and the code in the README and the documentation, run."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def run(program, folder):
    """Run a program with warnings as errors, in a folder of its own."""
    environment = {**os.environ, "MPLBACKEND": "Agg"}
    command = [sys.executable, "-W", "error", program]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def checkout(tmp_path):
    """A folder with a copy of the examples, where they may write."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    return tmp_path


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path, checkout):
    assert run(checkout / "examples" / path.name, checkout)


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_code_of_page(page, checkout):
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    program = checkout / "page.py"
    program.write_text("\n".join(blocks))  # one page is one program
    run(program, checkout)
