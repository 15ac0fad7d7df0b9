"""Compares codes on graphs: time, memory and answers, each measurement a fresh process.

In every round all codes take their turn on all graphs, so that a change of the machine's speed
meets all, and each process is pinned to as many processors as it has threads. Linux only. Usage:
python compare.py --help
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import json
import os
import resource
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import codes
import figures
import floor
import numpy as np
from machine import DISTURBED, about, pinned, wait_for_pause, worked
from rich import box
from rich.console import Console
from rich.table import Table

import graphs
from mstflow.errors import MstflowError, OptionError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Facts = dict[str, Any]

SOLVE_ONE = Path(__file__).with_name("solve_one.py")
WORDS = {"seconds": float, "edges": int, "weight": float, "peak": int}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure all codes on all graphs, print a table for each, and keep the runs."""
    parser = _parser()
    options = parser.parse_args(arguments)
    processors = len(os.sched_getaffinity(0))
    try:
        programs = commands(options.codes, options.external)
        for path in filter(None, (options.output, options.plot)):
            if not path.parent.is_dir():
                message = f"{path}: there is no folder {path.parent}"
                raise OptionError(message)
        if options.rounds < 1:
            message = f"--rounds must be at least 1, not {options.rounds}"
            raise OptionError(message)
        if not 1 <= min(options.threads) <= max(options.threads) <= processors:
            message = f"--threads must be 1 to {processors}, the processors there are"
            raise OptionError(message)
        if options.plot and not importlib.util.find_spec("matplotlib"):
            message = "--plot needs matplotlib, which is not installed"
            raise OptionError(message)
        folders = {
            graphs.title(name): graphs.ensure(name, options.cache, options.roads)
            for name in options.graphs
        }
    except MstflowError as error:
        parser.error(str(error))
    record: Facts = {
        "machine": about(),
        "threads": options.threads,
        "rounds": options.rounds,
        "limit": options.limit,
        "reference": next(iter(programs)),
        "floor": [{"threads": t, **floor.rates(t)} for t in options.threads if options.floor],
        "graphs": {name: _describe(name, folder) for name, folder in folders.items()},
        "runs": [],
    }
    failed: set[tuple[str, str, int]] = set()
    for turn in range(options.rounds):
        record["runs"] += _round(turn, folders, programs, options, failed)
        if options.output:  # now, so that little is lost if the rest is stopped
            options.output.write_text(json.dumps(record, indent=1) + "\n")
    console = Console()
    for name in folders:
        _print(console, record, name)
    console.print(_summary(record))
    if options.plot:
        import plot

        plot.draw(record, options.plot)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add = parser.add_argument
    letters = ", ".join([*graphs.LETTERS, graphs.ROADS])
    add("--graphs", nargs="+", default=["E"], help=f"{letters}, a file, or as random:n=1000,m=5000")
    known = ", ".join([*codes.CODES, "mstflow:ALGORITHM[:BACKEND]"])
    add("--codes", nargs="+", default=["mstflow"], help=f"{known}; the first is the reference")
    add(
        "--external",
        action="append",
        default=[],
        metavar="NAME=COMMAND",
        help="run as COMMAND FOLDER with MST_THREADS set; its last line must be "
        "'seconds S [edges K] [weight W] [peak BYTES]'",
    )
    add("--threads", nargs="+", type=int, default=[1], metavar="T")
    add("--rounds", type=int, default=5, metavar="K")
    add("--limit", type=float, metavar="SECONDS", help="for a process, loading included")
    add("--output", type=Path, metavar="JSON", help="where to keep the runs")
    add("--plot", type=Path, metavar="PICTURE", help="draw them: .svg or .png")
    add(
        "--touch",
        type=int,
        default=0,
        metavar="BYTES",
        help="memory to use before each run, where a virtual machine hands it out slowly",
    )
    add(
        "--patience",
        type=float,
        default=0.0,
        metavar="SECONDS",
        help="for each run: to wait until other programs pause, and to repeat what they disturbed",
    )
    add("--cache", type=Path, default=graphs.CACHE, help="where graphs lie; default: %(default)s")
    add("--roads", type=Path, metavar="FILE", help="pace16-NE.gr.xz, for graph N")
    add("--no-floor", dest="floor", action="store_false", help="leave out the memory's speed")
    return parser


def commands(names: Sequence[str], externals: Sequence[str]) -> dict[str, list[str]]:
    """Return by name what is run, less the folder of the graph."""
    named = {}
    for name in names:
        codes.check(name)
        named[name] = [sys.executable, str(SOLVE_ONE), name]
    for text in externals:
        name, _, command = text.partition("=")
        if not name or not command or name in named:
            message = f"--external must be NAME=COMMAND with a name of its own, not {text!r}"
            raise OptionError(message)
        named[name] = shlex.split(command)
    return named


def _describe(name: str, folder: Path) -> Facts:
    u, _, w = (np.load(folder / f"{column}.npy", mmap_mode="r") for column in "uvw")
    return {
        "spec": graphs.LETTERS.get(name, name),
        "vertices": int((folder / "n.txt").read_text()),
        "edges": len(u),
        "ids": str(u.dtype),
        "weights": str(w.dtype),
    }


def _round(
    turn: int,
    folders: Mapping[str, Path],
    commands: Mapping[str, list[str]],
    options: argparse.Namespace,
    failed: set[tuple[str, str, int]],
) -> list[Facts]:
    """Let all codes take their turn on all graphs, but for what `failed`, which is added to."""
    runs: list[Facts] = []
    places = itertools.product(folders, options.threads, commands)
    for graph, threads, code in places:
        if (graph, code, threads) in failed:
            continue
        facts = measure_in_peace([*commands[code], str(folders[graph])], threads, options)
        if "error" in facts:
            failed.add((graph, code, threads))
        runs.append({"graph": graph, "code": code, "threads": threads, "round": turn, **facts})
        what = facts.get("error") or f"{facts['seconds']:.3f} s"
        print(f"round {turn} {graph} T={threads} {code}: {what}", file=sys.stderr)
    return runs


def measure_in_peace(command: list[str], threads: int, options: argparse.Namespace) -> Facts:
    """Measure when other programs pause; while patience lasts, again if they disturbed it."""
    end = time.monotonic() + options.patience
    tries = []
    while True:
        wait_for_pause(end - time.monotonic())
        touch(options.touch)
        tries.append(measure(command, threads, options.limit, options.touch))
        best = min(tries, key=lambda facts: float(facts.get("others", 0)))
        if best.get("others", 0) <= DISTURBED or time.monotonic() >= end:
            return best


def touch(size: int) -> None:
    """Write to so much memory and give it back, so that the next process gets what is in use.

    A virtual machine may have to ask its host for memory that was free for a while, which takes
    ten times as long as the first touch does otherwise and falls on whoever comes first.
    """
    if size:
        program = f"import numpy; numpy.ones({size}, 'u1')"
        subprocess.run([sys.executable, "-c", program], check=True)


def measure(command: list[str], threads: int, limit: float | None, touched: int = 0) -> Facts:
    """Run a program on so many processors: what its last line says, or an error.

    It is told to touch so much memory once more, just before it starts the clock, if it takes long
    to get there. `others` is added: how many processors were at work for other programs meanwhile.
    """
    start, before = time.monotonic(), worked() - _used_by_children()
    try:
        with pinned(threads):
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                env={**os.environ, "MST_THREADS": str(threads), "MST_TOUCH": str(touched)},
                process_group=0,  # so that what it started ends with it
            )
    except OSError as error:
        return {"error": f"cannot be run: {error}"}
    try:
        printed, complaint = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        return {"error": f"passed the limit of {limit:g} s"}
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    if process.returncode < 0:
        return {"error": f"ended by {signal.Signals(-process.returncode).name}"}
    if process.returncode:
        return {"error": f"failed: {_last_line(complaint) or process.returncode}"}
    others = (worked() - _used_by_children() - before) / (time.monotonic() - start)
    return {**_facts(_last_line(printed)), "others": round(max(others, 0.0), 2)}


def _used_by_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _facts(line: str) -> Facts:
    """Read the line that a program ended with: an object of JSON, or pairs of words."""
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


def _print(console: Console, record: Facts, name: str) -> None:
    """Print the figures of a graph, and below them what is to be said about codes."""
    graph, rows = record["graphs"][name], figures.rows(record, name)
    title = (
        f"{name}: {graph['vertices']:,} vertices, {graph['edges']:,} edges, "
        f"{graph['weights']}, ids {graph['ids']}"
    )
    table = _empty_table(title, "min s", "median s", "ratio", "floor", "B/edge", "beyond")
    table.add_column("answer")
    for row in rows:
        numbers = (
            _number(row.minimum, 3),
            _number(row.median, 3),
            _number(row.ratio, 2),
            "-" if row.floor_share is None else f"{row.floor_share:.0%}",
            _number(row.bytes_per_edge, 1),
            _number(row.bytes_beyond, 1),
        )
        table.add_row(row.code, str(row.threads), *numbers, row.verdict)
    console.print(table)
    remarks = [f"{row.code}: {text}" for row in rows for text in row.complaints]
    remarks += [
        f"{row.code} chose {row.solver}" for row in rows if row.solver not in ("", row.code)
    ]
    for remark in dict.fromkeys(remarks):
        console.print(f"  {remark}", markup=False, highlight=False)


def _summary(record: Facts) -> Table:
    reference = record["reference"]
    title = f"Time by that of {reference}: geometric mean over graphs"
    table = _empty_table(title, "ratio", "graphs")
    for (code, threads), (mean, count) in figures.summary(record).items():
        table.add_row(code, str(threads), f"{mean:.2f}", f"{count} of {len(record['graphs'])}")
    return table


def _empty_table(title: str, *headings: str) -> Table:
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("code", overflow="fold")
    for heading in ("T", *headings):
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


if __name__ == "__main__":
    main()
