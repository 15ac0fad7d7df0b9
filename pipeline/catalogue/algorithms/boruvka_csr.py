"""Boruvka's algorithm on a compressed sparse row graph that is contracted every round.

Before the first round, edges are sorted by weight and arcs are listed by vertex. In a round, every
vertex chooses its lightest arc. If two vertices choose the same edge, one of them becomes a root.
Each vertex takes the color of its root by pointer jumping. An exclusive scan numbers the roots. At
the end, the arcs between fragments are counted and inserted into the graph of the next round.

Source: Sousa, Mariano and Proenca, "A Generic and Highly Efficient Parallel Variant of Boruvka's
Algorithm", Algorithm 1. Four deviations:

- The lightest arc is found by a segmented reduction over ranks, which need an additional sort. The
  paper loops over weights and breaks ties by destination.
- Arcs are inserted in a fixed order; in the paper, threads reserve positions atomically.
- Degrees are differences of offsets.
- The loop ends when no edge remains, so graphs need not be connected.

Work: m log n and a sort.
Span: log² n.
Use it for: a graph that is needed as CSR anyway.
"""

from ....stages import csr, edges, fragments
from ...pipeline import Pipeline
from ...steps import Loop
from ..shared import LABEL

boruvka_csr = Pipeline(
    "boruvka-csr",
    edges.drop_loops,
    csr.sort_edges,
    csr.build_csr,
    csr.count_arcs,
    Loop(
        csr.find_min_edge_per_vertex,
        *LABEL,
        csr.count_new_edges,
        csr.assign_edge_segments,
        csr.insert_new_edges,
        csr.count_arcs,
        fragments.contract_fragments,
        until=edges.no_edges_left,
    ),
    summary="Boruvka on a CSR graph (Sousa, Mariano and Proenca)",
)
