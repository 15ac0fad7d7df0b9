"""HDBSCAN as an estimator of scikit-learn."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, issparse
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.metrics import pairwise_distances
from sklearn.utils.validation import validate_data

from ...forest.forest import Forest
from ...graphs.edge_list import EdgeList
from ...pipeline.options import check_count
from ...progress import Listener
from ...queries.hdbscan import select
from ...solve import minimum_spanning_forest
from ..reachability import mutual_reachability
from .forests import (
    checked_metric,
    given_distances,
    resolve_algorithm,
    samples_forest,
    solve_options,
    warn_of_components,
)
from .prediction import PredictionData
from .trees import (
    clusters_of,
    condensed_rows,
    exemplars,
    label_clusters,
    linkage_rows,
    persistence,
    tree_rows,
)

#: Labels of samples with an infinite or a missing value, as in scikit-learn.
_INFINITE, _MISSING = -2, -3


class HDBSCAN(ClusterMixin, BaseEstimator):
    """HDBSCAN, with the parameters of scikit-learn's `HDBSCAN`.

    Parameters
    ----------
    min_cluster_size : int
        Smallest number of samples in a cluster.
    min_samples : int, optional
        The core distance of a sample is the distance to its `min_samples`-th nearest sample,
        counting itself (the package hdbscan does not count it). Default: `min_cluster_size`.
    cluster_selection_epsilon : float
        Do not split clusters at distances below this.
    max_cluster_size : int, optional
        Excess of mass selects no cluster with more samples than this.
    metric : str or callable
        A metric of scikit-learn, or "precomputed": `X` has the distances of all pairs, infinite for
        missing pairs, or is a sparse graph whose stored entries are the edges. An edge of a sparse
        graph may be stored once or as both arcs.
    metric_params : dict, optional
        Further arguments of the metric.
    alpha : float
        Divides the distances, but not the core distances. If it is not 1 and `n_neighbors` is
        None, all distances are computed, which takes quadratic time.
    algorithm : {"auto", "kd_tree", "ball_tree", "brute"}
        How to search for neighbors, if `n_neighbors` is given.
    leaf_size : int
        Leaf size of these trees.
    n_jobs : int, optional
        Jobs of this search.
    cluster_selection_method : {"eom", "leaf"}
        Select clusters by excess of mass, or the leaves of the condensed tree.
    allow_single_cluster : bool
        Whether all samples may be one cluster.
    store_centers : {"centroid", "medoid", "both"}, optional
        Which centers of clusters to compute.
    copy : bool
        Accepted for compatibility; the input is never overwritten.
    n_neighbors : int, optional
        Use only the edges from each sample to this number of nearest samples, itself included. A
        warning states the number of components if these edges do not connect all samples. By
        default all pairs are used (`mstflow.points`), and the result is exact.
    backend, threads, progress
        As for `mstflow.minimum_spanning_forest`, which computes the tree.

    Attributes
    ----------
    labels_ : int64 array of length n
        The cluster of each sample, numbered by first samples. -1 is noise, -2 are samples with an
        infinite value, -3 are samples with a missing value.
    probabilities_ : float64 array of length n
        How strongly each sample belongs to its cluster. Missing values give NaN.
    outlier_scores_ : float64 array of length n
        From 0 to 1, higher for outliers (GLOSH). Missing values give NaN.
    cluster_persistence_ : float64 array of length clusters
        The stability of each cluster, divided by its size and the largest density; 1 if that is
        infinite.
    exemplars_ : list of arrays
        The rows of `X` that leave the leaves of each cluster last. Not for distances.
    prediction_data_
        What the functions of `mstflow.interop.hdbscan` that predict need; None for distances.
    condensed_tree_, single_linkage_tree_, minimum_spanning_tree_
        Tables with the columns of the package hdbscan; `to_numpy` and `to_pandas` return them.
    children_ : int64 array of shape (n - 1, 2)
        The two clusters that each step of the hierarchy joins. Numbers from n on are clusters of
        earlier steps.
    distances_ : float64 array of length n - 1
        The mutual reachability distance of each step. Components are joined at infinity.
    centroids_, medoids_ : float64 arrays of shape (clusters, features)
        The centers that `store_centers` selects.
    n_features_in_ : int
    """

    def __init__(
        self,
        min_cluster_size: int = 5,
        min_samples: int | None = None,
        cluster_selection_epsilon: float = 0.0,
        max_cluster_size: int | None = None,
        metric: Any = "euclidean",
        metric_params: dict[str, Any] | None = None,
        alpha: float = 1.0,
        algorithm: str = "auto",
        leaf_size: int = 40,
        n_jobs: int | None = None,
        cluster_selection_method: str = "eom",
        allow_single_cluster: bool = False,
        store_centers: str | None = None,
        copy: bool = True,
        n_neighbors: int | None = None,
        *,
        backend: str = "auto",
        threads: int | None = None,
        progress: bool | Listener = False,
    ) -> None:
        self.min_cluster_size = min_cluster_size
        self.min_samples = min_samples
        self.cluster_selection_epsilon = cluster_selection_epsilon
        self.max_cluster_size = max_cluster_size
        self.metric = metric
        self.metric_params = metric_params
        self.alpha = alpha
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.n_jobs = n_jobs
        self.cluster_selection_method = cluster_selection_method
        self.allow_single_cluster = allow_single_cluster
        self.store_centers = store_centers
        self.copy = copy
        self.n_neighbors = n_neighbors
        self.backend = backend
        self.threads = threads
        self.progress = progress

    def fit(self, X: Any, y: Any = None) -> HDBSCAN:  # noqa: N803
        """Compute the hierarchy and the clusters.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, features), or of shape (n, n) with distances
        y : ignored

        Returns
        -------
        HDBSCAN
            The estimator itself.

        Raises
        ------
        ValueError
            If `X` or a parameter is invalid.
        """
        self._check_parameters()
        if self.metric == "precomputed":
            forest = self._forest_of_distances(X)
            row_sum = np.zeros(forest.num_vertices)
        else:
            samples = validate_data(
                self,
                X,
                accept_sparse="csr",
                ensure_all_finite=False,
                dtype=[np.float64, np.float32],
            )
            row_sum = np.asarray(samples.sum(axis=1, dtype=np.float64)).ravel()
            forest = self._forest_of_samples(samples, np.isfinite(row_sum))
        self._dendrogram = forest.dendrogram()
        tree = self._dendrogram.condense(min_cluster_size=self.min_cluster_size)
        clusters, selected = select(
            tree,
            self.cluster_selection_method,  # type: ignore[arg-type]
            self.cluster_selection_epsilon,
            self.max_cluster_size,
            self.allow_single_cluster,
        )
        linkage = self._dendrogram.linkage(disconnected="infinity")
        self.children_ = linkage[:, :2].astype(np.int64)
        self.distances_ = linkage[:, 2]
        self.labels_, self.probabilities_, self.outlier_scores_ = clusters
        numbers, sizes = clusters_of(tree, self.labels_, selected)
        self.cluster_persistence_ = persistence(tree, numbers, sizes)
        self.condensed_tree_ = condensed_rows(tree)
        self.single_linkage_tree_ = linkage_rows(linkage)
        self.minimum_spanning_tree_ = tree_rows(forest)
        self.prediction_data_ = None
        if self.metric != "precomputed":
            last = exemplars(tree, numbers, selected)
            self.exemplars_ = [samples[rows] for rows in last]
            finite = np.flatnonzero(np.isfinite(row_sum))
            self.prediction_data_ = PredictionData(
                samples,
                finite,
                clone(self),
                self._checked_min_samples(len(finite)),
                self.alpha,
                tree,
                label_clusters(numbers, selected),
                numbers,
                last,
            )
        self.labels_[np.isinf(row_sum)] = _INFINITE
        self.labels_[np.isnan(row_sum)] = _MISSING
        for values in (self.probabilities_, self.outlier_scores_):
            values[np.isnan(row_sum)] = np.nan
        if self.store_centers is not None:
            self._find_centers(samples)
        return self

    def dbscan_clustering(
        self, cut_distance: float, min_cluster_size: int = 5
    ) -> NDArray[np.int64]:
        """Return the clusters of DBSCAN without border points, from the fitted hierarchy.

        Parameters
        ----------
        cut_distance : float
            Samples are joined by mutual reachability distances up to this one.
        min_cluster_size : int
            Smaller clusters are noise.

        Returns
        -------
        int64 array of length n
            As `labels_`.
        """
        clusters = self._dendrogram.cut(distance=cut_distance)
        is_large = np.bincount(clusters) >= min_cluster_size
        number = np.where(is_large, np.cumsum(is_large) - 1, -1)
        labels: NDArray[np.int64] = number[clusters]
        return np.where(self.labels_ < -1, self.labels_, labels)

    def _check_parameters(self) -> None:
        check_count("min_cluster_size", self.min_cluster_size, 2, optional=False)
        check_count("min_samples", self.min_samples, 1)
        check_count("n_neighbors", self.n_neighbors, 2)
        if not isinstance(self.alpha, Real) or not self.alpha > 0:
            message = f"alpha must be greater than 0, not {self.alpha!r}"
            raise ValueError(message)
        if self.store_centers not in (None, "centroid", "medoid", "both"):
            message = (
                f"store_centers must be 'centroid', 'medoid', 'both' or None, not "
                f"{self.store_centers!r}"
            )
            raise ValueError(message)
        if self.metric == "precomputed" and self.store_centers is not None:
            message = "Cannot store centers when using a precomputed distance matrix."
            raise ValueError(message)

    def _checked_min_samples(self, n: int) -> int:
        """Return `min_samples`, which must be at most the number of samples, n."""
        if n < 2:
            message = f"n_samples={n} while HDBSCAN requires more than one sample"
            raise ValueError(message)
        min_samples = self.min_cluster_size if self.min_samples is None else self.min_samples
        if min_samples > n:
            message = (
                f"min_samples ({min_samples}) must be at most the number of samples in X ({n})"
            )
            raise ValueError(message)
        return min_samples

    def _forest_of_samples(self, samples: Any, is_finite: NDArray[np.bool_]) -> Forest:
        """Return the forest of all samples; samples that are not finite are isolated vertices."""
        finite = np.flatnonzero(is_finite)
        min_samples = self._checked_min_samples(len(finite))
        forest = samples_forest(self, samples[finite], min_samples, self.alpha)
        warn_of_components(forest, self.n_neighbors)
        if len(finite) == len(is_finite):
            return forest
        edges = (finite[forest.u], finite[forest.v], forest.weight)
        return minimum_spanning_forest(edges, num_vertices=len(is_finite), **solve_options(self))

    def _forest_of_distances(self, distances: Any) -> Forest:
        """Return the forest of the mutual reachability distances."""
        if self.algorithm not in ("auto", "brute"):
            resolve_algorithm(self, distances)  # raises the error for "precomputed"
        edges = given_distances(self, distances)
        n = edges.num_vertices
        min_samples = self._checked_min_samples(n)
        min_neighbors = min_samples - 1
        if issparse(distances) and (_num_neighbors(edges) < min_neighbors).any():
            message = (
                f"There exists points with fewer than {min_neighbors} neighbors. Store the "
                f"distances of at least min_samples - 1 = {min_neighbors} neighbors of each "
                "sample, or pass a smaller min_samples."
            )
            raise ValueError(message)
        scaled = (edges.u, edges.v, edges.weight / self.alpha)
        reachability = mutual_reachability(scaled, min_samples=min_samples, num_vertices=n)
        forest = minimum_spanning_forest(reachability, **solve_options(self))
        warn_of_components(forest, None)
        return forest

    def _find_centers(self, samples: Any) -> None:
        """Set `centroids_` and `medoids_`."""
        clusters = range(int(self.labels_.max()) + 1)
        members = [np.flatnonzero(self.labels_ == cluster) for cluster in clusters]
        shape = (len(members), samples.shape[1])
        if self.store_centers in ("centroid", "both"):
            means = [centroid(samples[rows], self.probabilities_[rows]) for rows in members]
            self.centroids_ = np.array(means).reshape(shape)
        if self.store_centers in ("medoid", "both"):
            metric, params = checked_metric(self, samples[self.labels_ > _INFINITE])
            medoids = [
                rows[medoid(samples[rows], self.probabilities_[rows], metric, params)]
                for rows in members
            ]
            self.medoids_ = samples[medoids].reshape(shape)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.metric != "precomputed"
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags


def centroid(samples: Any, weights: NDArray[np.float64]) -> NDArray[Any]:
    """Return the weighted mean of samples."""
    mean: NDArray[Any] = np.average(samples, axis=0, weights=weights)
    return mean


def medoid(samples: Any, weights: NDArray[np.float64], metric: Any, params: dict[str, Any]) -> int:
    """Return the position of the sample with the smallest sum of weighted distances."""
    distances = pairwise_distances(samples, metric=metric, **params)
    return int((distances * weights).sum(axis=1).argmin())


def _num_neighbors(edges: EdgeList) -> NDArray[np.int64]:
    """Return the number of distinct neighbors of each vertex, except for itself."""
    is_edge = edges.u != edges.v
    u, v, n = edges.u[is_edge], edges.v[is_edge], edges.num_vertices
    ends = (np.concatenate([u, v]), np.concatenate([v, u]))
    pattern = coo_array((np.ones(len(ends[0]), bool), ends), shape=(n, n)).tocsr()
    counts: NDArray[np.int64] = np.diff(pattern.indptr)
    return counts
