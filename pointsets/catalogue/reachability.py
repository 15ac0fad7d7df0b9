"""Mutual reachability: convert the distances between samples to the weights of HDBSCAN.

Promise: a new weight is one of the given weights, or the largest value of the dtype. It does not
depend on the partitions.

Source: Campello, Moulavi and Sander, "Density-Based Clustering Based on Hierarchical Density
Estimates", PAKDD 2013, definitions 1 to 4.
"""

from ...pipeline.pipeline import Pipeline
from ...pipeline.steps import Loop
from ..stages import reachability as steps

#: Insert these steps before an algorithm to compute the tree of HDBSCAN. They need the strategy
#: "whole", or "iterate" without `memory`: other strategies drop edges before their new weights are
#: known.
REACH = (
    steps.start_core_distances,
    steps.list_neighbors,
    Loop(
        steps.drop_found_neighbors,
        steps.find_next_neighbors,
        steps.count_sample,
        until=steps.enough_samples,
    ),
    steps.weigh_by_reachability,
)

reachability = Pipeline(
    "mutual-reachability",
    *REACH,
    steps.list_weights,
    result=("weights",),
    values={"min_samples": 5},
)
