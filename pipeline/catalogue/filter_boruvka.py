"""Boruvka's algorithm in two scans: light edges first, then the heavy ones that still matter.

A pivot parts the edges so that the light ones are few, but enough to join most vertices into few
fragments. Boruvka rounds contract them. Then one scan over all edges drops those inside a fragment,
on random graphs nearly all of them. What is left is filtered again, while it has many edges for
each fragment, and finished by further rounds. The edge list is only streamed, twice; rounds work on
small graphs. A graph of few edges takes the last part alone.

Rounds stop early: once fragments are few, most edges join the same ones over and over, and the rest
is joined one by one, in the order of the weights. Where compiled loops do that, the light edges are
mostly few enough from the start, the more so if they are in no order that rounds would gain from.

Source: the filter is that of Osipov, Sanders and Singler, "The Filter-Kruskal Minimum Spanning Tree
Algorithm" (ALENEX 2009); with Boruvka as the base case, Sanders and Schimek, "Engineering Massively
Parallel MST Algorithms" (IPDPS 2023). Theirs recurse on both sides of a median; here the light side
is small enough for Boruvka.

Promise: the forest that is minimal under (weight, edge id), on any backend and in any partition.
"""

from ...stages.edges import bring_edges_together, count_edges, drop_loops
from ...stages.filter import (
    choose_few_edges,
    choose_pivot,
    hold_edges,
    rounds_are_over,
    rounds_pay,
    sample_ends,
    sample_keys,
    select_joining_edges,
    select_light_edges,
    sparse_graph_left,
)
from ...stages.fragments import (
    add_level,
    compose_labels,
    contract_fragments,
    create_new_vertex_ids,
    start_levels,
)
from ...stages.kruskal import join_by_weight
from ..pipeline import ByBackend, Pipeline
from ..steps import Loop, When
from .boruvka_edgelist import CONTRACT, JOIN

#: Chosen by `python -m benchmarks run --codes mstflow mstflow:NAME=VALUE`:
#:
#: - `light_per_vertex`: light edges for each vertex; of fewer, fragments stay small, and more take
#:   longer to join.
#: - `dense`, `small`: two scans are worth it from so many edges for each vertex, and so many edges.
#: - `few`: at most so many edges are joined one after another, not in rounds;
#: - `scattered`: or so many times as many, if edges next to each other have ends far apart.
PARAMETERS = {
    "light_per_vertex": 1.75,
    "dense": 3.0,
    "small": ByBackend(2**16, {"numba": 2**19}),
    "few": ByBackend(2**16, {"numba": 2**22}),
    "scattered": ByBackend(1, {"numba": 8}),
}

#: The two scans: before the light edges are joined, and after the last of them are.
SELECT_LIGHT = (sample_keys, choose_pivot, hold_edges, select_light_edges, count_edges)
SELECT_JOINING = (
    create_new_vertex_ids,
    add_level,
    contract_fragments,
    compose_labels,
    select_joining_edges,
    count_edges,
)

#: How what rounds leave is joined.
JOIN_REST = (bring_edges_together, join_by_weight)

filter_boruvka = Pipeline(
    "filter-boruvka",
    sample_ends,
    choose_few_edges,
    Loop(
        *SELECT_LIGHT,
        start_levels,
        Loop(*JOIN, add_level, *CONTRACT, until=rounds_are_over),
        *JOIN_REST,
        *SELECT_JOINING,
        until=sparse_graph_left,
    ),
    When(
        rounds_pay,
        drop_loops,  # which only rounds must not meet
        count_edges,
        Loop(*JOIN, *CONTRACT, until=rounds_are_over),
    ),
    *JOIN_REST,
    values=PARAMETERS,
    summary="Boruvka on light edges, then on the heavy ones that join fragments; the default",
)
