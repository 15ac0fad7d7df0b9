"""Run all steps, the most important first, each in a process and within a limit of time.

If a step fails, hangs or breaks the device, the run records this and continues. Each row is written
to a file as soon as it is known.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from mstflow.errors import OptionError

from ..measure import ending, kill, process_group
from .gpu import build_interpreter
from .steps import STEPS

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
    """Run the named steps, or all; yield `rows`, `seconds` and `failure` of all finished steps.

    The rows and the log are written to `folder`; earlier ones are replaced. `seconds` limits all
    steps together. `threads` are ascending. `is_tiny` rehearses with the smallest sizes, and
    `interprets_gpu` interprets the kernels of the GPU (`tests/support/interpreted_gpu.py`).
    """
    if unknown := set(names) - {step.name for step in STEPS}:
        known = ", ".join(step.name for step in STEPS)
        message = f"step {min(unknown)!r} is not known; choose from: {known}"
        raise OptionError(message)
    folder.mkdir(parents=True, exist_ok=True)
    for file in (ROWS, LOG):
        (folder / file).write_text("")
    end = time.monotonic() + seconds
    chosen = [step for step in STEPS if not names or step.name in names]
    finished: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as library:
        environment = dict(os.environ)
        if interprets_gpu:
            environment |= build_interpreter(library) | {"PYTEST_ADDOPTS": "--interpret-gpu"}

        for _, steps in itertools.groupby(chosen, lambda step: step.is_concurrent or step.name):
            with ExitStack() as running, (folder / LOG).open("a") as log:
                started = []
                for step in steps:
                    options = {**step.options, **(step.tiny if is_tiny else {})}
                    options |= {"threads": list(threads)} if step.takes_threads else {}
                    limit = max(min(step.share * seconds, end - time.monotonic()), 0)
                    log.write(f"\n=== {step.name}, {limit:.0f} s\n")
                    log.flush()
                    module = ["-m", "benchmarks.device.steps", step.name]
                    command = [sys.executable, *module, folder / ROWS, json.dumps(options)]
                    streams = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
                    group = process_group(command, **streams, env=environment)
                    started.append((step.name, limit, running.enter_context(group)))
                start = time.monotonic()
                for name, limit, process in started:
                    finished[name] = _finish(name, process, start, limit, folder / ROWS)
                    yield finished


def _finish(
    name: str, process: subprocess.Popen[Any], start: float, limit: float, path: Path
) -> dict[str, Any]:
    """Wait for the end of a step, or kill it at its limit; return its rows."""
    failure = None
    try:
        process.wait(max(start + limit - time.monotonic(), 0))
    except subprocess.TimeoutExpired:
        failure = f"passed its limit of {limit:.0f} s"
        kill(process)
    seconds = time.monotonic() - start
    # The last line of a killed step may be incomplete.
    lines = (line for line in path.read_text().splitlines() if line.endswith("}"))
    rows = [row for row in map(json.loads, lines) if row.pop("step") == name]
    if failure is None and process.returncode:
        is_stated = rows and "failure" in rows[-1]
        failure = rows.pop()["failure"] if is_stated else ending(process.returncode)
    print(f"{name}: {len(rows)} rows, {seconds:.0f} s; {failure or 'done'}", flush=True)
    return {"rows": rows, "seconds": round(seconds, 1), "failure": failure}
