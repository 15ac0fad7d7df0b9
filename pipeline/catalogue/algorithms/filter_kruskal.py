"""Kruskal's algorithm on light edges first, so that most heavy edges are never sorted.

A threshold selects the light edges, by which Kruskal's algorithm joins vertices to fragments. Then
the edges inside a fragment are dropped. The remaining edges are filtered again while there are many
of them per fragment. At the end, Kruskal's algorithm takes the rest.

Source: Osipov, Sanders and Singler, "The Filter-Kruskal Minimum Spanning Tree Algorithm", ALENEX
2009. The paper partitions at the median and recurses on both sides. Here the light side has about
two edges per vertex, or a 32nd of all edges, and needs no recursion.

Work: m + n log² n expected.
Span: sequential except for the scans.
Use it for: compiled kernels and CuPy (the default there).
"""

from ....stages import edges, filter, fragments, kruskal  # noqa: A004
from ...dataflow import ByBackend
from ...pipeline import Pipeline
from ...steps import Loop
from ..shared import CONTRACT, PARAMETERS, SELECT_LIGHT

filter_kruskal = Pipeline(
    "filter-kruskal",
    Loop(
        *SELECT_LIGHT,
        edges.concatenate_edges.renamed(edges="light_edges"),
        kruskal.join_by_weight,
        fragments.create_new_vertex_ids,
        *CONTRACT,
        until=filter.sparse_graph_left,
    ),
    edges.concatenate_edges,
    kruskal.join_by_weight,
    # Kruskal joins four edges per vertex as fast as it filters them, in less memory.
    values={**PARAMETERS, "dense": ByBackend(3.0, {"numba": 4.0})},
    summary="Kruskal on light edges first, then on the rest; the default with kernels",
    footprint=1,
)
