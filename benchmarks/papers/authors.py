"""The programs of two papers' authors, and the table that compares mstflow with them.

`python -m benchmarks.papers.authors NAME PROGRAM` runs a built program as an external program. NAME
is a key of `PROGRAMS`, and PROGRAM is a path. The input of the program is written first, which is
not timed. The programs need simple, connected graphs and integers as weights.

The times include:

- UMinho: the rounds, from a CSR graph in memory, without its construction.
- parallel-boruvka: the whole algorithm, from an edge list in memory; the mean of ten runs.
- mstflow: the whole call. `without sort and CSR` are only the stages of the rounds.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..graphs import Graph, load

#: The stages before and after the rounds of `boruvka-csr`, which UMinho's time excludes.
AROUND = {"find_signs", "order_weights", "drop_loops", "sort_edges", "build_csr", "sort_forest_ids"}
#: Our algorithms and the programs of their authors, as records name them.
PAIRS = {"boruvka-csr": "UMinho", "boruvka-sorted": "parallel-boruvka"}


def _both_arcs(graph: Graph) -> tuple[Any, ...]:
    u, v = np.append(graph.u, graph.v), np.append(graph.v, graph.u)
    order = np.argsort(u, kind="stable")
    return u[order], v[order], np.append(graph.w, graph.w)[order]


def _uminho(printed: str) -> str:
    milliseconds = float(re.findall(r"([\d.]+)\s+total time", printed)[0])
    doubled = int(re.findall(r"total weight: (\d+)", printed)[0])
    return f"seconds {milliseconds / 1e3} weight {doubled // 2}"


def _parallel_boruvka(printed: str) -> str:
    return f"seconds {int(printed.split()[-1]) / 1e9}"


#: By program, a function that returns the columns of its input, and one that parses its output.
PROGRAMS: dict[str, tuple[Callable[[Graph], tuple[Any, ...]], Callable[[str], str]]] = {
    "UMinho": (_both_arcs, _uminho),
    "parallel-boruvka": (lambda graph: graph[:3], _parallel_boruvka),
}


def main(name: str, program: str, folder: str) -> None:
    """Run a program on the graph of a folder; print its time as `benchmarks` reads it."""
    import pandas  # not needed to write tables

    columns_of, facts_of = PROGRAMS[name]
    graph = load(Path(folder))
    columns = columns_of(graph)
    with tempfile.NamedTemporaryFile("w") as file:
        head = f"{graph.n} {len(columns[0])}"
        Path(file.name).write_text(f"{head}\n")
        pandas.DataFrame(dict(enumerate(columns))).to_csv(
            file.name, sep=" ", header=False, index=False, mode="a"
        )
        command = [program, file.name, os.environ["MST_THREADS"]]
        ended = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    print(facts_of(ended.stdout))


def rows(result: Mapping[str, Any]) -> Iterator[Sequence[str]]:
    """Yield milliseconds of the programs, and the times of our codes divided by them."""
    ours = [f"`{name}` / {program}" for name, program in PAIRS.items()]
    without = f"{ours[0]}, without sort and CSR"
    yield ("graph", "threads", *(f"{each}, ms" for each in PAIRS.values()), *ours, without)
    for graph in result["graphs"]:
        for threads in sorted({run["threads"] for run in result["runs"]}):
            whole, rounds = _medians(result["runs"], graph, threads)
            if not {*PAIRS, *PAIRS.values()} <= whole.keys():
                continue  # without the programs, there is nothing to compare
            ratios = [whole[name] / whole[program] for name, program in PAIRS.items()]
            ratios.append(rounds["boruvka-csr"] / whole["UMinho"])
            times = (f"{whole[program] * 1e3:.0f}" for program in PAIRS.values())
            yield f"`{graph}`", f"{threads}", *times, *(f"{each:.2f}" for each in ratios)


def _medians(
    runs: Sequence[Mapping[str, Any]], graph: str, threads: int
) -> tuple[dict[str, float], dict[str, float]]:
    """Return seconds by code: of the whole call, and of the stages of the rounds."""
    whole: dict[str, list[float]] = {}
    rounds: dict[str, list[float]] = {}
    for run in runs:
        if (run["graph"], run["threads"]) != (graph, threads) or "error" in run:
            continue
        named = re.search(r"algorithm=([\w-]+)", run["code"])
        name = named[1] if named else run["code"]
        whole.setdefault(name, []).append(run["seconds"])
        inner = [s for stage, s in run.get("stages", {}).items() if stage not in AROUND]
        rounds.setdefault(name, []).append(sum(inner))
    medians = statistics.median
    return (
        {name: medians(seconds) for name, seconds in whole.items()},
        {name: medians(seconds) for name, seconds in rounds.items()},
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
