"""Graphs on disk: time and memory of the command `solve`, by strategy and partitions.

    python scale.py GRAPH --strategies fold two-scan --partitions 1 4 --output FILE --plot PICTURE

GRAPH is a folder of `.npy` columns. Memory is that of the command and all processes it starts,
looked at from outside, many times a second. The floor is what merely reading the columns twice and
looking two labels of each edge up takes, on as many threads.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from machine import about

from mstflow.graphs.formats.npy import npy_source
from mstflow.graphs.source import BLOCK_EDGES
from mstflow.primitives import array_module

if TYPE_CHECKING:
    from collections.abc import Iterator

GLANCE = 0.02  # seconds

#: What a run is asked for, and the option that lists what to ask for.
_ASKED = {
    "strategy": "strategies",
    "partitions": "partitions",
    "scheduler": "schedulers",
    "threads": "threads",
    "memory": "memory",
}


def measure(command: list[str]) -> dict[str, Any]:
    """Run a command that prints JSON; return that and `peak_bytes` of its process tree."""
    started, peak = time.perf_counter(), 0
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while process.poll() is None:
        peak = max(peak, sum(map(_resident, _tree(process.pid))))
        time.sleep(GLANCE)
    printed, complaint = process.communicate()
    facts = json.loads(printed) if process.returncode == 0 else {"error": complaint.strip()}
    return {**facts, "whole_seconds": time.perf_counter() - started, "peak_bytes": peak}


def _tree(pid: int) -> Iterator[int]:
    yield pid
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        children = [child for task in tasks for child in (task / "children").read_text().split()]
    except OSError:  # it has ended
        return
    for child in children:
        yield from _tree(int(child))


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return 0


def floor(folder: Path, threads: int) -> float:
    """Return the seconds of two readings, the second of which looks up a label for each end."""
    source, ops = npy_source(folder), array_module("numba")
    num_vertices = source.num_vertices or 0
    labels = np.random.default_rng(0).permutation(num_vertices).astype(np.int32)

    def look_up(read: Any) -> None:
        u, v, _ = read()
        ops.gather(labels, u)
        ops.gather(labels, v)

    look_up(next(read for _, read in source.segments[0].reads(1)))  # loads the kernel
    started = time.perf_counter()
    with ThreadPoolExecutor(threads) as team:
        for task in (lambda read: read(), look_up):
            for _ in team.map(task, (read for _, read in source.segments[0].reads(BLOCK_EDGES))):
                pass
    return time.perf_counter() - started


def main() -> None:
    """Measure all combinations, print a line each, keep them all, and draw them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    add("graph", type=Path)
    add("--strategies", nargs="+", default=["two-scan"], metavar="S")
    add("--partitions", nargs="+", type=int, default=[1], metavar="K")
    add("--schedulers", nargs="+", default=["inline"], metavar="W")
    add("--threads", nargs="+", type=int, default=[os.cpu_count() or 1], metavar="T")
    add("--memory", nargs="+", default=[""], metavar="SIZE", help="bounds; none if not given")
    add("--rounds", type=int, default=1, metavar="K")
    add("--no-floor", action="store_true")
    add("--output", type=Path, required=True)
    add("--plot", type=Path, metavar="PICTURE")
    options = parser.parse_args()
    asked = [getattr(options, name) for name in _ASKED.values()]
    choices = list(itertools.product(*asked))
    record: dict[str, Any] = {"machine": about(), "graph": options.graph.name, "runs": []}
    if not options.no_floor:
        record["floor"] = {t: floor(options.graph, t) for t in options.threads}
        print("floor", record["floor"])
    for _, choice in itertools.product(range(options.rounds), choices):
        strategy, partitions, scheduler, threads, memory = choice
        if strategy == "fold" and partitions > 1:
            continue
        command = [sys.executable, "-m", "mstflow", "solve", str(options.graph), "--json"]
        command += ["--backend", "numba", "--strategy", strategy, "--scheduler", scheduler]
        command += ["--partitions", str(partitions), "--threads", str(threads)]
        command += ["--memory", memory] if memory else []
        run = measure(command) | {"asked": dict(zip(_ASKED, choice, strict=True))}
        record["runs"].append(run)
        seconds = run.get("seconds", {}).get("solve")
        print(*choice, run.get("error") or f"{seconds:.2f} s {run['peak_bytes'] / 1e6:.0f} MB")
        options.output.write_text(json.dumps(record, indent=1))
    if options.plot:
        draw(record, options.plot)


def draw(record: dict[str, Any], path: Path) -> None:
    """Draw time and peak memory by partitions, a line for each strategy."""
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    runs = [run for run in record["runs"] if "error" not in run]
    for strategy in dict.fromkeys(run["asked"]["strategy"] for run in runs):
        own = [run for run in runs if run["asked"]["strategy"] == strategy]
        parts = sorted({run["asked"]["partitions"] for run in own})
        at = {part: [run for run in own if run["asked"]["partitions"] == part] for part in parts}
        seconds = [min(run["seconds"]["solve"] for run in at[part]) for part in parts]
        peaks = [min(run["peak_bytes"] for run in at[part]) / 1e9 for part in parts]
        for axes, values in zip(panels, (seconds, peaks), strict=True):
            axes.plot(parts, values, "o-", label=strategy)
    for axes, label in zip(panels, ("seconds", "peak memory, GB"), strict=True):
        axes.set(xscale="log", xlabel="partitions", ylabel=label, ylim=(0, None))
        axes.xaxis.set_major_formatter("{x:g}")
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].legend(frameon=False)
    figure.savefig(path)


if __name__ == "__main__":
    main()
