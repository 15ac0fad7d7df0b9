"""Run all steps, the most important first, each in a process and within a limit of time.

If a step fails, hangs or breaks the device, the run records this and continues.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from mstflow.errors import OptionError

from ..measure import ending, kill, process_group
from .steps import STEPS, Step


def measure(
    folder: Path, seconds: float, names: Sequence[str] = (), *, is_tiny: bool = False
) -> Iterator[dict[str, Any]]:
    """Run the named steps, or all; yield `rows`, `seconds` and `failure` of all finished steps.

    `seconds` limits all steps together. Each step writes its rows to the file `NAME.jsonl` of the
    folder as soon as they are known, and prints to `NAME.log`. `is_tiny` rehearses with the
    smallest sizes.
    """
    if unknown := set(names) - {step.name for step in STEPS}:
        known = ", ".join(step.name for step in STEPS)
        message = f"step {min(unknown)!r} is not known; choose from: {known}"
        raise OptionError(message)
    folder.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + seconds
    chosen = [step for step in STEPS if not names or step.name in names]
    finished: dict[str, Any] = {}
    for _, steps in itertools.groupby(chosen, lambda step: step.is_concurrent or step.name):
        with ExitStack() as running:
            started = [(s, running.enter_context(_started(s, folder, is_tiny))) for s in steps]
            start = time.monotonic()
            for step, process in started:
                limit = max(min(step.share * seconds, end - start), 0)
                rows = folder / f"{step.name}.jsonl"
                finished[step.name] = outcome = _finish(process, start, limit, rows)
                facts = f"{len(outcome['rows'])} rows, {outcome['seconds']:.0f} s"
                print(f"{step.name}: {facts}; {outcome['failure'] or 'done'}", flush=True)
                yield finished


@contextmanager
def _started(step: Step, folder: Path, is_tiny: bool) -> Iterator[subprocess.Popen[Any]]:
    options = {**step.options, **(step.tiny if is_tiny else {})}
    rows = folder / f"{step.name}.jsonl"
    rows.write_text("")
    program = [sys.executable, "-m", "benchmarks.device.steps"]
    command = [*program, step.name, rows.resolve(), json.dumps(options)]
    with (
        (folder / f"{step.name}.log").open("w") as log,
        process_group(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log) as process,
    ):
        yield process


def _finish(
    process: subprocess.Popen[Any], start: float, limit: float, path: Path
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
    rows = [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")]
    if failure is None and process.returncode:
        is_stated = rows and "failure" in rows[-1]
        failure = rows.pop()["failure"] if is_stated else ending(process.returncode)
    return {"rows": rows, "seconds": round(seconds, 1), "failure": failure}
