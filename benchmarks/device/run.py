"""Run all steps, the most important first, each in a process and within a limit of time.

If a step fails, hangs or breaks the device, the run records this and continues. Each row is written
to a file as soon as it is known.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from mstflow.errors import OptionError

from .. import graphs as graph_list
from .gpu import build_interpreter
from .steps import STEPS, Step

#: Files of the folder: the rows of all steps, a JSON object in each line, and what steps print.
ROWS, LOG = "rows.jsonl", "log.txt"


def measure(
    folder: Path,
    seconds: float,
    threads: Sequence[int],
    names: Sequence[str] = (),
    *,
    is_tiny: bool = False,
    interprets_gpu: bool = False,
) -> Iterator[dict[str, Any]]:
    """Run the named steps, or all; after each, yield `rows`, `seconds` and `failure` of all so far.

    The rows and the log are written to `folder`; earlier ones are replaced. `seconds` limits all
    steps together. `threads` are ascending. `is_tiny` rehearses with the smallest sizes, and
    `interprets_gpu` interprets the kernels of the GPU (`tests/support/interpreted_gpu.py`).
    """
    if unknown := set(names) - {step.name for step in STEPS}:
        known = ", ".join(step.name for step in STEPS)
        message = f"step {min(unknown)!r} is not known; choose from: {known}"
        raise OptionError(message)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ROWS).write_text("")
    end = time.monotonic() + seconds
    finished: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as library, (folder / LOG).open("w") as log:
        environment = dict(os.environ)
        if interprets_gpu:
            environment |= build_interpreter(library) | {"PYTEST_ADDOPTS": "--interpret-gpu"}
        running: list[_Run] = []
        try:
            for step in STEPS:
                if names and step.name not in names:
                    continue
                if not step.is_concurrent:
                    finished |= {run.name: run.finish() for run in running}
                    running.clear()
                limit = min(step.share * seconds, end - time.monotonic())
                options = {**step.options, **(step.tiny if is_tiny else {})}
                options |= {"threads": list(threads)} if step.takes_threads else {}
                run = _Run(step, options, limit, folder / ROWS, log, environment)
                running.append(run)
                if not step.is_concurrent:
                    finished[step.name] = run.finish()
                    running.clear()
                    yield finished
            if running:
                yield finished | {run.name: run.finish() for run in running}
        finally:  # also on an interrupt
            for run in running:
                run.kill()


class _Run:
    """A step in a process, which is killed with its children at the limit."""

    def __init__(
        self,
        step: Step,
        options: dict[str, Any],
        limit: float,
        rows: Path,
        log: IO[str],
        environment: dict[str, str],
    ) -> None:
        self.name, self._rows, self._limit = step.name, rows, limit
        log.write(f"\n=== {step.name}, {limit:.0f} s\n")
        log.flush()
        self._start = time.monotonic()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.device.steps", step.name, rows, json.dumps(options)],
            cwd=graph_list.ROOT,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environment,
            process_group=0,
        )

    def finish(self) -> dict[str, Any]:
        """Wait for the end or the limit."""
        remaining, failure = self._limit - (time.monotonic() - self._start), None
        try:
            self._process.wait(max(remaining, 0))
        except subprocess.TimeoutExpired:
            failure = f"passed its limit of {self._limit:.0f} s"
        self.kill()
        seconds = time.monotonic() - self._start
        rows = [row for row in map(json.loads, self._lines()) if row.pop("step") == self.name]
        if failure is None and (status := self._process.returncode):
            ended = f"ended by {signal.Signals(-status).name}" if status < 0 else f"status {status}"
            failure = rows.pop()["failure"] if rows and "failure" in rows[-1] else ended
        print(f"{self.name}: {len(rows)} rows, {seconds:.0f} s; {failure or 'done'}", flush=True)
        return {"rows": rows, "seconds": round(seconds, 1), "failure": failure}

    def kill(self) -> None:
        """End the step and its children, if it runs."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def _lines(self) -> list[str]:
        """Return the complete lines; the last line of a killed step may be incomplete."""
        return [line for line in self._rows.read_text().splitlines() if line.endswith("}")]
