"""The single-linkage hierarchy of a forest, by Boruvka rounds on its edges.

Source: Sao, Prokopenko and Lebrun-Grandie, "PANDORA: A Parallel Dendrogram Construction Algorithm
for Single Linkage Clustering on GPU", ICPP 2024.

Deviation: the contraction of the paper is a Boruvka round, so the stages of such a round are used.
Each round finds chains; the paper walks up all levels at the end.

Promise: the hierarchy of the order (weight, edge id), on any backend. Only with strategy "whole".
"""

from ...pipeline.catalogue.boruvka_edgelist import CONTRACT, JOIN
from ...pipeline.pipeline import Pipeline
from ...pipeline.steps import Loop
from ...stages.edges import bring_edges_together, count_edges, no_edges_left
from ...stages.hierarchy import (
    close_chains,
    end_rounds,
    hang_nodes,
    open_chains,
    rank_edges,
    sort_chains,
    start_chains,
    sum_sizes,
)

_find_min_edges, *_hook = JOIN

merging = Pipeline(
    "single-linkage",
    bring_edges_together,
    rank_edges,
    start_chains,
    count_edges,
    Loop(
        _find_min_edges,
        close_chains,
        *_hook,
        open_chains,
        *CONTRACT,
        until=no_edges_left,
    ),
    end_rounds,
    close_chains,
    sort_chains,
    hang_nodes,
    sum_sizes,
    result=("order", "parent", "size"),
    summary="Single-linkage hierarchy of a forest by Boruvka rounds (PANDORA)",
)
