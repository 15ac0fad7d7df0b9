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

from ...errors import OptionError
from ...pipeline.options import check_count
from .condense import CondensedTree


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
    *,
    method: Literal["eom", "leaf"] = "eom",
    epsilon: float = 0.0,
    max_cluster_size: int | None = None,
    allow_single_cluster: bool = False,
) -> Clusters:
    """Return the flat clusters that `Dendrogram.hdbscan` describes."""
    check_count("max_cluster_size", max_cluster_size, 1)
    if method not in ("eom", "leaf"):
        message = f"method must be 'eom' or 'leaf', not {method!r}"
        raise OptionError(message)
    if not epsilon >= 0:
        message = f"epsilon must be a distance of at least 0, not {epsilon!r}"
        raise OptionError(message)
    parent = tree.parent.tolist()
    if method == "leaf":
        chosen = set(range(1, len(parent))) - set(parent)
    else:
        chosen = _most_stable(tree, max_cluster_size or math.inf, allow_single_cluster)
    if epsilon and chosen != {0}:
        chosen = {_widened(tree, each, epsilon, allow_single_cluster) for each in chosen}
        chosen = {each for each in chosen if not _has_ancestor_in(parent, each, chosen)}
    return _clusters(tree, chosen, epsilon)


def _most_stable(tree: CondensedTree, largest: float, allow_root: bool) -> set[int]:
    """Choose disjoint clusters of the greatest total stability; prefer outer clusters on ties."""
    parent, size, best = tree.parent.tolist(), tree.size.tolist(), tree.stability.tolist()
    within, is_chosen = [0.0] * len(parent), [False] * len(parent)
    for cluster in range(len(parent) - 1, -1 if allow_root else 0, -1):
        is_chosen[cluster] = within[cluster] <= best[cluster] and size[cluster] <= largest
        if not is_chosen[cluster]:
            best[cluster] = within[cluster]
        within[parent[cluster]] += best[cluster]
    is_within = [False] * len(parent)
    for cluster in range(1, len(parent)):  # parents come before their children
        is_within[cluster] = is_within[parent[cluster]] or is_chosen[parent[cluster]]
    return {c for c in range(len(parent)) if is_chosen[c] and not is_within[c]}


def _widened(tree: CondensedTree, cluster: int, epsilon: float, allow_root: bool) -> int:
    """Return the nearest ancestor whose birth was at a distance above `epsilon`."""

    def distance(cluster: int) -> float:
        return 1 / tree.birth[cluster] if tree.birth[cluster] else math.inf

    if distance(cluster) >= epsilon:
        return cluster
    while distance(cluster) <= epsilon:
        above = int(tree.parent[cluster])
        if above == 0:
            return 0 if allow_root else cluster
        cluster = above
    return cluster


def _has_ancestor_in(parent: list[int], cluster: int, chosen: set[int]) -> bool:
    while cluster:
        cluster = parent[cluster]
        if cluster in chosen:
            return True
    return False


def _clusters(tree: CondensedTree, chosen: set[int], epsilon: float) -> Clusters:
    """Label the vertices of the chosen clusters, and of all clusters within them."""
    taken = [0 if 0 in chosen else -1]
    for cluster, parent in enumerate(tree.parent[1:].tolist(), 1):
        taken.append(cluster if cluster in chosen else taken[parent])
    home = np.array(taken)[tree.home]
    if chosen == {0}:  # only vertices that stay in the root to the end
        limit = 1 / epsilon if epsilon else tree.death[0]
        home[tree.density < limit] = -1
    is_member = home >= 0
    death = np.where(is_member, tree.death[home], 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.minimum(tree.density, death) / death
    is_certain = np.isinf(tree.density) | (death == 0)
    probability = np.where(is_member, np.where(is_certain, 1.0, share), 0.0)
    return Clusters(_numbered_by_first_vertex(home), probability, tree.outlier_scores)


def _numbered_by_first_vertex(cluster: NDArray[np.int64]) -> NDArray[np.int64]:
    """Renumber the clusters by their first vertices; -1 is unchanged."""
    n, count = len(cluster), int(cluster.max(initial=-1)) + 1
    first = np.full(count + 1, n)  # the last entry is that of -1
    np.minimum.at(first, cluster, np.arange(n))
    order = np.argsort(first[:count], kind="stable")
    number = np.full(count + 1, -1)
    number[order] = np.arange(count)
    labels: NDArray[np.int64] = number[cluster]
    return labels
