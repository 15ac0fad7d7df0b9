"""Boruvka's algorithm on points, by blocks of all distances, for many dimensions or any metric.

All pairs of points are edges, as for `boruvka-points`. In many dimensions no search tree skips
enough of them, so all distances are computed, a block at a time. The number of such passes decides
the time, so the algorithm avoids them:

1. One pass finds the nearest neighbors of each point, its candidates.
2. A fragment chooses its lightest edge if the candidates of its points include it for certain. Each
   round joins the fragments that choose. The others wait.
3. If no fragment can choose, a search in blocks finds new candidates: only for points that prevent
   a choice, and not for the largest of the waiting fragments. It never has to choose, because the
   others join it.
4. If few fragments are left but most points would be searched for, a last pass compares all
   fragments with each other. Ordinary rounds join them by the lightest edge between each two.

So one pass is enough if the points are one cloud, and two if they form clusters. Memory is linear
in the number of points.

Source: Boruvka, "O jistem problemu minimalnim" (1926), for the rounds. Neighbor graphs joined by
further searches are from Arefin, Riveros, Berretta and Moscato, "kNN-Boruvka-GPU: A Fast and
Scalable MST Construction from kNN Graphs on GPU" (ICCSA 2012). Fragments that wait, and the last
comparison, are additions.
"""

from typing import Any

from ....stages import edges, fragments
from ....stages.points import blocks, tree
from ...pipeline import Pipeline
from ...steps import Loop, When
from ..algorithms.boruvka_edgelist import CONTRACT, JOIN
from .boruvka_points import boruvka_points

#: The largest dimension for which a tree is faster: in many dimensions, it skips few points.
TREE_DIMENSIONS = 20

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
        *JOIN[1:],
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
    values={"num_spare": 8},
    summary="Boruvka on the points of mstflow.points, by blocks of all distances",
)


def choose_for_points(points: Any) -> Pipeline:
    """Return the pipeline for a `PointSegment`; see `mstflow.points` for the rule."""
    is_for_tree = isinstance(points.metric, str) and points.rows.shape[1] <= TREE_DIMENSIONS
    return boruvka_points if is_for_tree else boruvka_blocks


def divide_distances(alpha: float) -> Pipeline:
    """Return `boruvka_blocks` for distances divided by `alpha`, but not the core distances.

    It multiplies the core distances instead, so the weights are too large by this factor.
    """
    scaled = boruvka_blocks.insert_after(
        blocks.find_neighbors_in_blocks.name, blocks.scale_core_distances
    )
    return scaled.given(alpha=alpha)
