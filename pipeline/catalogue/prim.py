"""Prim's algorithm: one tree after another, each grown along the lightest arc that leaves it.

Sequential from end to end, a loop over arcs with a heap of the standard library: a baseline that
finds the forest in another way than all others, vertex by vertex. At most m log m comparisons.

Source: Prim, "Shortest Connection Networks And Some Generalizations", 1957. His table of what is
nearest to the tree is a heap here, and a graph that is not connected gets a tree a component.

Promise: the forest that is minimal under (weight, edge id), on any backend and in any partition.
"""

from ...stages.edges import bring_edges_together
from ...stages.kruskal import build_whole_csr, grow_trees
from ..pipeline import Pipeline

prim = Pipeline(
    "prim",
    bring_edges_together,
    build_whole_csr,
    grow_trees,
    summary="Prim with a heap, tree by tree, a sequential baseline",
)
