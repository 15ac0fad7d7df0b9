"""Measure calls in this process and programs in fresh processes; all cases take turns."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import numpy as np

from .graphs import ROOT
from .tables import Table

Row = dict[str, Any]
Facts = dict[str, Any]
#: The names of a measurement in its row, and a function that measures once.
Case = tuple[Row, Callable[[], Facts]]

#: More memory than a program takes in addition to its input, except on the largest graphs.
TOUCHED_BYTES = 2**30


@dataclass(frozen=True)
class Benchmark:
    """A benchmark: a function that yields rows, and its options.

    `tiny` replaces options to try the benchmark in seconds. `record` without names measures the
    `usual` benchmarks. `tables` are those that pages can quote.
    """

    about: str
    rows: Callable[..., Iterable[Row]]
    options: Mapping[str, Any]
    tiny: Mapping[str, Any]
    tables: Mapping[str, Table] = field(default_factory=dict)
    usual: bool = True


def in_turn(
    cases: Iterable[Case], rounds: int, budget: float | None = None, warm_ups: int = 0
) -> Iterator[Row]:
    """Yield a row for each case: its names, and a list of each fact with a value for each round.

    In every round all cases run in turn, so a change of the machine's speed affects all of them.
    Warm-ups are rounds that are not recorded. A case that fails, or whose seconds exceed `budget`
    together, has no further rounds.
    """
    rows = [({**names}, measure) for names, measure in cases]
    running = list(rows)
    for turn in range(-warm_ups, rounds):
        for row, measure in list(running):
            facts = measure()
            if turn < 0:
                continue
            for name, fact in facts.items():
                row.setdefault(name, []).append(fact)
            is_over = budget is not None and sum(row.get("seconds", ())) > budget
            if "error" in facts or is_over:
                running.remove((row, measure))
    yield from (row for row, _ in rows)


def timed(
    call: Callable[[], object],
    threads: int | None = None,
    finish: Callable[[], object] = lambda: None,
) -> Callable[[], Facts]:
    """Return a function that times a call, and `finish`, on the first `threads` processors."""

    def measure() -> Facts:
        with pinned(threads):
            used, start = processor_seconds(), time.perf_counter()
            call()
            finish()
            seconds = time.perf_counter() - start
            return {"seconds": seconds, "processor_seconds": processor_seconds() - used}

    return measure


def program(
    text: str,
    *arguments: object,
    threads: int | None = None,
    limit: float | None = None,
    touched: int = TOUCHED_BYTES,
) -> Callable[[], Facts]:
    """Return a function that runs a program of Python in a fresh process; see `run`."""
    command = [sys.executable, "-W", "ignore", "-c", text, *map(str, arguments)]

    def measure() -> Facts:
        touch_memory(touched)
        return run(command, threads, limit)

    return measure


def run(command: Sequence[str], threads: int | None = None, limit: float | None = None) -> Facts:
    """Run a command on `threads` processors; return the facts on its last line, or an `error`.

    The command and its children are killed after `limit` seconds.
    """
    environment = {**os.environ, "MST_THREADS": str(threads or os.cpu_count())}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # it would prevent Python from storing code
    pipes = dict.fromkeys(("stdout", "stderr"), subprocess.PIPE)
    options: dict[str, Any] = {**pipes, "text": True, "errors": "replace", "env": environment}
    try:
        with pinned(threads), process_group(command, **options) as process:
            output, errors = process.communicate(timeout=limit)
    except OSError as error:
        return {"error": f"cannot be run: {error}"}
    except subprocess.TimeoutExpired:
        return {"error": f"passed the limit of {limit:g} s"}
    if status := process.returncode:
        return {
            "error": ending(status) if status < 0 else f"failed: {_last_line(errors) or status}"
        }
    line = _last_line(output)
    try:
        return dict(json.loads(line))
    except (ValueError, TypeError):
        return {"error": f"printed {line!r}, not an object of JSON"}


@contextmanager
def process_group(command: Sequence[Any], **options: Any) -> Iterator[subprocess.Popen[Any]]:
    """Start a command in the repository's root; kill it and its children if it runs at the end."""
    with subprocess.Popen([*map(str, command)], cwd=ROOT, process_group=0, **options) as process:
        try:
            yield process
        finally:
            kill(process)


def kill(process: subprocess.Popen[Any]) -> None:
    """End a process that leads a group, and its children, if it runs."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def ending(status: int) -> str:
    """Return how a process ended, by the status that Python reports."""
    return f"ended by {signal.Signals(-status).name}" if status < 0 else f"status {status}"


def is_installed(package: str) -> bool:
    """Return whether a package can be imported."""
    return find_spec(package) is not None


def touch_memory(size: int = TOUCHED_BYTES) -> None:
    """Write to memory and free it.

    A virtual machine may give freed memory back to its host, and the first write to a page that the
    host must provide takes much longer.
    """
    np.ones(size, np.uint8)


def processor_seconds() -> float:
    """Return the processor time of this process and of its finished children."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


@contextmanager
def pinned(threads: int | None) -> Iterator[None]:
    """Restrict this thread, and the threads and processes it starts, to the first processors."""
    processors = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(processors)[:threads])
    try:
        yield
    finally:
        os.sched_setaffinity(0, processors)


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1].strip() if lines else ""
