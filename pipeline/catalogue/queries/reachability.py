"""Mutual reachability: convert the distances between samples to the weights of HDBSCAN.

Promise: a new weight is one of the given weights, or the largest value of the dtype. It does not
depend on the partitions.

Source: Campello, Moulavi and Sander, "Density-Based Clustering Based on Hierarchical Density
Estimates", PAKDD 2013, definitions 1 to 4.
"""

from ....stages.queries.reachability import (
    count_sample,
    enough_samples,
    find_next_neighbors,
    list_weights,
    start_core_distances,
    weigh_by_reachability,
)
from ...pipeline import Pipeline
from ...steps import Loop

#: Insert these steps before an algorithm to compute the tree of HDBSCAN. They need the strategy
#: "whole", or "iterate" without `memory`: other strategies drop edges before their new weights are
#: known.
REACH = (
    start_core_distances,
    Loop(find_next_neighbors, count_sample, until=enough_samples),
    weigh_by_reachability,
)

reachability = Pipeline(
    "mutual-reachability", *REACH, list_weights, result=("weights",), values={"min_samples": 5}
)
