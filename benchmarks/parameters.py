"""How the parameters of `filter-boruvka` were chosen: its time over values of one, by graph.

All values take turns in one process, on warm kernels and warm memory; the best of the rounds
counts. Usage, for one of the parameters in the pipeline's `values`:

    python parameters.py light_per_vertex 1.0 1.25 1.5 2.0 --graphs E R C --threads 1 2
"""

from __future__ import annotations

import argparse
import ast
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from machine import about, pinned

import graphs
from mstflow import algorithm, minimum_spanning_forest
from mstflow.errors import MstflowError
from mstflow.runtime.memory import keeping_blocks


def study(
    name: str, values: list[Any], graph: graphs.Graph, threads: int, rounds: int
) -> dict[str, float]:
    """Return the least seconds over the rounds for each value, in words."""
    best = dict.fromkeys(map(str, values), np.inf)
    with pinned(threads):
        for _ in range(rounds):
            for value in values:
                pipeline = algorithm("filter-boruvka").given(**{name: value})
                start = time.perf_counter()
                minimum_spanning_forest(
                    graph[:3],
                    num_vertices=graph.n,
                    algorithm=pipeline,
                    backend="numba",
                    threads=threads,
                )
                best[str(value)] = min(best[str(value)], time.perf_counter() - start)
    return best


def main() -> None:
    """Print a line for each graph and number of threads, and keep them as JSON if asked to."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("parameter", choices=sorted(algorithm("filter-boruvka").values))
    parser.add_argument("values", nargs="+", type=ast.literal_eval)
    parser.add_argument("--graphs", nargs="+", default=["E", "R", "C", "K"])
    parser.add_argument("--threads", nargs="+", type=int, default=[1])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cache", type=Path, default=graphs.CACHE)
    parser.add_argument("--output", type=Path, metavar="JSON")
    options = parser.parse_args()
    rows = []
    with keeping_blocks():
        for name in options.graphs:
            try:
                graph = graphs.load(graphs.ensure(name, options.cache))
            except MstflowError as error:
                parser.error(str(error))
            for threads in options.threads:
                found = study(options.parameter, options.values, graph, threads, options.rounds)
                rows.append({"graph": name, "threads": threads, "seconds": found})
                shown = "  ".join(f"{value}: {took * 1e3:.0f}" for value, took in found.items())
                print(f"{name} T={threads} {options.parameter} (ms)  {shown}", flush=True)
    if options.output:
        record = {"parameter": options.parameter, "machine": about(), "rows": rows}
        options.output.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
