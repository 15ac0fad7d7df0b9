"""Boruvka's algorithm on points: in each round, every fragment finds its nearest point outside.

All pairs of points are edges, and their weights are distances or mutual reachability distances. No
edge is stored. The lightest edge of a fragment leads from one of its points to the nearest point
outside. A search in a balanced k-d tree finds the nearest point outside for a point. It skips a
node if all points of the node are in the fragment, or if the box of the node is too far away.

A point keeps its nearest point while this is outside its fragment. A point is skipped if its lower
bound exceeds the lightest edge that was found for its fragment. So later rounds take less time.

If the value `search_axes` is not 0, kernels search the tree of the projections of the points on
this number of principal axes. Projections bound distances from below, so the distances of points
whose projections are near enough are computed from all axes, and the result is the same.

Source: Boruvka, "O jistem problemu minimalnim" (1926), for the rounds. March, Ram and Gray, "Fast
Euclidean Minimum Spanning Tree: Algorithm, Analysis, and Applications" (KDD 2010), for the nodes
inside a fragment; the paper compares nodes with nodes, by two trees. Prokopenko, Sao and
Lebrun-Grandie, "A Single-Tree Algorithm to Compute the Euclidean Minimum Spanning Tree on GPUs"
(ICPP 2022), for a search per point, for bounds that hold over rounds, and for first bounds from
neighbors in the order of the tree. In that paper, a space-filling curve orders the points, and a
tie may go to either edge. Here the tree is split at medians, and ties go to the smaller edge id.
"""

from ...pipeline.catalogue.shared import LABEL
from ...pipeline.pipeline import Pipeline
from ...pipeline.steps import Loop
from ...stages import fragments
from ..stages import tree

boruvka_points = Pipeline(
    "boruvka-points",
    tree.drop_copies,
    tree.build_tree,
    tree.bound_nodes,
    tree.find_core_distances,
    tree.start_fragments,
    Loop(
        tree.find_nearest_outside,
        *LABEL,
        tree.relabel_points,
        fragments.contract_fragments,
        until=tree.all_joined,
    ),
    tree.attach_copies,
    tree.list_core_distances,
    values={"neighbors_per_point": 8, "search_axes": 0},
    summary="Boruvka on the points of mstflow.points, by a k-d tree",
)
