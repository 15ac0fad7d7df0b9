"""Boruvka's algorithm on an edge list.

In a round, every vertex chooses its lightest edge, and ties go to the smaller edge index. The
chosen edges are added to the forest, and their trees become the vertices of the next round. Edges
inside a tree become loops and are dropped.

Source: Bhargava and Zaia, "Parallelizing MSF with Boruvka's Algorithm", version for CPUs. The paper
joins trees in a concurrent union-find, relabels an edge when the next round reads it, and needs
edges sorted by their ends. Here, if two vertices choose the same edge, the smaller vertex becomes a
root. Pointer jumping finds the root of each vertex, and the roots are renumbered. So every run
takes the same steps, and edges may be in any order.

Work: m log n.
Span: log² n.
Use it for: a pipeline of your own: its rounds are the simplest.
"""

from ....stages import edges
from ...pipeline import Pipeline
from ...steps import Loop
from ..shared import CONTRACT, JOIN

boruvka_edgelist = Pipeline(
    "boruvka-edgelist",
    edges.drop_loops,
    edges.count_edges,
    Loop(*JOIN, *CONTRACT, until=edges.no_edges_left),
    summary="Boruvka on an edge list (Bhargava and Zaia, version for CPUs)",
    footprint=2.3,
)
