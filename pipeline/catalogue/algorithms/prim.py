"""Prim's algorithm: grow one tree after another along the lightest arc that leaves it.

A loop over arcs uses a heap of the standard library. It works differently from all other
algorithms, so it serves as a baseline.

Source: Prim, "Shortest Connection Networks And Some Generalizations", 1957. The paper has a table
of the vertices nearest to the tree; here it is a heap. Each component of the graph gets a tree.

Work: m log m.
Span: sequential.
Use it for: a baseline that works differently.
"""

from ....stages.edges import concatenate_edges
from ....stages.kruskal import build_whole_csr, grow_trees
from ...pipeline import Pipeline

prim = Pipeline(
    "prim",
    concatenate_edges,
    build_whole_csr,
    grow_trees,
    summary="Prim with a heap, one tree at a time",
    footprint=5.5,
)
