"""Boruvka's algorithm on a lock-free union-find structure that all threads share.

In each round every fragment takes its lightest outgoing edge, and all these unions run at once. A
union of two ends in one set does nothing, so an edge that two fragments chose is taken once. A
fragment is active while an edge leaves it. If at most one active fragment is left after the unions,
no edge can join anything, which saves a connected graph its last round. Every round reads all m
edges: O(m log n) work.

Source: AlgoWiki, "Boruvka's algorithm", sections 1.5 and 2.3, with its FIND, UPDATE and UNION:
parent and rank are one word, changed by compare-and-swap. `by_rank=False` is the simpler form
without ranks. The source's other stop rules follow from the counter except for one: with
`no_tree_joined` in place of `one_active_left`, the loop ends after a round that joins nothing. Its
upper level, forests of parts of the edge list and then of their union, is the strategy "tree". Two
deviations: minima are found by a reduction instead of atomics; and before the next round every
vertex becomes a child of the smallest vertex of its set, so that nothing depends on which root the
threads chose.

Promise: the forest that is minimal under (weight, edge id), on any backend and in any partition.
"""

from ...stages.trees import assign_cheapest, one_active_left, start_active, start_trees, unite_trees
from ..pipeline import Pipeline
from ..steps import Loop

boruvka_unionfind = Pipeline(
    "boruvka-unionfind",
    start_trees,
    start_active,
    Loop(
        assign_cheapest,
        unite_trees,
        until=one_active_left,
    ),
    values={"by_rank": True},
    summary="Boruvka with a lock-free union-find (AlgoWiki)",
)
