"""The measurements of Katsigiannis et al.: Kruskal's loop by density and threads, and who rejects.

Their graphs have 100 thousand and a million vertices, and their times leave out the sort. So do
these: a run's seconds are those of the stage that joins. Runs take turns in one process, on warm
kernels and memory.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

BENCHMARKS = Path(__file__).parents[1]
sys.path.insert(0, str(BENCHMARKS))

import figures  # noqa: E402  # found there
import plot  # noqa: E402
from machine import about, pinned  # noqa: E402
from solve_one import checksum  # noqa: E402

import graphs  # noqa: E402
from mstflow import minimum_spanning_forest  # noqa: E402
from mstflow.primitives.memory import empty  # noqa: E402

LOOPS = {"kruskal": "join_by_weight", "kruskal-helpers": "join_with_helpers"}
GRAPHS = [
    *(f"random:n={n},m={density * n}" for n in (10**5, 10**6) for density in (5, 10, 20)),
    *(f"rmat:scale={scale},edges_per_vertex={k}" for scale in (17, 20) for k in (5, 10, 20)),
]


def measure(graph: graphs.Graph, code: str, threads: int) -> dict[str, Any]:
    """Return the seconds of the loop and the sort, the answer, and the shares of helpers.

    `main_share` is the share of the cycle edges that the main thread rejects, as in their figure 7;
    `offloaded` is the share that helpers reject of those in their parts.
    """
    with pinned(threads):
        forest = minimum_spanning_forest(
            graph[:3], num_vertices=graph.n, algorithm=code, backend="numba", threads=threads
        )
    ids, counts, seconds = forest.edge_ids, forest.report.final, forest.report.seconds
    facts = {"seconds": seconds[LOOPS[code]], "sort_seconds": seconds["sort_by_weight"]}
    if counts.get("helper_cycles"):
        is_chosen = np.zeros(len(graph.w), bool)
        is_chosen[ids] = True
        later = np.argsort(graph.w, kind="stable")[len(graph.w) // threads :]
        offered = len(later) - np.count_nonzero(is_chosen[later])
        facts["main_share"] = counts["main_cycles"] / (len(graph.w) - len(ids))
        facts["offloaded"] = counts["helper_cycles"] / offered
    return {**facts, "edges": len(ids), "checksum": checksum(ids)}


def main() -> None:
    """Measure, print the best of each graph, and keep all runs as the runner does."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    add("--graphs", nargs="+", default=GRAPHS)
    add("--threads", nargs="+", type=int, default=[1, 2], metavar="T")
    add("--rounds", type=int, default=7, metavar="K")
    add("--cache", type=Path, default=graphs.CACHE, help="where graphs lie; default: %(default)s")
    kept = BENCHMARKS / "results" / "papers_kruskal_helpers.json"
    add("-o", "--output", type=Path, default=kept)
    picture = BENCHMARKS.parent / "docs" / "images" / "papers-kruskal_helpers.svg"
    add("--plot", type=Path, default=picture, metavar="PICTURE")
    options = parser.parse_args()
    record: dict[str, Any] = {"machine": about(), "reference": "kruskal", "graphs": {}, "runs": []}
    keep = empty(2**20, np.uint8)  # while an array is in use, memory goes from one to the next
    for name in options.graphs:
        graph = graphs.load(graphs.ensure(name, options.cache))
        record["graphs"][name] = {"spec": name, "vertices": graph.n, "edges": len(graph.u)}
        for turn in range(-1, options.rounds):  # the first warms up
            for threads in options.threads:
                for code in LOOPS:
                    place = {"graph": name, "code": code, "threads": threads, "round": turn}
                    run = {**place, **measure(graph, code, threads)}
                    record["runs"] += [run] * (turn >= 0)
        for row in figures.rows(record, name):
            print(name, row.code, row.threads, f"{row.minimum:.4f} s, ratio {row.ratio:.2f}")
    del keep
    options.output.write_text(json.dumps(record, indent=1) + "\n")
    plot.draw(record, options.plot)


if __name__ == "__main__":
    main()
