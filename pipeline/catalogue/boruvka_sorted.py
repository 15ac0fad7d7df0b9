"""Boruvka's algorithm on both arcs of every edge, sorted by vertex in each round.

The sort puts the arcs of a vertex next to each other, so its lightest arc is the minimum of a
segment. Prefix sums number the trees that the chosen arcs form, and the arcs between two trees.
There are at most log2(n) rounds; each needs a sort, O(m log n).

Source: parallel-boruvka (abarankab), "My solution". Two deviations: roots are found by pointer
jumping, where the source joins trees in a wait-free union-find; and partial minima are combined in
order, where the source uses compare-and-swap. So ties always go to the smaller id, and graphs need
not be connected.

Promise: the forest that is minimal under (weight, edge id), on any backend and in any partition.
"""

from ...stages.edges import drop_loops, no_edges_left, relabel_edges
from ...stages.fragments import (
    contract_fragments,
    create_new_vertex_ids,
    propagate_colors,
    remove_mirrored_edges,
)
from ...stages.sorted_arcs import count_listed_edges, find_shortest_arcs, list_both_arcs, sort_arcs
from ..pipeline import Pipeline
from ..steps import Loop

boruvka_sorted = Pipeline(
    "boruvka-sorted",
    drop_loops,
    list_both_arcs,
    count_listed_edges,
    Loop(
        sort_arcs,
        find_shortest_arcs,
        remove_mirrored_edges,
        propagate_colors,
        create_new_vertex_ids,
        relabel_edges,
        count_listed_edges,
        contract_fragments,
        until=no_edges_left,
    ),
    summary="Boruvka on an edge list that is sorted in every round (parallel-boruvka)",
)
