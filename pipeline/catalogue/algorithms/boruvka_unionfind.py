"""Boruvka's algorithm on a lock-free union-find structure that all threads share.

In a round, every fragment takes the lightest edge that leaves it, and threads unite the ends of all
these edges in parallel. A union does nothing if both ends are already in one set, so an edge that
two fragments chose is taken once. A fragment is active while an edge leaves it. If at most one
fragment is active after the unions, no edge can join two fragments. The loop then ends, which saves
the last round on a connected graph.

Source: AlgoWiki, "Boruvka's algorithm", sections 1.5 and 2.3, with its FIND, UPDATE and UNION.
Parent and rank are one word, which is modified by compare-and-swap. Variants of the source:

- `by_rank=False` unites without ranks.
- With `no_tree_joined` in place of `one_active_left`, the loop ends after a round that joins
  nothing.
- The strategy "scan" is the upper level of the source: solve parts of the edge list, then their
  union.

Two deviations: minima are found by a reduction instead of atomics. Before the next round, every
vertex becomes a child of the smallest vertex of its set, because threads may choose any root.

Work: m log n, every edge in every round.
Span: log² n, if few unions collide.
Use it for: repeating the measurements of its source.
"""

from ....stages import trees
from ...pipeline import Pipeline
from ...steps import Loop

boruvka_unionfind = Pipeline(
    "boruvka-unionfind",
    trees.start_trees,
    trees.start_active,
    Loop(trees.assign_cheapest, trees.unite_trees, until=trees.one_active_left),
    values={"by_rank": True},
    summary="Boruvka with a lock-free union-find (AlgoWiki)",
    footprint=2.3,
)
