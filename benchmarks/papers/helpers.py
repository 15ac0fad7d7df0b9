"""Times of Kruskal's loop by density and threads, as measured by Katsigiannis et al.

As in the paper, times exclude the sort: edges are sorted once, and then the stages that join them
take turns in one process.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from mstflow.stages.fields import Edges

from .. import graphs as graph_list
from ..machine import pinned
from ..runner.solve_one import checksum


def measure(graphs: Sequence[str], threads: Sequence[int], rounds: int) -> dict[str, Any]:
    """Measure the loop with and without helpers on each graph.

    Return `graphs`, `reference` and `runs`, as in a comparison. A run with a helper has
    `offloaded`, the share of the cycle edges in the helpers' ranges that helpers reject, and
    `main_share`, the share of all cycle edges that the main thread rejects (figure 7 of the paper).
    """
    from mstflow.primitives import array_module
    from mstflow.runtime.memory import keeping_blocks
    from mstflow.stages.kruskal import sort_by_weight

    sizes, runs = {}, []
    with keeping_blocks():
        for name in graphs:
            folder = graph_list.ensure(name)
            graph = graph_list.load(folder)
            sizes[name] = graph_list.describe(folder)
            ops = array_module("numba")
            ids = np.arange(len(graph.u), dtype=np.int32)
            edges = Edges(graph.u, graph.v, ops.order_key(graph.w), ids)
            ordered = sort_by_weight(ops, edges)
            for turn in range(-1, rounds):  # round -1 is not recorded
                for count in threads:
                    for code, loop in (("kruskal", join_alone), ("kruskal-helpers", join_helped)):
                        facts = loop(ordered, graph.n, count)
                        run = {"graph": name, "code": code, "threads": count, "round": turn}
                        runs += [{**run, **facts}] * (turn >= 0)
    return {"graphs": sizes, "reference": "kruskal", "runs": runs}


def join_alone(edges: Edges, num_vertices: int, threads: int) -> dict[str, Any]:
    """Join sorted edges in order, without helpers."""
    ops = _module(threads)
    with pinned(threads):
        start = time.perf_counter()
        joining, _ = ops.join_in_order(edges.u, edges.v, num_vertices)
        chosen = ops.gather(edges.edge_id, joining)
        seconds = time.perf_counter() - start
    return {"seconds": seconds, "edges": len(chosen), "checksum": checksum(np.sort(chosen))}


def join_helped(edges: Edges, num_vertices: int, threads: int) -> dict[str, Any]:
    """Join sorted edges in order, with all but one thread as helpers."""
    from mstflow.primitives.joins import helper_ranges
    from mstflow.stages.kruskal import join_with_helpers

    ops = _module(threads)
    with pinned(threads):
        start = time.perf_counter()
        chosen, main_cycles, helper_cycles = join_with_helpers(ops, edges, num_vertices)
        seconds = time.perf_counter() - start
    facts = {"seconds": seconds, "edges": len(chosen), "checksum": checksum(np.sort(chosen))}
    if threads > 1:
        later = edges.edge_id[helper_ranges(len(edges.u), threads)[1][0] :]
        cycles = len(later) - np.count_nonzero(np.isin(later, chosen, kind="table"))
        facts["main_share"] = main_cycles / max(main_cycles + helper_cycles, 1)
        facts["offloaded"] = helper_cycles / max(cycles, 1)
    return facts


def _module(threads: int) -> Any:
    from mstflow.primitives import Backend, array_module

    return array_module(Backend("numba", threads))
