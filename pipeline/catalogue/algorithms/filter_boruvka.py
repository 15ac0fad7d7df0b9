"""Boruvka's algorithm in two scans: light edges first, then heavy edges that join two fragments.

A threshold selects the light edges: few, but enough to join most vertices into few fragments.
Boruvka rounds contract the light edges. Then a scan over all edges drops those inside a fragment;
on a random graph, these are nearly all edges. The remaining edges are filtered again while there
are many of them per fragment. Further rounds join the rest. So the whole edge list is read only
twice, in order, and rounds work on small graphs. A graph with few edges per vertex is solved by
rounds alone.

The threshold is chosen from the keys of a sample. At least one edge in 32 is light, so the scans of
all passes together take time linear in m.

Source: Osipov, Sanders and Singler, "The Filter-Kruskal Minimum Spanning Tree Algorithm" (ALENEX
2009), for the filter; Sanders and Schimek, "Engineering Massively Parallel MST Algorithms" (IPDPS
2023), for its combination with Boruvka. Both papers recurse on both sides of a median. Here the
light side is small enough for Boruvka without recursion.

Work: m + n log n expected, m log n worst case.
Span: log² n.
Use it for: NumPy (the default there).
"""

from ....stages import edges, filter, fragments  # noqa: A004
from ...pipeline import Pipeline
from ...steps import Loop
from ..shared import PARAMETERS, SELECT_LIGHT
from .boruvka_edgelist import boruvka_edgelist

#: Rounds of Boruvka that also label each vertex with its fragment.
fragments_of = Pipeline(
    "fragments",
    fragments.start_levels,
    *boruvka_edgelist.insert_after("create_new_vertex_ids", fragments.add_level).steps,
    fragments.compose_labels,
    result=("forest", "labels", "num_vertices"),
)

filter_boruvka = Pipeline(
    "filter-boruvka",
    Loop(
        *SELECT_LIGHT,
        fragments_of.renamed(edges="light_edges"),
        edges.relabel_edges.renamed(label="labels"),
        edges.count_edges,
        until=filter.sparse_graph_left,
    ),
    boruvka_edgelist,
    values=PARAMETERS,
    summary="Boruvka on the lightest edges first, then on the edges still needed; "
    "the default on NumPy",
    footprint=2.3,
)
