"""Kruskal's algorithm: all edges in the order of their weights, kept if they join two trees.

The sort is most of the work. What follows is sequential by nature, so this is the baseline that
others are measured against; where no loop over edges is compiled, rounds find the same.

Source: Kruskal, "On the Shortest Spanning Subtree of a Graph and the Traveling Salesman Problem",
1956, construction A.

Promise: the forest that is minimal under (weight, edge id), on any backend and in any partition.
"""

from ...stages.edges import bring_edges_together
from ...stages.kruskal import join_by_weight
from ..pipeline import Pipeline

kruskal = Pipeline(
    "kruskal",
    bring_edges_together,
    join_by_weight,
    summary="Kruskal on sorted edges, the sequential baseline",
)
