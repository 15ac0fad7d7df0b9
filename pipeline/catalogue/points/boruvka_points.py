"""Boruvka's algorithm on points: in each round, every fragment finds its nearest point outside.

All pairs of points are edges, and their weights are distances or mutual reachability distances. No
edge is stored. A balanced k-d tree over the points finds the lightest edge of each fragment: it is
the least, over the points of the fragment, of the edge to the nearest point outside. The search
skips a node of the tree if all its points are in the fragment of the point, or if its box is too
far away. A point keeps its nearest point for as long as this is outside its fragment, and is
skipped if its lower bound exceeds the lightest edge that its fragment has found so far. So each
round takes less time than the one before it.

Source: Boruvka, "O jistem problemu minimalnim" (1926), for the rounds. March, Ram and Gray, "Fast
Euclidean Minimum Spanning Tree: Algorithm, Analysis, and Applications" (KDD 2010), for the nodes
inside a fragment; the paper compares nodes with nodes, by two trees. Prokopenko, Sao and
Lebrun-Grandie, "A Single-Tree Algorithm to Compute the Euclidean Minimum Spanning Tree on GPUs"
(ICPP 2022), for a search per point, bounds that are kept, and first bounds by neighbors in the
order of the tree. The paper builds the tree from a space-filling curve, and a tie may go to either
edge. Here the tree is split at medians, and ties go to the smaller edge id.
"""

from ....stages import fragments
from ....stages.points import tree
from ...pipeline import Pipeline
from ...steps import Loop
from ..algorithms.boruvka_edgelist import JOIN

boruvka_points = Pipeline(
    "boruvka-points",
    tree.drop_copies,
    tree.build_tree,
    tree.bound_nodes,
    tree.find_core_distances,
    tree.start_fragments,
    Loop(
        tree.find_nearest_outside,
        *JOIN[1:],
        tree.relabel_points,
        fragments.contract_fragments,
        until=tree.all_joined,
    ),
    tree.attach_copies,
    tree.list_core_distances,
    values={"num_listed": 8},
    summary="Boruvka on the points of mstflow.points, by a k-d tree",
)
