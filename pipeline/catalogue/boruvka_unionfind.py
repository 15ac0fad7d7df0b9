"""Boruvka's algorithm on a union-find structure that all threads share without locks.

Each round every fragment takes its lightest outgoing edge, and all of them are united at once. A
union that finds both ends in one set already joins nothing, so an edge that two fragments chose is
taken once. A fragment is active while an edge leaves it; when at most one active fragment is left
after the unions, no edge can join anything, and a connected graph is spared its last round. Every
round reads all m edges: O(m log n) work.

Source: AlgoWiki, "Boruvka's algorithm", sections 1.5 and 2.3, with FIND, UPDATE and UNION as given
there: parent and rank are one word, which is changed by compare-and-swap. `by_rank=False` is the
simpler form without ranks. The text's other stop rules follow from the counter, but for one: with
`no_tree_joined` in the place of `one_active_left` a round must join nothing before the loop ends.
Its upper level, forests of parts of the edge list and then of their union, is the strategy "tree".
Two deviations: minima are found by a reduction where theirs are lowered by atomics; and before the
next round every vertex becomes a child of the smallest in its set, so that nothing depends on
which root the threads left.

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
    summary="Boruvka on a union-find that threads share without locks (AlgoWiki)",
)
