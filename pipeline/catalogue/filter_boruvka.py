"""Boruvka's algorithm in two scans: light edges first, then the heavy ones that still matter.

A pivot parts the edges so that the light ones are few, but enough to join most vertices into few
fragments. Boruvka rounds contract them. Then one scan over all edges drops those inside a fragment,
on random graphs nearly all of them, and further rounds finish what is left. The edge list is only
streamed, twice; rounds work on small graphs. Graphs of few edges take the first part alone.

Source: the filter is that of Osipov, Sanders and Singler, "The Filter-Kruskal Minimum Spanning Tree
Algorithm" (ALENEX 2009); with Boruvka as the base case, Sanders and Schimek, "Engineering Massively
Parallel MST Algorithms" (IPDPS 2023). Theirs recurse; one pivot is enough here.

Promise: the forest that is minimal under (weight, edge id), on any backend and in any partition.
"""

from ...stages.edges import count_edges, no_edges_left, order_weights
from ...stages.filter import (
    choose_pivot,
    hold_edges,
    sample_keys,
    select_joining_edges,
    select_light_edges,
)
from ...stages.fragments import compose_labels, start_forest, start_labels
from ..pipeline import Pipeline
from ..steps import Loop
from .boruvka_edgelist import CONTRACT, JOIN

filter_boruvka = Pipeline(
    "filter-boruvka",
    order_weights,
    count_edges,
    sample_keys,
    choose_pivot,
    hold_edges,
    select_light_edges,
    count_edges,
    start_forest,
    start_labels,
    Loop(*JOIN, compose_labels, *CONTRACT, until=no_edges_left),
    select_joining_edges,
    count_edges,
    Loop(*JOIN, *CONTRACT, until=no_edges_left),
    summary="Boruvka on light edges, then on the heavy ones that join fragments; the default",
)
