"""Kruskal's algorithm: take all edges in the order of weight, and keep those that join two trees.

The sort takes most of the time. Kruskal describes sequential joins, so this is the baseline for the
other algorithms. With compiled kernels, two other threads sort. Backends without compiled loops
find the same forest in rounds.

Source: Kruskal, "On the Shortest Spanning Subtree of a Graph and the Traveling Salesman Problem",
1956, construction A.

Work: m log m.
Span: sequential except for the sort.
Use it for: a sequential baseline.
"""

from ....stages.edges import concatenate_edges
from ....stages.kruskal import join_by_weight
from ...pipeline import Pipeline

kruskal = Pipeline(
    "kruskal",
    concatenate_edges,
    join_by_weight,
    summary="Kruskal: sort the edges, then add them one by one",
    footprint=1,
)
