"""The tests of all primitives on the device: alone, and under compute-sanitizer."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from ..graphs import ROOT

#: The tools of compute-sanitizer.
TOOLS = ("memcheck", "initcheck", "racecheck")
TESTS = ["-v", "--no-shrink", "-p", "no:cacheprovider", "-p", "no:benchmark"]
TESTS += ["tests/primitives/test_conformance.py"]
_OUTCOME = re.compile(r"::(\S+)\s+(PASSED|FAILED|ERROR)|(PASSED|FAILED|ERROR)\s+\S+::(\S+)")
#: Lines by which pytest reports a failed test, and the sanitizer an access or a hazard.
_FAULT = re.compile(r"E   .*|========= (?:Invalid|Uninit|Error|Warning|Program hit|.*hazard).*")


def rows(
    options: Sequence[str] = (), command: Sequence[str] = (), selection: str = "cupy"
) -> Iterator[dict[str, Any]]:
    """Yield the outcome of each test of a primitive, and each fault.

    `options` are those of pytest, `command` is a program that runs it, such as
    ``compute-sanitizer``, and `selection` is pytest's expression of names of tests (``-k``).
    """
    pytest = [sys.executable, "-m", "pytest", *TESTS, *options, "-k", selection]
    with subprocess.Popen(
        [*command, *pytest], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout
        for line in process.stdout:
            print(line, end="", flush=True)
            if match := _OUTCOME.search(line):
                test, outcome = filter(None, match.groups() if match[1] else match.groups()[::-1])
                yield {"test": test, "outcome": outcome}
            elif _FAULT.match(line):
                yield {"fault": line.strip()}
    if process.returncode:
        message = f"{[*command, 'pytest'][0]} ended with status {process.returncode}"
        raise RuntimeError(message)
