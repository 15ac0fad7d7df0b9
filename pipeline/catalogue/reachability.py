"""Mutual reachability: distances between samples become the weights by which HDBSCAN joins them.

Core distances take one pass over the edges for each neighbor up to the farthest that counts.

Source: Campello, Moulavi and Sander, "Density-Based Clustering Based on Hierarchical Density
Estimates", PAKDD 2013.

Promise: each weight is one of those given, or the largest of its dtype, the same in any partition.
"""

from ...stages.reachability import (
    bring_weights_together,
    count_sample,
    enough_samples,
    find_next_neighbors,
    start_core_distances,
    weigh_by_reachability,
)
from ..pipeline import Pipeline
from ..steps import Loop

#: Before the first stage of an algorithm these make its forest HDBSCAN's tree, by the strategies
#: "whole" and "iterate": the others suppose that an edge's weight is its own.
REACH = (
    start_core_distances,
    Loop(find_next_neighbors, count_sample, until=enough_samples),
    weigh_by_reachability,
)

reachability = Pipeline(
    "mutual-reachability",
    *REACH,
    bring_weights_together,
    result=("weights",),
    values={"min_samples": 5},
)
