"""Kruskal's algorithm in one function, for small graphs, on which calls take most of the time.

The function compares weights instead of keys, so no stage converts weights. With compiled loops it
is one kernel. "auto" chooses this algorithm for few edges in memory.

Source: Kruskal, "On the Shortest Spanning Subtree of a Graph and the Traveling Salesman Problem",
1956, construction A.

Promise: the forest that is minimal under (weight, edge id), on any backend and in any partition.
"""

from ...stages.kruskal import bring_columns_together, join_columns
from ..pipeline import Pipeline

kruskal_few = Pipeline(
    "kruskal-few",
    bring_columns_together,
    join_columns,
    summary="Kruskal in one function; the default for few edges",
)
