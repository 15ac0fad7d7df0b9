"""Boruvka's algorithm in three steps a round, on a graph that is never contracted.

Flatten makes every vertex a child of its root; each root takes the lightest edge that leaves its
tree; roots hang themselves below those their edges lead to. No edge is ever dropped or relabelled,
so each of the at most log2(n) rounds reads all m edges and looks up both ends: the price for steps
as simple as a processor with thousands of threads wants them.

Source: Bhargava and Zaia, "Parallelizing MSF with Boruvka's Algorithm", its GPU form. Theirs lowers
the lightest edge of a tree by compare-and-swap; any reduction that keeps the smaller (weight, id)
will do. It writes the roots it finds into the edges, which are left alone here, and stops by a
count of edges; here a last round joins nothing, since a forest may have any number.

Promise: the forest that is minimal under (weight, edge id), on any backend and in any partition.
"""

from ...stages.trees import assign_cheapest, flatten, no_tree_joined, start_trees, update_forest
from ..pipeline import Pipeline
from ..steps import Loop

boruvka_flatten = Pipeline(
    "boruvka-flatten",
    start_trees,
    Loop(
        flatten,
        assign_cheapest,
        update_forest,
        until=no_tree_joined,
    ),
    summary="Boruvka on flat trees, no filter (Bhargava and Zaia, the GPU's three kernels)",
)
