"""HDBSCAN with the parameters, the defaults and the results of the package hdbscan."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin

from ...errors import OptionError
from ...pipeline.options import check_count
from ...progress import Listener
from . import hdbscan as scikit_learn
from .forests import checked_metric

#: The names of algorithms in the package, and those in scikit-learn.
_ALGORITHMS = {
    "best": "auto",
    "generic": "brute",
    "prims_kdtree": "kd_tree",
    "prims_balltree": "ball_tree",
    "boruvka_kdtree": "kd_tree",
    "boruvka_balltree": "ball_tree",
}
#: Parameters that would change the result, and their only values.
_FIXED = {
    "cluster_selection_persistence": 0.0,
    "cluster_selection_epsilon_max": math.inf,
    "match_reference_implementation": False,
    "branch_detection_data": False,
}


class HDBSCAN(ClusterMixin, BaseEstimator):
    """HDBSCAN, with the parameters of the class in the package hdbscan.

    Parameters
    ----------
    min_cluster_size : int
        Smallest number of samples in a cluster.
    min_samples : int, optional
        The core distance of a sample is the distance to its `min_samples`-th nearest sample, not
        counting itself. Default: `min_cluster_size`. Larger numbers than that of other samples are
        reduced.
    cluster_selection_epsilon, max_cluster_size, alpha, leaf_size
        As for `mstflow.cluster.HDBSCAN`; 0 as `max_cluster_size` removes the limit.
    cluster_selection_method, allow_single_cluster
        As for `mstflow.cluster.HDBSCAN`.
    metric : str or callable
        As for `mstflow.cluster.HDBSCAN`. Other keyword arguments are those of the metric.
    p : float, optional
        The exponent of the metric "minkowski".
    algorithm : str
        An algorithm of the package, or of `mstflow.cluster.HDBSCAN`. It must support the metric,
        and has no other effect.
    memory, approx_min_span_tree, gen_min_span_tree, core_dist_n_jobs, prediction_data
        No effect: the tree is exact, and a fit always has it and the data for predictions.
    cluster_selection_persistence, cluster_selection_epsilon_max
        Not supported: an error unless they have their defaults.
    match_reference_implementation, branch_detection_data
        Not supported: an error unless they are false.
    metric_params, n_neighbors, backend, threads, progress
        As for `mstflow.cluster.HDBSCAN`; the package has no such parameters.

    Attributes
    ----------
    labels_, probabilities_, outlier_scores_, cluster_persistence_, exemplars_, prediction_data_
        As for `mstflow.cluster.HDBSCAN`. The label of samples with a missing or an infinite value
        is -1, and their probability is 0.
    condensed_tree_, single_linkage_tree_, minimum_spanning_tree_, n_features_in_
        As for `mstflow.cluster.HDBSCAN`.
    """

    def __init__(
        self,
        min_cluster_size: int = 5,
        min_samples: int | None = None,
        cluster_selection_epsilon: float = 0.0,
        cluster_selection_persistence: float = 0.0,
        max_cluster_size: int = 0,
        metric: Any = "euclidean",
        alpha: float = 1.0,
        p: float | None = None,
        algorithm: str = "best",
        leaf_size: int = 40,
        memory: Any = None,
        approx_min_span_tree: bool = True,
        gen_min_span_tree: bool = False,
        core_dist_n_jobs: int = 4,
        cluster_selection_method: str = "eom",
        allow_single_cluster: bool = False,
        prediction_data: bool = False,
        branch_detection_data: bool = False,
        match_reference_implementation: bool = False,
        cluster_selection_epsilon_max: float = math.inf,
        *,
        metric_params: dict[str, Any] | None = None,
        n_neighbors: int | None = None,
        backend: str = "auto",
        threads: int | None = None,
        progress: bool | Listener = False,
        **of_metric: Any,
    ) -> None:
        self.min_cluster_size = min_cluster_size
        self.min_samples = min_samples
        self.cluster_selection_epsilon = cluster_selection_epsilon
        self.cluster_selection_persistence = cluster_selection_persistence
        self.max_cluster_size = max_cluster_size
        self.metric = metric
        self.alpha = alpha
        self.p = p
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.memory = memory
        self.approx_min_span_tree = approx_min_span_tree
        self.gen_min_span_tree = gen_min_span_tree
        self.core_dist_n_jobs = core_dist_n_jobs
        self.cluster_selection_method = cluster_selection_method
        self.allow_single_cluster = allow_single_cluster
        self.prediction_data = prediction_data
        self.branch_detection_data = branch_detection_data
        self.match_reference_implementation = match_reference_implementation
        self.cluster_selection_epsilon_max = cluster_selection_epsilon_max
        # `clone` needs the same object again.
        self.metric_params = {**(metric_params or {}), **of_metric} if of_metric else metric_params
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
            If `X` or a parameter is invalid or not supported.
        TypeError
            If the metric is "minkowski" without `p`.
        """
        found = self._fitted = self._translated(X).fit(X)
        for name, value in vars(found).items():
            if name.endswith("_"):
                setattr(self, name, value)
        is_finite = found.labels_ >= -1
        self.labels_ = np.where(is_finite, found.labels_, -1)
        self.probabilities_ = np.where(is_finite, found.probabilities_, 0.0)
        return self

    def dbscan_clustering(
        self, cut_distance: float, min_cluster_size: int = 5
    ) -> NDArray[np.int64]:
        """Return the clusters of DBSCAN; see `mstflow.cluster.HDBSCAN.dbscan_clustering`."""
        labels = self._fitted.dbscan_clustering(cut_distance, min_cluster_size)
        return np.maximum(labels, -1)

    def generate_prediction_data(self) -> None:
        """Do nothing: `fit` prepares predictions."""

    def weighted_cluster_centroid(self, cluster_id: int) -> NDArray[Any]:
        """Return the mean of the samples of a cluster, weighted by their probabilities."""
        return scikit_learn.centroid(*self._members(cluster_id))

    def weighted_cluster_medoid(self, cluster_id: int) -> NDArray[Any]:
        """Return the sample with the smallest weighted sum of distances to those of its cluster."""
        samples, weights = self._members(cluster_id)
        metric, params = checked_metric(self._fitted, self.prediction_data_.raw_data)
        place = scikit_learn.medoid(samples, weights, metric, params)
        medoid: NDArray[Any] = samples[place]
        return medoid

    def _members(self, cluster_id: int) -> tuple[Any, NDArray[np.float64]]:
        """Return the samples of a cluster, and their probabilities."""
        rows = np.flatnonzero(self.labels_ == cluster_id)
        if cluster_id < 0 or not len(rows):
            message = f"there is no cluster {cluster_id!r}; -1 is noise"
            raise OptionError(message)
        return self.prediction_data_.raw_data[rows], self.probabilities_[rows]

    def _translated(self, samples: Any) -> scikit_learn.HDBSCAN:
        """Return the estimator of `mstflow.cluster` with these parameters."""
        for name, only in _FIXED.items():
            if getattr(self, name) != only:
                message = f"{name}={getattr(self, name)!r} is not supported; leave it out"
                raise OptionError(message)
        check_count("min_cluster_size", self.min_cluster_size, 2, optional=False)
        check_count("min_samples", self.min_samples, 1)
        check_count("leaf_size", self.leaf_size, 1, optional=False)
        rank = self.min_cluster_size if self.min_samples is None else self.min_samples
        shape = np.shape(samples)
        params = self.metric_params
        if self.metric == "minkowski" and "p" not in (params or {}):
            if self.p is None:
                message = "metric 'minkowski' needs the parameter p"
                raise TypeError(message)
            params = {**(params or {}), "p": self.p}
        return scikit_learn.HDBSCAN(
            min_cluster_size=self.min_cluster_size,
            min_samples=min(rank + 1, max(2, shape[0])) if shape else rank + 1,
            cluster_selection_epsilon=self.cluster_selection_epsilon,
            max_cluster_size=self.max_cluster_size or None,
            metric=self.metric,
            metric_params=params,
            alpha=self.alpha,
            algorithm=_ALGORITHMS.get(self.algorithm, self.algorithm),
            leaf_size=self.leaf_size,
            cluster_selection_method=self.cluster_selection_method,
            allow_single_cluster=self.allow_single_cluster,
            n_neighbors=self.n_neighbors,
            backend=self.backend,
            threads=self.threads,
            progress=self.progress,
        )

    def __sklearn_tags__(self) -> Any:
        return scikit_learn.HDBSCAN(metric=self.metric).__sklearn_tags__()


def hdbscan(X: Any, **parameters: Any) -> tuple[NDArray[Any] | None, ...]:  # noqa: N803
    """Fit `HDBSCAN`, and return arrays, as the function of the package hdbscan does.

    Parameters
    ----------
    X : array or sparse matrix
        As for `HDBSCAN.fit`.
    **parameters
        Those of `HDBSCAN`.

    Returns
    -------
    labels, probabilities, cluster_persistence, condensed_tree, single_linkage_tree : arrays
    min_spanning_tree : array or None
        None unless `gen_min_span_tree` is true.
    """
    found: Any = HDBSCAN(**parameters).fit(X)
    return (
        found.labels_,
        found.probabilities_,
        found.cluster_persistence_,
        found.condensed_tree_.to_numpy(),
        found.single_linkage_tree_.to_numpy(),
        found.minimum_spanning_tree_.to_numpy() if found.gen_min_span_tree else None,
    )
