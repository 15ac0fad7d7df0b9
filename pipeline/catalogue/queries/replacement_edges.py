"""Replacement edges: for each edge of a forest, the lightest other edge that would reconnect it.

If an edge of the forest is removed, its tree splits into two sides. The replacement is the lightest
other edge of the graph between them: the first edge, in the order (weight, edge id), whose ends are
joined by a path of the forest through the removed edge. Each path is divided into climbs whose
lengths are powers of two, and each climb keeps its first edge. Climbs are then halved until each
consists of one edge. For n vertices this takes O(n log n) work, after the other edges have been
reduced to their minimum forest.

Source: Tarjan, "Applications of Path Compression on Balanced Trees", J. ACM 26 (1979), section on
sensitivity. There, the edges are taken one after another, and the vertices on their paths are
joined. Climbs need no order, so every step is parallel.
"""

from ....stages.edges import concatenate_edges
from ....stages.queries.paths import cover_edges, double_climbs, mark_climbs, root_trees
from ...pipeline import Pipeline

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
