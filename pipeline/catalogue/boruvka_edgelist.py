"""Boruvka's algorithm on an edge list.

Each round every vertex chooses its lightest edge, ties by edge index; the chosen edges join the
forest; the trees they form become the vertices of the next round; edges inside a tree, now loops,
are filtered out. A graph of n vertices takes at most log2(n) rounds, O(m log n) work.

Source: Bhargava and Zaia, "Parallelizing MSF with Boruvka's Algorithm", its CPU form. Theirs joins
trees in a concurrent union-find, relabels an edge when the next round reads it, and wants edges
sorted by their ends. Here two trees that chose the same edge are told apart by vertex number, roots
are found by pointer jumping and numbered anew, so that every run does the same steps; edges come in
any order.

Promise: the forest that is minimal under (weight, edge id), on any backend and in any partition.
"""

from ...stages.edges import (
    count_edges,
    drop_loops,
    find_min_edges,
    no_edges_left,
    relabel_edges,
)
from ...stages.fragments import (
    contract_fragments,
    create_new_vertex_ids,
    propagate_colors,
    remove_mirrored_edges,
)
from ..pipeline import Pipeline
from ..steps import Loop

#: The two halves of a round: fragments join, then the graph of the fragments is made.
JOIN = (
    find_min_edges,
    remove_mirrored_edges,
    propagate_colors,
    create_new_vertex_ids,
)
CONTRACT = (relabel_edges, count_edges, contract_fragments)

boruvka_edgelist = Pipeline(
    "boruvka-edgelist",
    drop_loops,
    count_edges,
    Loop(*JOIN, *CONTRACT, until=no_edges_left),
    summary="Boruvka on an edge list, loops filtered (Bhargava and Zaia)",
)
