"""Kruskal's algorithm on light edges first, so that most heavy edges are never sorted.

Source: Osipov, Sanders and Singler, "The Filter-Kruskal Minimum Spanning Tree Algorithm", ALENEX
2009. The paper partitions at the median and recurses on both sides. Here the light side has fewer
than two edges per vertex, and Kruskal joins it without recursion. The heavy edges that join two
trees are partitioned again.

Promise: the forest that is minimal under (weight, edge id), on any backend and in any partition.
"""

from ...stages.filter import sparse_graph_left
from ...stages.fragments import start_levels
from ..pipeline import Pipeline
from ..steps import Loop
from .filter_boruvka import JOIN_LIGHT, JOIN_REST, PARAMETERS, SELECT_JOINING, SELECT_LIGHT

filter_kruskal = Pipeline(
    "filter-kruskal",
    Loop(*SELECT_LIGHT, start_levels, *JOIN_LIGHT, *SELECT_JOINING, until=sparse_graph_left),
    *JOIN_REST,
    values={name: PARAMETERS[name] for name in ("light_per_vertex", "dense", "small")}
    | {"few_edges": 2**64},  # no rounds follow
    summary="Kruskal on light edges first, then on the rest; the default under a memory bound",
)
