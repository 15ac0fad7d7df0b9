"""Kruskal's algorithm on light edges first, so that most heavy ones are never sorted.

Source: Osipov, Sanders and Singler, "The Filter-Kruskal Minimum Spanning Tree Algorithm", ALENEX
2009. Theirs parts at the median and recurses on both sides; here a little over one light edge for
each vertex goes to Kruskal at once, and the heavy ones that join two trees are parted again.

Promise: the forest that is minimal under (weight, edge id), on any backend and in any partition.
"""

from ...stages.edges import count_edges, find_signs, order_weights
from ...stages.filter import (
    choose_pivot,
    hold_edges,
    sample_keys,
    select_joining_edges,
    select_light_edges,
    sparse_graph_left,
)
from ...stages.fragments import (
    add_level,
    collect_forest_edges,
    compose_labels,
    contract_fragments,
    list_forest,
    start_forest,
    start_levels,
)
from ...stages.kruskal import bring_edges_together, join_by_weight
from ..pipeline import Pipeline
from ..steps import Loop
from .filter_boruvka import JOIN_REST, PARAMETERS

filter_kruskal = Pipeline(
    "filter-kruskal",
    find_signs,
    order_weights,
    count_edges,
    start_forest,
    Loop(
        sample_keys,
        choose_pivot,
        hold_edges,
        select_light_edges,
        start_levels,
        *JOIN_REST,
        add_level,
        contract_fragments,
        compose_labels,
        select_joining_edges,
        count_edges,
        until=sparse_graph_left,
    ),
    bring_edges_together,
    join_by_weight,
    collect_forest_edges,
    list_forest,
    values=PARAMETERS,
    summary="Kruskal on light edges, then on the heavy ones that join trees",
)
