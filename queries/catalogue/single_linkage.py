"""The single-linkage hierarchy of a forest: sort the edges, then merge clusters in this order.

The primitive `merge_in_order` merges the clusters: by rounds of parallel steps (PANDORA), or in one
compiled loop. The pipeline needs the strategy "whole".

Source: Sao, Prokopenko and Lebrun-Grandie, "PANDORA: A Parallel Dendrogram Construction Algorithm
for Single Linkage Clustering on GPU", ICPP 2024.
"""

from ...pipeline.pipeline import Pipeline
from ...stages.edges import concatenate_edges
from ..stages.hierarchy import merge_clusters, rank_edges

single_linkage = Pipeline(
    "single-linkage",
    concatenate_edges,
    rank_edges,
    merge_clusters,
    result=("order", "parent", "size"),
    summary="Single-linkage hierarchy of a forest (PANDORA)",
)
