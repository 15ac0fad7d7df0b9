"""Boruvka's algorithm on a compressed sparse row graph that is contracted every round.

Each round every vertex chooses its lightest arc; of two that chose the same edge one lets go;
colors spread along what is left until each vertex has its root's; roots get new ids by an
exclusive scan; and the arcs between fragments are counted, given segments and inserted into the
graph of the next round. At most log2(n) rounds of O(m) work and a sort of the vertices, after sorts
of the edges by weight and of the arcs by vertex.

Source: Sousa, Mariano and Proenca, "A Generic and Highly Efficient Parallel Variant of Boruvka's
Algorithm", Algorithm 1. Two deviations, both so that no answer depends on the timing of threads:
the lightest arc is a segmented reduction over ranks where the text loops and breaks ties by
destination, and arcs are inserted in a fixed order where the text draws places atomically. The
ranks cost a sort that theirs does without. An arc holds its edge instead of a weight, and degrees
follow from the offsets. Loop ends when no edge is left, not at one vertex: graphs need not be
connected.

Promise: the forest that is minimal under (weight, edge id), on any backend and in any partition.
"""

from ...stages.csr import (
    assign_edge_segments,
    build_csr,
    count_arcs,
    count_new_edges,
    find_min_edge_per_vertex,
    insert_new_edges,
    sort_edges,
)
from ...stages.edges import drop_loops, no_edges_left
from ...stages.fragments import (
    contract_fragments,
    create_new_vertex_ids,
    propagate_colors,
    remove_mirrored_edges,
)
from ..pipeline import Pipeline
from ..steps import Loop

boruvka_csr = Pipeline(
    "boruvka-csr",
    drop_loops,
    sort_edges,
    build_csr,
    count_arcs,
    Loop(
        find_min_edge_per_vertex,
        remove_mirrored_edges,
        propagate_colors,
        create_new_vertex_ids,
        count_new_edges,
        assign_edge_segments,
        insert_new_edges,
        count_arcs,
        contract_fragments,
        until=no_edges_left,
    ),
    summary="Boruvka on a CSR graph, contracted every round (Sousa, Mariano, Proenca)",
)
