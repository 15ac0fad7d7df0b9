"""Statistics of a graph: counts, degrees, and the range of its weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...doors.size_checks import check_vertices
from ...errors import memory_errors
from ...graphs.source import EdgeSource
from ...progress import report_progress
from ...solve import minimum_spanning_forest


def summarise(graph: EdgeSource) -> dict[str, Any]:
    """Compute statistics of a graph whose sizes are known.

    "num_tied" is the number of edges that have the same weight as another edge. "lightest" and
    "heaviest" are weights, None without edges. "degrees" are pairs: the smallest degree of a bin,
    and its number of vertices. The bins are 0, 1, 2 to 3, 4 to 7, and so on. A loop counts twice.

    The graph is read twice: block by block, and with the strategy "fold" for its components. This
    needs memory for an array over the vertices, for all weights, and for "fold".
    """
    check_vertices(graph)
    with memory_errors(graph.num_vertices, graph.num_edges):
        degree = np.zeros(graph.num_vertices or 0, np.int64)
    num_loops, weights = 0, [graph.first_columns()[2][:0]]
    for first, count, read in graph.blocks():
        u, v, weight = read()
        for ends in (u, v):
            np.add.at(degree, ends.astype(np.int64, copy=False), 1)
        num_loops += int(np.count_nonzero(u == v))
        weights.append(weight)
        report_progress("count degrees", first + count, graph.num_edges or 0)
    values, counts = np.unique(np.concatenate(weights), return_counts=True)
    forest = minimum_spanning_forest(graph, weight=None, strategy="fold")
    kinds, sizes = np.unique(np.frexp(degree)[1], return_counts=True)
    return {
        "num_vertices": len(degree),
        "num_edges": graph.num_edges or 0,
        "num_components": forest.num_components,
        "num_loops": num_loops,
        "num_tied": int(counts[counts > 1].sum()),
        "lightest": values[0].item() if len(values) else None,
        "heaviest": values[-1].item() if len(values) else None,
        "degrees": list(zip((2**kinds // 2).tolist(), sizes.tolist(), strict=True)),
    }
