"""Measure codes in turn, each in a fresh process, in several rounds."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mstflow.errors import OptionError

from .. import graphs as graph_list
from ..machine import OtherPrograms, pinned
from . import codes as code_list

Facts = dict[str, Any]

SOLVE_ONE = [sys.executable, "-m", "benchmarks.runner.solve_one"]
#: The last line of another program's output: pairs of these words and their values.
WORDS = {"seconds": float, "edges": int, "weight": float, "peak": int}
SAMPLE_SECONDS = 0.02  # between two samples of the memory of a process and its children


def compare(
    graphs: Sequence[str],
    codes: Sequence[str],
    threads: Sequence[int] = (1,),
    rounds: int = 5,
    budget: float | None = None,
    limit: float | None = None,
    on_disk: bool = False,
    external: Mapping[str, str] | None = None,
    run: Callable[..., Facts] | None = None,
) -> Facts:
    """Measure all codes on all graphs in turn, so a change of the machine's speed affects all.

    The first code is the reference of ratios. Each process is pinned to a number of processors from
    `threads`; codes that use one thread are only measured with the first number. After `budget`
    seconds of solving, the measurement of a code on a graph ends; a process is killed after `limit`
    seconds. `on_disk` leaves the graph on disk, and measures the memory of a process and its
    children. `external` has commands of other programs by name. `run` runs a command; by default it
    is `measure`.

    Return `graphs`, with sizes and dtypes by name, `reference`, and `runs`, all raw measurements.
    """
    commands = {code: [*SOLVE_ONE, code] for code in codes}
    commands |= {name: shlex.split(command) for name, command in (external or {}).items()}
    parallel = {name for name in commands if name not in codes or code_list.uses_threads(name)}
    folders = {graph_list.title(name): graph_list.ensure(name) for name in graphs}
    runs: list[Facts] = []
    budgets = {(graph, code): budget for graph in folders for code in commands}
    for turn in range(rounds):
        for graph, code, count in _turns(folders, commands, threads, parallel):
            if (graph, code) not in budgets:
                continue
            command = [*commands[code], str(folders[graph]), *(["on-disk"] if on_disk else [])]
            facts = (run or measure)(command, count, limit, on_disk)
            runs.append({"graph": graph, "code": code, "threads": count, "round": turn, **facts})
            shown = facts.get("error") or f"{facts['seconds']:.4f} s"
            print(f"  {turn + 1}/{rounds} {graph} T={count} {code}: {shown}", file=sys.stderr)
            remaining = budgets[graph, code]
            if remaining is not None:
                budgets[graph, code] = remaining = remaining - facts.get("seconds", 0)
            if "error" in facts or (remaining is not None and remaining <= 0):
                del budgets[graph, code]
    sizes = {name: graph_list.describe(folder) for name, folder in folders.items()}
    return {"graphs": sizes, "reference": next(iter(commands)), "runs": runs}


def _turns(
    folders: Mapping[str, Path],
    commands: Mapping[str, Any],
    threads: Sequence[int],
    parallel: set[str],
) -> Iterator[tuple[str, str, int]]:
    for graph in folders:
        for count in threads:
            for code in commands:
                if code in parallel or count == threads[0]:
                    yield graph, code, count


def measure(
    command: list[str], threads: int, limit: float | None = None, samples_memory: bool = False
) -> Facts:
    """Run a program on `threads` processors; return the facts on its last line, or an error.

    `others` is added: the number of processors that other programs kept busy at the same time. With
    `samples_memory`, `peak` is the memory of the process and its children, sampled from outside.
    """
    start, others = time.monotonic(), OtherPrograms()
    try:
        with pinned(threads):
            process = subprocess.Popen(
                command,
                cwd=graph_list.ROOT,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                env={**os.environ, "MST_THREADS": str(threads)},
                process_group=0,  # so that its children end with it
            )
    except OSError as error:
        return {"error": f"cannot be run: {error}"}
    peak = 0
    try:
        while True:
            if limit is not None and time.monotonic() - start > limit:
                return {"error": f"passed the limit of {limit:g} s"}
            if samples_memory:
                peak = max(peak, _memory(process.pid))
            try:
                output, errors = process.communicate(timeout=SAMPLE_SECONDS)
                break
            except subprocess.TimeoutExpired:
                continue
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    if process.returncode < 0:
        return {"error": f"ended by {signal.Signals(-process.returncode).name}"}
    if process.returncode:
        return {"error": f"failed: {_last_line(errors) or process.returncode}"}
    facts = _facts(_last_line(output)) | {"others": others.busy()}
    return facts | {"peak": peak} if samples_memory else facts


def externals(texts: Sequence[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Split `NAME@VERSION=COMMAND` into the commands and the versions, by name."""
    commands, versions = {}, {}
    for text in texts:
        named, _, command = text.partition("=")
        name, _, version = named.partition("@")
        if not (name and version and command) or name in commands:
            message = (
                f"expected --external NAME@VERSION=COMMAND with a new name, got {text!r}; "
                "VERSION is the commit or release that was built"
            )
            raise OptionError(message)
        commands[name], versions[name] = command, version
    return commands, versions


def _memory(pid: int) -> int:
    """Return the resident bytes of a process and its children; 0 if one of them has just ended."""
    import psutil

    try:
        root = psutil.Process(pid)
        return sum(each.memory_info().rss for each in (root, *root.children(recursive=True)))
    except psutil.NoSuchProcess:
        return 0


def _facts(line: str) -> Facts:
    """Parse the last line of output: an object of JSON, or pairs of words."""
    try:
        if line.startswith("{"):
            return dict(json.loads(line))
        words = line.split()
        pairs = zip(words[::2], words[1::2], strict=True)
        facts = {name: WORDS[name](value) for name, value in pairs}
        if facts["seconds"] > 0:
            return facts
    except (ValueError, KeyError):
        pass
    return {"error": f"printed {line!r}, not 'seconds S ...'"}


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1].strip() if lines else ""
