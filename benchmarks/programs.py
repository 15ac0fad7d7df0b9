"""Measure programs in fresh processes, or calls in this process; all take turns."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from importlib.util import find_spec
from typing import Any

from .machine import pinned, with_bytecode
from .runner.solve_one import touch_memory

Facts = dict[str, Any]
#: For each program, the names and sizes in its row of a record, and the function that runs it.
Runs = Iterable[tuple[Mapping[str, Any], Callable[[], Facts | None]]]

#: Source of a function for programs: `VmRSS` is the memory of a process in bytes, and `VmHWM` its
#: peak. (The peak of `getrusage` may be that of the parent.)
MEMORY = """
from pathlib import Path
def memory(name):
    return 1024 * int(Path("/proc/self/status").read_text().split(name + ":")[1].split()[0])
"""


def is_installed(package: str) -> bool:
    """Return whether a package can be imported."""
    return find_spec(package) is not None


def run(
    program: str,
    *arguments: object,
    threads: int | None = None,
    limit: float | None = None,
    touched: int = 0,
) -> Facts | None:
    """Return the JSON object on the last line that a program prints; None if it was stopped.

    The program is pinned to `threads` processors, and is stopped after `limit` seconds. Before it
    starts, `touched` bytes are written and freed, so that the system has this memory at once.
    """
    touch_memory(touched)
    command = [sys.executable, "-W", "ignore", "-c", program, *map(str, arguments)]
    try:
        with pinned(threads):
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=limit, env=with_bytecode()
            )
    except subprocess.TimeoutExpired:
        return None
    if done.returncode:
        raise RuntimeError(done.stderr)
    facts: Facts = json.loads(done.stdout.splitlines()[-1])
    return facts


def in_turn(runs: Runs, rounds: int) -> list[Facts]:
    """Return a row for each program, with the facts of all rounds as `rounds`."""
    measured: list[tuple[Facts, Callable[[], Facts | None]]]
    measured = [({**about, "rounds": []}, run_one) for about, run_one in runs]
    for _ in range(rounds):
        for row, run_one in measured:
            row["rounds"].append(run_one())
    return [row for row, _ in measured]


def seconds_in_turn(
    calls: Mapping[str, Callable[[], object]], rounds: int, threads: int
) -> dict[str, list[float]]:
    """Return the seconds of each call in all rounds, after a round that is not counted."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    with pinned(threads):
        for turn in range(-1, rounds):
            for name, call in calls.items():
                start = time.perf_counter()
                call()
                seconds[name] += [time.perf_counter() - start] * (turn >= 0)
    return seconds
