"""A case: one experiment, determined by its kind, seed and number, and the commands it runs."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from functools import cached_property
from pathlib import Path
from typing import Any


class WrongError(AssertionError):
    """The package did something wrong; the message describes it."""


class Case:
    """One experiment.

    Attributes
    ----------
    rng : random.Random
        The source of every random choice.
    choices : dict
        The random choices, for reports.
    counts : Counter
        The events of this case, for the sums of a campaign.
    """

    def __init__(self, kind: str, seed: int, number: int) -> None:
        self.kind, self.seed, self.number = kind, seed, number
        self.rng = random.Random(f"{kind} {seed} {number}")
        self.choices: dict[str, Any] = {}
        self.counts: Counter[str] = Counter()

    @cached_property
    def folder(self) -> Path:
        """An empty folder of this case."""
        return Path(tempfile.mkdtemp(prefix="soak-"))

    def close(self) -> None:
        """Remove the folder."""
        if "folder" in self.__dict__:
            shutil.rmtree(self.folder, ignore_errors=True)

    def expect(self, what: str, found: Any, expected: Any) -> None:
        """Raise an error unless two values are equal; NaN equals NaN."""
        if found != expected and not (found != found and expected != expected):
            message = f"{what}: expected {expected!r:.300}, found {found!r:.300}"
            raise WrongError(message)


class Command:
    """The command line in a separate process, with its standard error in a file.

    Parameters
    ----------
    case : Case
    arguments : strings and paths
        Of `mstflow`.
    first : str
        Python to run before the command begins.
    name : str
        Distinguishes concurrent commands of one case.
    environment : str
        Variables of the environment.
    """

    def __init__(
        self, case: Case, *arguments: Any, first: str = "", name: str = "", **environment: str
    ) -> None:
        self._messages = case.folder / f"stderr{name}"
        program = f"import sys; {first}\nfrom mstflow.__main__ import main; sys.exit(main())"
        with self._messages.open("wb") as stderr:
            self.process = subprocess.Popen(
                [sys.executable, "-c", program, *map(str, arguments)],
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                env={**os.environ, **environment},
            )

    def runs(self) -> bool:
        """Return whether the command is still running."""
        return self.process.poll() is None

    def kill(self) -> None:
        """Kill the command."""
        self.process.kill()
        self.process.wait()

    def succeeds(self) -> bool:
        """Wait; return whether the command succeeded. Failing without a message is an error."""
        code = self.process.wait()
        check_ending(code, self.message())
        return code == 0

    def message(self) -> str:
        """Return the standard error of the command."""
        return self._messages.read_text(errors="replace")


def check_ending(code: int, message: str) -> None:
    """Check that a command succeeded, or returned 2 and printed one error; warnings are allowed."""
    lines = [line for line in message.splitlines() if not line.startswith("warning: ")]
    is_refusal = code == 2 and len(lines) == 1 and lines[0].startswith("error: ")
    if not is_refusal and (code or lines):
        ended = f"exit code {code}" if code >= 0 else signal.Signals(-code).name
        wrong = f"the command ended with {ended} and said {message[-600:]!r}"
        raise WrongError(wrong)
