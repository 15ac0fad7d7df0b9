"""Boruvka's algorithm in three steps per round, on a graph that is never contracted.

"Flatten" makes every vertex a child of its root. Each root then takes the lightest edge that leaves
its tree, and becomes a child of the root at the other end. Edges are not dropped or relabelled, so
every round reads all edges and looks up the roots of both ends. In return, the steps suit a
processor with thousands of threads.

Source: Bhargava and Zaia, "Parallelizing MSF with Boruvka's Algorithm", version for GPUs. The paper
finds the lightest edge of a tree by compare-and-swap; here it is a reduction that keeps the smaller
(weight, id). The paper writes roots into the edges; here edges are not modified. The paper stops by
a count of edges; here the loop ends after a round that joins nothing, because graphs need not be
connected.

Work: m log n, every edge in every round.
Span: log² n.
Use it for: edges that must not be moved.
"""

from ....stages import trees
from ...pipeline import Pipeline
from ...steps import Loop

boruvka_flatten = Pipeline(
    "boruvka-flatten",
    trees.start_trees,
    Loop(trees.flatten, trees.assign_cheapest, trees.update_forest, until=trees.no_tree_joined),
    summary="Boruvka on an edge list that never shrinks (Bhargava and Zaia, version for GPUs)",
)
