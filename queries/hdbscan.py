"""The flat clusters of HDBSCAN, selected from the condensed tree, with membership probabilities.

Source: Campello, Moulavi and Sander, "Density-Based Clustering Based on Hierarchical Density
Estimates", PAKDD 2013. The threshold `epsilon` is from Malzer and Baum, "A Hybrid Approach To
Hierarchical Density-based Cluster Selection", MFI 2020.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import OptionError
from ..pipeline.options import check_count
from .condense import TOLERANCE, CondensedTree


class Clusters(NamedTuple):
    """Flat clusters of vertices.

    Attributes
    ----------
    labels : int64 array of length n
        The cluster of each vertex, numbered by first vertex; -1 is noise.
    probabilities : float64 array of length n
        The membership strength of each vertex in its cluster, from 0 to 1; 0 for noise.
    outlier_scores : float64 array of length n
        From 0 to 1, higher for outliers (GLOSH).
    """

    labels: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    outlier_scores: NDArray[np.float64]


def select(
    tree: CondensedTree,
    method: Literal["eom", "leaf"],
    epsilon: float,
    max_cluster_size: int | None,
    allow_single_cluster: bool,
) -> tuple[Clusters, list[int]]:
    """Return the flat clusters of a condensed tree; `Dendrogram.hdbscan` documents the options.

    Return also, for each cluster of the tree, the selected one that contains it; -1 for none.
    """
    check_count("max_cluster_size", max_cluster_size, 1)
    if method not in ("eom", "leaf"):
        message = f"method must be 'eom' or 'leaf', not {method!r}"
        raise OptionError(message)
    if not epsilon >= 0:
        message = f"epsilon must be a distance of at least 0, not {epsilon!r}"
        raise OptionError(message)
    parent = tree.parent.tolist()
    if method == "leaf":
        selected = set(range(1, len(parent))) - set(parent)
    else:
        selected = _most_stable(tree, max_cluster_size or math.inf, allow_single_cluster)
    if epsilon and selected != {0}:
        selected = {_merge_up(tree, cluster, epsilon, allow_single_cluster) for cluster in selected}
    outermost = _outermost(parent, selected)
    return _label_vertices(tree, outermost, epsilon), outermost


def _most_stable(tree: CondensedTree, max_size: float, allow_root: bool) -> set[int]:
    """Select disjoint clusters of the greatest total stability; prefer outer clusters on ties."""
    parent, size, best = tree.parent.tolist(), tree.size.tolist(), tree.stability.tolist()
    best_inside, selected = [0.0] * len(parent), set()
    for cluster in range(len(parent) - 1, -1 if allow_root else 0, -1):
        if best_inside[cluster] <= best[cluster] and size[cluster] <= max_size:
            selected.add(cluster)
        else:
            best[cluster] = best_inside[cluster]
        best_inside[parent[cluster]] += best[cluster]
    return set(_outermost(parent, selected)) - {-1}


def _outermost(parent: list[int], selected: set[int]) -> list[int]:
    """Return the outermost selected cluster that contains each cluster; -1 if there is none."""
    outermost = [0 if 0 in selected else -1]
    for cluster, above in enumerate(parent[1:], 1):  # parents come before their children
        is_outermost = outermost[above] < 0 and cluster in selected
        outermost.append(cluster if is_outermost else outermost[above])
    return outermost


def _merge_up(tree: CondensedTree, cluster: int, epsilon: float, allow_root: bool) -> int:
    """Return the cluster, or its nearest ancestor that was born at a distance of `epsilon` or more.

    An ancestor below the root is returned if there is none and `allow_root` is false.
    """
    limit = (1 / epsilon) * (1 + TOLERANCE)
    while tree.birth[cluster] > limit:
        above = int(tree.parent[cluster])
        if above == 0:
            return 0 if allow_root else cluster
        cluster = above
    return cluster


def _label_vertices(tree: CondensedTree, label: list[int], epsilon: float) -> Clusters:
    """Return the flat clusters, given the label of each cluster of the tree; -1 is noise."""
    home = np.array(label)[tree.home]
    if label[0] == 0:  # the root is selected: exclude the vertices that leave it early
        limit = (1 / epsilon) * (1 - TOLERANCE) if epsilon else tree.death[0]
        home[tree.density < limit] = -1
    probability = tree.memberships(tree.density, home)
    return Clusters(_number_by_first_vertex(home), probability, tree.outlier_scores)


def _number_by_first_vertex(cluster: NDArray[np.int64]) -> NDArray[np.int64]:
    """Renumber the clusters by their first vertices; -1 is unchanged."""
    n, count = len(cluster), int(cluster.max(initial=-1)) + 1
    first = np.full(count + 1, n)  # the last entry is that of -1
    np.minimum.at(first, cluster, np.arange(n))
    order = np.argsort(first[:count], kind="stable")
    number = np.full(count + 1, -1)
    number[order] = np.arange(count)
    labels: NDArray[np.int64] = number[cluster]
    return labels
