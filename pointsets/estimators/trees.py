"""The hierarchy of a fitted estimator, in the columns and by the definitions of hdbscan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...forest.forest import Forest
from ...queries.condense import CondensedTree


@dataclass(frozen=True, eq=False)
class Rows:
    """A table: the rows of an array, and the names of its columns."""

    array: NDArray[Any]
    names: tuple[str, ...]

    def to_numpy(self) -> NDArray[Any]:
        """Return a copy of the array."""
        return self.array.copy()

    def to_pandas(self) -> Any:
        """Return a data frame with the names of the columns."""
        import pandas

        return pandas.DataFrame(self.array, columns=list(self.names))


def condensed_rows(tree: CondensedTree) -> Rows:
    """Return a row for each vertex and each cluster: where it leaves its parent, and its size."""
    n, count = len(tree.home), len(tree.parent)
    names = ("parent", "child", "lambda_val", "child_size")
    rows = np.empty(n + count - 1, [*zip(names, ("i8", "i8", "f8", "i8"), strict=True)])
    rows["parent"] = n + np.concatenate([tree.home, tree.parent[1:]])
    rows["child"] = np.concatenate([np.arange(n), n + np.arange(1, count)])
    rows["lambda_val"] = np.concatenate([tree.density, tree.birth[1:]])
    rows["child_size"] = np.concatenate([np.ones(n, np.int64), tree.size[1:]])
    return Rows(rows[np.argsort(rows["parent"], kind="stable")], names)


def linkage_rows(linkage: NDArray[np.float64]) -> Rows:
    """Return the rows of a linkage matrix, as SciPy defines it."""
    return Rows(linkage, ("left_child", "right_child", "distance", "size"))


def tree_rows(forest: Forest) -> Rows:
    """Return a row for each edge of the forest, lightest first."""
    rows = np.stack([forest.u, forest.v, forest.weight], axis=1, dtype=np.float64)
    return Rows(rows[np.argsort(rows[:, 2], kind="stable")], ("from", "to", "distance"))


def clusters_of(
    tree: CondensedTree, labels: NDArray[np.int64], selected: Sequence[int]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the cluster of the tree that each label stands for, and its number of vertices."""
    is_member = labels >= 0
    _, first, sizes = np.unique(labels[is_member], return_index=True, return_counts=True)
    return np.asarray(selected)[tree.home[is_member][first]], sizes


def label_clusters(clusters: NDArray[np.int64], selected: Sequence[int]) -> NDArray[np.int64]:
    """Return the label of each cluster of the tree, which its selected one has; -1 for none."""
    label = np.full(len(selected) + 1, -1)  # the last entry is that of -1
    label[clusters] = np.arange(len(clusters))
    labels: NDArray[np.int64] = label[np.asarray(selected)]
    return labels


def persistence(
    tree: CondensedTree, clusters: NDArray[np.int64], sizes: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the stability of each cluster, relative to its size and the largest density.

    It is 1 if the largest density is infinite or 0.
    """
    largest = float(max(tree.density.max(initial=0.0), tree.birth.max()))
    if not 0 < largest < np.inf:
        return np.ones(len(clusters))
    relative: NDArray[np.float64] = tree.stability[clusters] / (sizes * largest)
    return relative


def exemplars(
    tree: CondensedTree, clusters: NDArray[np.int64], selected: Sequence[int]
) -> list[NDArray[np.int64]]:
    """Return the exemplars of each cluster: the last vertices of each leaf inside it."""
    is_leaf = np.ones(len(tree.parent), bool)
    is_leaf[tree.parent[1:]] = False
    is_last = is_leaf[tree.home] & (tree.density == tree.death[tree.home])
    cluster_of = np.asarray(selected)[tree.home]
    return [np.flatnonzero(is_last & (cluster_of == cluster)) for cluster in clusters]
