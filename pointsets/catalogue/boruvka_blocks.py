"""Boruvka's algorithm on points, by all distances, for many dimensions or any metric.

All pairs of points are edges, as for `boruvka-points`. In many dimensions, no search tree skips
enough of them. So a pass computes all distances, a block at a time. The number of passes decides
the time:

1. The first pass finds the nearest points of each point, its candidates.
2. A fragment chooses its lightest edge if the candidates of its points include it for certain. A
   round joins the fragments that choose. The other fragments wait.
3. If no fragment can choose, a pass finds new candidates for the points that prevent a choice. The
   points of the largest waiting fragment are omitted, because other fragments will join it.
4. If few fragments remain, but a pass would search for a quarter of the points or more, the last
   pass compares all fragments with each other. Ordinary rounds join them by the lightest edge
   between any two.

So one pass is enough if the points are one cloud, and two if they form clusters. Memory is linear
in the number of points.

Source: Boruvka, "O jistem problemu minimalnim" (1926), for the rounds. Neighbor graphs joined by
further searches are from Arefin, Riveros, Berretta and Moscato, "kNN-Boruvka-GPU: A Fast and
Scalable MST Construction from kNN Graphs on GPU" (ICCSA 2012). Fragments that wait, and the last
comparison, are not in these papers.
"""

from ...pipeline.catalogue.shared import CONTRACT, JOIN, LABEL
from ...pipeline.pipeline import Pipeline
from ...pipeline.steps import Loop, When
from ...stages import edges, fragments
from ..stages import blocks, tree

boruvka_blocks = Pipeline(
    "boruvka-blocks",
    tree.drop_copies,
    blocks.find_neighbors_in_blocks,
    blocks.weigh_candidates,
    blocks.start_fragments,
    blocks.choose_candidates,
    Loop(
        When(
            blocks.none_chosen,
            blocks.find_nearest_in_blocks,
            blocks.choose_candidates,
        ),
        *LABEL,
        tree.relabel_points,
        fragments.contract_fragments,
        blocks.choose_candidates,
        until=blocks.comparing_pays,
    ),
    blocks.compare_fragments,
    edges.count_edges,
    Loop(*JOIN, *CONTRACT, until=edges.no_edges_left),
    tree.attach_copies,
    blocks.list_core_distances,
    values={"spare_candidates": 8},
    summary="Boruvka on the points of mstflow.points, by blocks of all distances",
)


def divide_distances(alpha: float) -> Pipeline:
    """Return `boruvka_blocks` with distances divided by `alpha`, except for the core distances.

    The pipeline multiplies the core distances instead, so all weights are `alpha` times too large.
    """
    scaled = boruvka_blocks.insert_after(
        blocks.find_neighbors_in_blocks.name, blocks.scale_core_distances
    )
    return scaled.given(alpha=alpha)
