"""Run the code on a page as its reader would: block by block, in the current folder.

A block that no test can run has a comment in the line before it, with the reason:
`<!-- not run: it needs a GPU -->`.
"""

import doctest
import os
import re
import subprocess
import sysconfig
import textwrap
from typing import NamedTuple

BLOCK = re.compile(
    r"^(?: *<!-- not run: (?P<reason>.+) -->\n)?"
    r"(?P<indent> *)```(?P<kind>.*)\n(?P<code>(?s:.*?))^(?P=indent)```$",
    re.MULTILINE,
)


class Block(NamedTuple):
    """A block of code: its language, its text, the line of its fence, and why not to run it."""

    kind: str
    code: str
    line: int
    reason: str | None


def blocks_of(page):
    """Return the blocks of a page, in order."""
    text = page.read_text()
    blocks = [
        Block(
            found["kind"],
            textwrap.dedent(found["code"]),
            text.count("\n", 0, found.start("code")),
            found["reason"],
        )
        for found in BLOCK.finditer(text)
    ]
    marks = re.findall(r"^ *<!-- not run", text, re.MULTILINE)
    assert len(marks) == sum(block.reason is not None for block in blocks), f"{page}: stray marks"
    return blocks


def run_page(page):
    """Run the blocks of a page. Blocks of Python share their names."""
    names = {"__name__": "__main__"}
    for block in blocks_of(page):
        if block.reason is None:
            RUNNERS[block.kind](block, page, names)


def _run_python(block, page, names):
    exec(compile("\n" * block.line + block.code, page, "exec"), names)


def _run_session(block, page, names):
    session = doctest.DocTestParser().get_doctest(
        block.code, names, page.name, str(page), block.line
    )
    failed, _ = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(session, clear_globs=False)
    names.update(session.globs)
    assert not failed, f"{page}, line {block.line}"


def _run_shell(block, page, names):
    _bash(block.code)


def _run_console(block, page, names):
    """Run the commands of a session; compare their output except for figures, which vary."""
    _, *commands = re.split(r"^\$ ", block.code, flags=re.MULTILINE)
    for command, _, printed in (each.partition("\n") for each in commands):
        expected, found = (
            re.sub(r"\d[\d.,]*", "#", text)
            for text in (printed, _bash(command, stdout=subprocess.PIPE))
        )
        assert found == expected, f"{page}, line {block.line}"


def _bash(code, **options):
    """Run code in bash, with the commands of this environment; return its output if it is piped."""
    path = os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]])
    command = ["bash", "-euo", "pipefail", "-c", code]
    environment = {**os.environ, "PATH": path}
    return subprocess.run(command, env=environment, check=True, text=True, **options).stdout


#: How to run a block of each kind.
RUNNERS = {
    "python": _run_python,
    "pycon": _run_session,
    "sh": _run_shell,
    "console": _run_console,
    "text": lambda block, page, names: None,
}
