"""The algorithm of Karger, Klein and Tarjan: the forest of a sample shows which edges are heavy.

Two rounds of Boruvka leave a quarter of the vertices. A sample has each edge with probability 1/2,
and the algorithm itself finds its forest. An edge that is heavier than all edges of the path
between its ends in this forest is dropped. About two edges per vertex remain, independent of the
number of edges before. The steps repeat until few edges remain, which rounds of Boruvka join.

Source: Karger, Klein and Tarjan, "A Randomized Linear-Time Algorithm to Find Minimum Spanning
Trees", J. ACM 42 (1995). Three deviations:

- The second recursion, on the edges that are left, is the next pass of a loop.
- The bits of a hash select the sample, so each run takes the same steps.
- A table of maxima finds the heaviest edge of a path: n log n for the table, 1 for each edge.

Work: m + n log n expected, m log n worst case.
Span: log³ n.
Use it for: experiments with recursion; the filter of `filter-boruvka` takes fewer passes.
"""

from ....stages import edges, fragments, heavy
from ...pipeline import Pipeline
from ...steps import Loop, Recurse
from ..shared import CONTRACT, JOIN

karger_klein_tarjan = Pipeline(
    "karger-klein-tarjan",
    edges.drop_loops,
    edges.count_edges,
    Loop(
        *JOIN,
        *CONTRACT,
        *JOIN,
        *CONTRACT,
        heavy.sample_half,
        Recurse(edges="sample", forest="sample_forest"),
        fragments.sort_forest_ids.renamed(forest="sample_forest"),
        heavy.select_sample_forest,
        heavy.index_paths,
        heavy.drop_heavy_edges,
        edges.count_edges,
        until=heavy.few_edges_left,
    ),
    Loop(*JOIN, *CONTRACT, until=edges.no_edges_left),
    values={"small": 2**12},
    summary="drop the edges that are heavy for the forest of a sample (Karger, Klein and Tarjan)",
)
