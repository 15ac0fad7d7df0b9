"""The measurements of Katsigiannis et al.: Kruskal's loop by density and threads, and who rejects.

Their graphs have 100 thousand and a million vertices, and their times leave out the sort. So do
these: edges are sorted once, and then the stages that join them take turns, in one process.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

BENCHMARKS = Path(__file__).parents[1]
sys.path.insert(0, str(BENCHMARKS))

import figures  # noqa: E402  # found there
import plot  # noqa: E402
from machine import about, pinned  # noqa: E402
from solve_one import checksum  # noqa: E402

import graphs  # noqa: E402
from mstflow.primitives import Backend, array_module  # noqa: E402
from mstflow.primitives.joins import helper_parts  # noqa: E402
from mstflow.runtime.memory import keeping_blocks  # noqa: E402
from mstflow.stages.fields import Edges  # noqa: E402
from mstflow.stages.kruskal import join_with_helpers, sort_by_weight  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable


def join_alone(ops: Any, sorted_edges: Edges, size: int) -> tuple[Any]:
    """Join sorted edges as `join_with_helpers` does, without any."""
    joining, _ = ops.join_in_order(sorted_edges.u, sorted_edges.v, size)
    return (ops.gather(sorted_edges.edge_id, joining),)


LOOPS = {"kruskal": join_alone, "kruskal-helpers": join_with_helpers}
GRAPHS = [
    *(f"random:n={n},m={density * n}" for n in (10**5, 10**6) for density in (5, 10, 20)),
    *(f"rmat:scale={scale},edges_per_vertex={k}" for scale in (17, 20) for k in (5, 10, 20)),
]


def measure(
    loop: Callable[..., Any], edges: Edges, num_vertices: int, threads: int
) -> dict[str, Any]:
    """Return the seconds of a stage over sorted edges, its answer, and the shares of helpers.

    `main_seconds` is the main thread's processor time, which other programs disturb less.
    `main_share` is the share of the cycle edges that the main thread rejects, as in their figure 7;
    `offloaded` is the share that helpers reject of those in their parts.
    """
    ops = array_module(Backend("numba", threads))
    with pinned(threads):
        start, started = time.perf_counter(), time.thread_time()
        chosen, *counts = loop(ops, edges, num_vertices)
        seconds, main_seconds = time.perf_counter() - start, time.thread_time() - started
    facts: dict[str, Any] = {"seconds": seconds, "main_seconds": main_seconds}
    facts |= {"edges": len(chosen), "checksum": checksum(np.sort(chosen))}
    if loop is join_with_helpers and threads > 1:
        main_cycles, helper_cycles = counts
        later = edges.edge_id[helper_parts(len(edges.u), threads)[1][0] :]
        cycles = len(later) - np.count_nonzero(np.isin(later, chosen, kind="table"))
        facts["main_share"] = main_cycles / max(main_cycles + helper_cycles, 1)
        facts["offloaded"] = helper_cycles / max(cycles, 1)
    return facts


def main() -> None:
    """Measure, print the best of each graph, and keep all runs as the runner does."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    add("--graphs", nargs="+", default=GRAPHS)
    add("--threads", nargs="+", type=int, default=[1, 2], metavar="T")
    add("--rounds", type=int, default=15, metavar="K")
    add("--cache", type=Path, default=graphs.CACHE, help="where graphs lie; default: %(default)s")
    kept = BENCHMARKS / "results" / "papers_kruskal_helpers.json"
    add("-o", "--output", type=Path, default=kept)
    picture = BENCHMARKS.parent / "docs" / "images" / "papers-kruskal_helpers.svg"
    add("--plot", type=Path, default=picture, metavar="PICTURE")
    options = parser.parse_args()
    record: dict[str, Any] = {"machine": about(), "reference": "kruskal", "graphs": {}, "runs": []}
    with keeping_blocks():
        for name in options.graphs:
            graph = graphs.load(graphs.ensure(name, options.cache))
            record["graphs"][name] = {"spec": name, "vertices": graph.n, "edges": len(graph.u)}
            edge_id = np.arange(len(graph.u), dtype=np.int32)
            ops = array_module("numba")
            edges = Edges(graph.u, graph.v, ops.order_key(graph.w), edge_id)
            ordered = sort_by_weight(ops, edges)
            for turn in range(-1, options.rounds):  # the first warms up
                for threads in options.threads:
                    for code, loop in LOOPS.items():
                        facts = measure(loop, ordered, graph.n, threads)
                        place = {"graph": name, "code": code, "threads": threads, "round": turn}
                        record["runs"] += [{**place, **facts}] * (turn >= 0)
            for row in figures.rows(record, name):
                print(
                    name,
                    row.code,
                    row.threads,
                    f"{row.minimum:.4f} s, ratio {row.ratio:.2f}",
                    flush=True,
                )
    options.output.write_text(json.dumps(record, indent=1) + "\n")
    plot.draw(record, options.plot)


if __name__ == "__main__":
    main()
