"""Replacement edges: for each edge of a forest, the lightest other edge that would reconnect it.

If an edge of the forest is removed, its tree splits into two sides. The replacement is the lightest
other edge of the graph between them: the first edge, in the order (weight, edge id), whose ends are
joined by a path of the forest through the removed edge.

The other edges are reduced to their minimum forest. Their paths are divided into climbs whose
lengths are powers of two, and a climb keeps the first edge that covers it. Then climbs are halved
until they consist of one edge. For n vertices this takes O(n log n) work.

Source: Tarjan, "Applications of Path Compression on Balanced Trees", J. ACM 26 (1979), section on
sensitivity. Deviation: the paper takes the edges one after another, and joins the vertices on their
paths. Climbs need no order, so every step is parallel.
"""

from ...pipeline.pipeline import Pipeline
from ...stages.edges import concatenate_edges
from ..stages.replacement import cover_edges, double_climbs, mark_climbs, root_trees

replacement_edges = Pipeline(
    "replacement-edges",
    concatenate_edges,
    root_trees,
    double_climbs,
    mark_climbs,
    cover_edges,
    result=("replacement",),
    summary="The lightest other edge that covers each edge of a forest",
)
