"""The condensed tree of HDBSCAN: the hierarchy without clusters that are too small.

From the root down, edges of equal weight are removed together (Algorithm 1, step 4.2 of the first
source). So the tree does not depend on the order of tied edges. Weights of
float64 that differ by rounding alone count as equal: `TOLERANCE`. If at least two components of
`min_cluster_size` or more vertices remain, the cluster splits into these components. Otherwise it
only loses vertices. The density of an edge is 1 / distance.

Sources: Campello, Moulavi and Sander, "Density-Based Clustering Based on Hierarchical Density
Estimates", PAKDD 2013; McInnes and Healy, "Accelerated Hierarchical Density Based Clustering",
ICDMW 2017.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..primitives.vocabulary import ArrayModule

#: The relative difference of float64 weights that are one distance, computed from rounded
#: coordinates. It is far less than the difference of unrelated weights, of which there are millions
#: in a hierarchy. Weights of float32 have no such gap, so they must be equal.
TOLERANCE = 4e-13


@dataclass(frozen=True, eq=False)
class CondensedTree:
    """Clusters in the order in which they split off, parents before children; 0 is the root.

    The root has all vertices. Components of the graph are joined at density 0.

    Attributes
    ----------
    parent : int64 array of length c
        The cluster from which each cluster split off. The root is its own parent.
    birth : float64 array of length c
        The density at which each cluster split off; 0 for the root.
    size : int64 array of length c
        The number of vertices at birth.
    home : int64 array of length n
        The last cluster of each vertex.
    density : float64 array of length n
        The density at which each vertex left its last cluster; infinity at distance 0.
    """

    parent: NDArray[np.int64]
    birth: NDArray[np.float64]
    size: NDArray[np.int64]
    home: NDArray[np.int64]
    density: NDArray[np.float64]

    @cached_property
    def stability(self) -> NDArray[np.float64]:
        """Excess of mass of each cluster (float64).

        Each vertex contributes the density at which it leaves the cluster, minus the density at
        which the cluster was born.
        """
        cluster = np.concatenate([self.home, self.parent[1:]])
        density = np.concatenate([self.density, self.birth[1:]])
        mass = np.concatenate([np.ones(len(self.home)), self.size[1:]])
        birth = self.birth[cluster]
        stays = density > birth  # both may be infinite, and their difference is not a number
        lifetime = np.subtract(density, birth, out=np.zeros_like(density), where=stays)
        total: NDArray[Any] = np.bincount(cluster, lifetime * mass, len(self.parent))
        return total

    @cached_property
    def death(self) -> NDArray[np.float64]:
        """The density at which each cluster splits or its last vertex leaves it (float64)."""
        death = np.zeros(len(self.parent))
        np.maximum.at(death, self.home, self.density)
        np.maximum.at(death, self.parent[1:], self.birth[1:])
        return death

    @cached_property
    def densest(self) -> NDArray[np.float64]:
        """The largest density at which a vertex leaves each cluster or one inside it (float64)."""
        densest = self.death.tolist()
        for cluster in range(len(densest) - 1, 0, -1):
            above = self.parent[cluster]
            densest[above] = max(densest[above], densest[cluster])
        return np.array(densest)

    @cached_property
    def outlier_scores(self) -> NDArray[np.float64]:
        """Score of each vertex between 0 and 1, higher for outliers (GLOSH; float64, length n).

        Source: Campello, Moulavi, Zimek and Sander, "Hierarchical Density Estimates for Data
        Clustering, Visualization, and Outlier Detection", TKDD 10 (2015).
        """
        return self.scores(self.density, self.home)

    def scores(self, density: NDArray[np.float64], home: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the score of vertices that leave the clusters `home` at these densities."""
        densest = self.densest[home]
        has_score = np.isfinite(density) & (densest > 0)
        with np.errstate(invalid="ignore"):
            score = 1 - density / np.where(has_score, densest, 1)
        return np.where(has_score, np.maximum(score, 0), 0.0)

    def memberships(
        self, density: NDArray[np.float64], cluster: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return how strongly vertices that leave the hierarchy at these densities are members.

        `cluster` is the flat cluster of each vertex; -1 is noise, whose membership is 0.
        """
        is_member = cluster >= 0
        death = np.where(is_member, self.death[cluster], 0)
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.minimum(density, death) / death
        is_certain = np.isinf(density) | (death == 0)
        return np.where(is_member, np.where(is_certain, 1.0, share), 0.0)


def condense(
    parent: NDArray[Any],
    size: NDArray[np.int64],
    weight: NDArray[Any],
    min_cluster_size: int,
    ops: ArrayModule,
) -> CondensedTree:
    """Return the condensed tree of a dendrogram; see `Dendrogram` for its arrays."""
    num_edges, dtype = len(size), parent.dtype
    n = len(parent) - num_edges
    edge, above = ops.arange(num_edges, dtype=dtype), parent[n:] - dtype.type(n)
    is_root = above == edge  # of a component
    with np.errstate(divide="ignore"):
        density = 1 / np.abs(weight.astype(np.float64))  # -0.0 is a distance of 0, too

    # Edges of equal weight are removed together: merge each edge with a parent of the same weight.
    heavier = ops.gather(weight, above)
    is_tied = ~is_root & (heavier == weight)
    if weight.dtype == np.float64:
        with np.errstate(invalid="ignore"):  # infinity - infinity is NaN
            is_tied |= ~is_root & (heavier - weight <= TOLERANCE * heavier)
    if is_tied.any():
        above = ops.gather(ops.pointer_jump(np.where(is_tied, above, edge)), above)

    is_large = (size >= min_cluster_size) & ~is_tied
    if n - num_edges == 1:
        is_large |= is_root  # the root is a cluster of any size
    (parents,) = ops.compact(is_large & ~is_root, above)
    num_large = ops.scatter_reduce(parents, np.ones_like(parents), num_edges, "sum", 0)
    is_cluster = is_large & (is_root | (ops.gather(num_large, above) >= 2))

    # `last` is the edge at which the vertices below an edge leave their last cluster. `top` is the
    # edge that creates this cluster.
    last = ops.pointer_jump(np.where(is_large | is_root, edge, above))
    top = ops.pointer_jump(np.where(is_cluster | is_root, edge, above))
    tops = ops.compact(is_cluster, edge)[0][::-1]
    # If several components are large, the root joins them at density 0 and has no edge.
    has_top = int(np.count_nonzero(is_cluster & is_root) == 1)
    number = np.zeros(num_edges, dtype)
    number[tops] = np.arange(len(tops)) + 1 - has_top
    cluster, inner_top = ops.gather(number, top), tops[has_top:]
    split = above[inner_top]
    is_split = split != inner_top
    lowest = np.where(parent[:n] >= n, parent[:n] - dtype.type(n), dtype.type(num_edges))
    home, left_at = ops.gather(cluster, last), ops.gather(np.where(is_large, density, 0), last)
    return CondensedTree(
        np.concatenate([[0], np.where(is_split, cluster[split], 0)]),
        np.concatenate([[0.0], np.where(is_split, density[split], 0)]),
        np.concatenate([[n], size[inner_top]]),
        ops.gather(home, lowest, fill=0).astype(np.int64),
        ops.gather(left_at, lowest, fill=0.0),
    )
