"""Boruvka's algorithm on both arcs of every edge, sorted by vertex in each round.

The sort puts the arcs of a vertex next to each other, so its lightest arc is the minimum of a
segment. Prefix sums number the trees that the chosen arcs form, and the arcs between two trees.

Source: parallel-boruvka (abarankab), "My solution". Ties go to the smaller id, and graphs need not
be connected. Three deviations:

- A counting sort moves only the keys of the arcs; the source sorts by comparisons.
- Pointer jumping finds the roots; the source joins trees in a wait-free union-find.
- Partial minima are combined in order; the source uses compare-and-swap.

Work: m log² n.
Span: log² n.
Use it for: repeating the measurements of its source.
"""

from ....stages import edges, fragments, sorted_arcs
from ...pipeline import Pipeline
from ...steps import Loop
from ..shared import LABEL

boruvka_sorted = Pipeline(
    "boruvka-sorted",
    edges.drop_loops,
    sorted_arcs.list_both_arcs,
    sorted_arcs.count_listed_edges,
    Loop(
        sorted_arcs.sort_arcs,
        sorted_arcs.find_shortest_arcs,
        *LABEL,
        edges.relabel_edges.renamed(edges="arc_list"),
        sorted_arcs.count_listed_edges,
        fragments.contract_fragments,
        until=edges.no_edges_left,
    ),
    summary="Boruvka on an edge list that is sorted in every round (parallel-boruvka)",
)
