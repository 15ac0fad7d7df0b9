"""The single-linkage hierarchy of a forest: sort the edges, then merge clusters in this order.

The primitive `merge_in_order` merges the clusters: by rounds of parallel steps (PANDORA), or in one
compiled loop.

Source: Sao, Prokopenko and Lebrun-Grandie, "PANDORA: A Parallel Dendrogram Construction Algorithm
for Single Linkage Clustering on GPU", ICPP 2024.

Promise: the hierarchy of the order (weight, edge id), on any backend. Only with strategy "whole".
"""

from ...pipeline.pipeline import Pipeline
from ...stages.edges import bring_edges_together
from ...stages.hierarchy import merge_clusters, rank_edges

merging = Pipeline(
    "single-linkage",
    bring_edges_together,
    rank_edges,
    merge_clusters,
    result=("order", "parent", "size"),
    summary="Single-linkage hierarchy of a forest (PANDORA)",
)
