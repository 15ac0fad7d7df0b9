"""Boruvka's algorithm in two scans: light edges first, then heavy edges that join two fragments.

A threshold selects the light edges: few, but enough to join most vertices into few fragments.
Boruvka rounds contract the light edges. Then a scan over all edges drops those inside a fragment;
on a random graph, these are nearly all edges. The remaining edges are filtered again while there
are many of them per fragment. Further rounds join the rest. So the whole edge list is read only
twice, in order, and rounds work on small graphs. A graph with few edges is solved by rounds alone.

Rounds end early. When few fragments remain, many edges join the same two fragments, and it is
faster to join the remaining edges one by one in the order of weight. With compiled loops, the light
edges are usually few enough to be joined in this way from the start. The exception is edges in an
order with locality, which rounds exploit.

Source: the filter is by Osipov, Sanders and Singler, "The Filter-Kruskal Minimum Spanning Tree
Algorithm" (ALENEX 2009). Sanders and Schimek combine it with Boruvka, "Engineering Massively
Parallel MST Algorithms" (IPDPS 2023). Both papers recurse on both sides of a median. Here the light
side is small enough for Boruvka without recursion.

Promise: the forest that is minimal under (weight, edge id), on any backend and in any partition.
"""

from ...stages import edges, fragments
from ...stages import filter as filters
from ...stages.kruskal import join_by_weight, join_light_edges
from ..dataflow import ByBackend
from ..pipeline import Pipeline
from ..steps import Loop, When
from .boruvka_edgelist import CONTRACT, JOIN

#: These values were measured with `python -m benchmarks run --codes mstflow mstflow:NAME=VALUE`:
#:
#: - `light_per_vertex`: number of light edges per vertex. If there are fewer, fragments are smaller
#:   and more heavy edges remain; if there are more, they take longer to join.
#: - `dense`, `small`: number of edges per vertex, and of edges, from which two scans are faster.
#: - `few`: the largest number of edges that are joined one by one instead of in rounds.
#: - `scattered`: a factor for `few` if the ends of neighbouring edges are far apart.
#:
#: Those of "cupy" are not measured. A scan or a round waits for the device several times, which
#: takes longer than sorting a few million edges.
PARAMETERS = {
    "light_per_vertex": 1.75,
    "dense": 3.0,
    "small": ByBackend(2**16, {"numba": 2**19, "cupy": 2**22}),
    "few": ByBackend(2**16, {"numba": 2**22, "cupy": 2**22}),
    "scattered": ByBackend(1, {"numba": 8}),
}

#: The two scans: before and after the light edges are joined.
SELECT_LIGHT = (
    filters.sample_keys,
    filters.choose_pivot,
    filters.hold_edges,
    filters.select_light_edges,
    edges.count_edges,
)
SELECT_JOINING = (
    fragments.create_new_vertex_ids,
    fragments.add_level,
    fragments.contract_fragments,
    fragments.compose_labels,
    filters.select_joining_edges,
    edges.count_edges,
)

#: Join the edges that remain after the rounds.
JOIN_LIGHT = (edges.bring_edges_together, join_light_edges)
JOIN_REST = (edges.bring_edges_together, join_by_weight)

filter_boruvka = Pipeline(
    "filter-boruvka",
    filters.sample_ends,
    filters.choose_few_edges,
    Loop(
        *SELECT_LIGHT,
        fragments.start_levels,
        Loop(*JOIN, fragments.add_level, *CONTRACT, until=filters.rounds_are_over),
        *JOIN_LIGHT,
        *SELECT_JOINING,
        until=filters.sparse_graph_left,
    ),
    When(
        filters.rounds_pay,
        edges.drop_loops,  # rounds need a graph without loops
        edges.count_edges,
        Loop(*JOIN, *CONTRACT, until=filters.rounds_are_over),
    ),
    *JOIN_REST,
    values=PARAMETERS,
    summary="Boruvka on the lightest edges first, then on the edges still needed; the default",
)
