"""Predictions for new samples from a fitted `HDBSCAN`, by the definitions of the package hdbscan.

A new sample joins the hierarchy at the nearest sample of the fit, by mutual reachability distance.
The density of this join is 1 / distance. The hierarchy itself does not change, so labels may differ
from those of a fit with the new samples. Differences from the package:

- The core distances of the fit's samples are those of the fit.
- `alpha` divides the distances, as in the fit.
- If a sample meets several clusters at one density, the densest one decides whether it belongs to
  any cluster; in the package, the first one does.
- Samples may be equal, so densities may be infinite.
- Outlier scores are at least 0.

Sources: Campello, Moulavi, Zimek and Sander, "Hierarchical Density Estimates for Data Clustering,
Visualization, and Outlier Detection", TKDD 10 (2015), for outlier scores; the documentation of the
package, "Predicting clusters for new points" and "How Soft Clustering for HDBSCAN Works".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.validation import check_is_fitted, validate_data

from ...queries.condense import CondensedTree
from .forests import neighbor_search

#: Infinite densities are replaced by this one, whose ratios to others and to 1e-8 are finite.
_DENSEST = 1e150
#: The smallest difference of densities in outlier memberships.
_LEAST = 1e-8

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PredictionData:
    """The samples and the hierarchy of a fit.

    Attributes
    ----------
    raw_data : array or sparse matrix of shape (n, features)
    finite : int64 array
        The samples without missing and infinite values.
    estimator : HDBSCAN
        The parameters of the fit.
    min_samples : int
    alpha : float
    tree : CondensedTree
    label : int64 array
        The label of each cluster of the tree; -1 for none.
    clusters : int64 array
        The cluster of the tree for each label.
    exemplars : list of int64 arrays
        The exemplars of each cluster.
    """

    raw_data: Any
    finite: NDArray[np.int64]
    estimator: Any
    min_samples: int
    alpha: float
    tree: CondensedTree
    label: NDArray[np.int64]
    clusters: NDArray[np.int64]
    exemplars: list[NDArray[np.int64]]

    @cached_property
    def empty_search(self) -> NearestNeighbors:
        """The search with the metric of the fit, without samples."""
        return neighbor_search(self.estimator, self.raw_data[self.finite])

    @cached_property
    def search(self) -> NearestNeighbors:
        """The search among the finite samples."""
        return clone(self.empty_search).fit(self.raw_data[self.finite])

    def join(self, samples: Any) -> tuple[NDArray[np.int64], Floats]:
        """Return the nearest sample of each new one, and the density at which they join.

        The nearest ``2 * (min_samples - 1)`` samples by distance are compared.
        """
        rank, size = self.min_samples - 1, len(self.finite)
        distance, neighbor = self.search.kneighbors(samples, min(size, max(rank + 1, 2 * rank)))
        known, place = np.unique(neighbor, return_inverse=True)
        of_known, _ = self.search.kneighbors(self.raw_data[self.finite[known]], rank + 1)
        core = of_known[:, rank][place.reshape(neighbor.shape)]
        reach = np.maximum(distance / self.alpha, np.maximum(core, distance[:, [rank]]))
        row, column = np.arange(len(reach)), reach.argmin(axis=1)
        with np.errstate(divide="ignore"):
            density = 1 / reach[row, column]
        return self.finite[neighbor[row, column]], density

    def nearness(self, samples: Any) -> Floats:
        """Return 1 / distance to the nearest exemplar of each cluster, with a sum of 1 per row.

        If the distance to some clusters is 0, these share the sum.
        """
        distance = np.empty((samples.shape[0], len(self.clusters)))
        for column, rows in enumerate(self.exemplars):
            search = clone(self.empty_search).fit(self.raw_data[rows])
            distance[:, column] = search.kneighbors(samples, 1)[0].ravel()
        is_zero = distance == 0
        has_zero = is_zero.any(axis=1, keepdims=True)
        return _normalised(np.where(has_zero, is_zero, 1 / np.where(is_zero, 1, distance)))

    def meetings(self, home: NDArray[np.int64], density: Floats) -> Floats:
        """Return the density at which samples and each cluster are in one cluster of the tree.

        It is the density at which the smallest common cluster splits. If that is the cluster of the
        sample or the other one, it is the density of the sample.
        """
        parent = self.tree.parent
        own, place = np.unique(home, return_inverse=True)
        left, right = (each.copy() for each in np.broadcast_arrays(own[:, None], self.clusters))
        while (is_apart := left != right).any():  # parents come before their children
            is_left = left > right
            left = np.where(is_left, parent[left], left)
            right = np.where(is_apart & ~is_left, parent[right], right)
        split = np.zeros(len(parent))
        split[parent[1:]] = self.tree.birth[1:]
        is_related = (left == own[:, None]) | (left == self.clusters)
        return np.where(is_related[place], density[:, None], split[left][place])


def approximate_predict(
    clusterer: Any, points_to_predict: Any, return_connecting_points: bool = False
) -> tuple[NDArray[Any], ...]:
    """Predict the clusters of new samples, without a change of the fitted clusters.

    Parameters
    ----------
    clusterer : HDBSCAN
        A fitted estimator of `mstflow.cluster` or of `mstflow.interop.hdbscan`.
    points_to_predict : array of shape (m, features)
    return_connecting_points : bool
        Whether to return `neighbors`.

    Returns
    -------
    labels : int64 array of length m
        -1 is noise.
    probabilities : float64 array of length m
        How strongly each sample belongs to its cluster.
    neighbors : int64 array of length m
        The sample of the fit at which each new sample joins the hierarchy.

    Raises
    ------
    ValueError
        If the estimator was fitted to distances, or samples do not suit it.
    """
    data, samples = _checked(clusterer, points_to_predict)
    nearest, density = data.join(samples)
    tree, cluster = data.tree, data.tree.home[nearest]
    is_outside = tree.density[nearest] > density  # it leaves this cluster before its neighbor
    while (is_above := is_outside & (cluster > 0) & (tree.birth[cluster] >= density)).any():
        cluster = np.where(is_above, tree.parent[cluster], cluster)
    labels = data.label[cluster]
    selected = np.append(data.clusters, -1)[labels]  # the last entry is that of -1
    found = labels, tree.memberships(density, selected), nearest
    return found if return_connecting_points else found[:2]


def approximate_predict_scores(clusterer: Any, points_to_predict: Any) -> Floats:
    """Predict the outlier scores (GLOSH) of new samples.

    Parameters and errors are those of `approximate_predict`.

    Returns
    -------
    float64 array of length m
        From 0 to 1, higher for outliers.
    """
    data, samples = _checked(clusterer, points_to_predict)
    nearest, density = data.join(samples)
    is_known = data.search.kneighbors(samples, 1)[0].ravel() == 0
    density = np.where(is_known, data.tree.density[nearest], density)
    return data.tree.scores(density, data.tree.home[nearest])


def membership_vector(clusterer: Any, points_to_predict: Any) -> Floats:
    """Predict how strongly new samples belong to each cluster.

    Parameters and errors are those of `approximate_predict`.

    Returns
    -------
    float64 array of shape (m, clusters)
        The sum of a row is the probability that the sample belongs to any cluster.
    """
    data, samples = _checked(clusterer, points_to_predict)
    if not len(data.clusters):
        return np.zeros((samples.shape[0], 0))
    nearest, density = data.join(samples)
    home = data.tree.home[nearest]
    density = _finite(np.minimum(density, data.tree.density[nearest]))
    death = _finite(data.tree.death)
    meeting = _finite(data.meetings(home, density))
    highest = death[home][:, None]
    gap = highest - meeting
    score = _softmax(highest / np.where(gap > 0, gap, _LEAST))
    result = _normalised(np.sqrt(data.nearness(samples)) * score**2)
    return result * _in_some_cluster(data, meeting, density)


def all_points_membership_vectors(clusterer: Any) -> Floats:
    """Return how strongly the samples of the fit belong to each cluster.

    Parameters
    ----------
    clusterer : HDBSCAN
        As for `approximate_predict`.

    Returns
    -------
    float64 array of shape (n, clusters)
        As `membership_vector`. Samples with a missing or an infinite value have zeros.
    """
    data = _data_of(clusterer)
    result = np.zeros((data.raw_data.shape[0], len(data.clusters)))
    if not len(data.clusters):
        return result
    rows = data.finite
    home, density = data.tree.home[rows], _finite(data.tree.density[rows])
    meeting = _finite(data.meetings(home, density))
    highest = _finite(data.tree.death)[home][:, None]
    ratio = np.divide(highest, meeting, out=np.full(meeting.shape, np.inf), where=meeting > 0)
    score = _softmax(np.exp(-ratio))
    found = _normalised(data.nearness(data.raw_data[rows]) * score)
    result[rows] = found * _in_some_cluster(data, meeting, density)
    return result


def _data_of(clusterer: Any) -> PredictionData:
    """Return the prediction data of a fitted estimator."""
    check_is_fitted(clusterer, "labels_")
    data: PredictionData | None = clusterer.prediction_data_
    if data is None:
        message = "the estimator was fitted to distances; predictions need samples"
        raise ValueError(message)
    return data


def _checked(clusterer: Any, samples: Any) -> tuple[PredictionData, Any]:
    """Return the prediction data of an estimator, and new samples after checking them."""
    data = _data_of(clusterer)
    dtypes = [np.float64, np.float32]
    return data, validate_data(clusterer, samples, reset=False, accept_sparse="csr", dtype=dtypes)


def _in_some_cluster(data: PredictionData, meeting: Floats, density: Floats) -> Floats:
    """Return the probability that each sample belongs to any cluster, as a column.

    It is the highest density at which the sample meets a cluster, relative to the largest density
    of that cluster, or of the densest one of several.
    """
    highest = meeting.max(axis=1, keepdims=True)
    death = _finite(data.tree.death)[data.clusters]
    densest = np.where(meeting == highest, death, 0.0).max(axis=1, keepdims=True)
    largest = np.maximum(densest, density[:, None])
    share: Floats = np.divide(highest, largest, out=np.zeros_like(highest), where=largest > 0)
    return share


def _finite(density: Floats) -> Floats:
    return np.minimum(density, _DENSEST)


def _softmax(values: Floats) -> Floats:
    return _normalised(np.exp(values - values.max(axis=1, keepdims=True)))


def _normalised(values: Floats) -> Floats:
    """Divide each row by its sum; rows of zeros remain."""
    total = values.sum(axis=1, keepdims=True)
    result: Floats = np.divide(values, total, out=np.zeros(values.shape), where=total > 0)
    return result
