"""Single-linkage clusters as an estimator of scikit-learn."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_array, validate_data

from ...forest.forest import Forest
from ...pipeline.options import check_count
from ...progress import Listener
from ...solve import minimum_spanning_forest
from .forests import (
    all_pairs,
    given_distances,
    resolve_algorithm,
    samples_forest,
    solve_options,
    warn_of_components,
)


class SingleLinkage(ClusterMixin, BaseEstimator):
    """Single-linkage clustering, with the parameters of scikit-learn's `AgglomerativeClustering`.

    Differences from `AgglomerativeClustering`:

    - There is no `linkage`, because it is always "single". There are no `memory`,
      `compute_full_tree` and `compute_distances`: the whole tree and its distances are always
      computed.
    - `metric_params`, `n_neighbors`, `algorithm`, `leaf_size` and `n_jobs` are additional, and so
      is a sparse graph of distances as `X`.
    - Clusters are numbered by their first samples. Samples at equal distances join in the order of
      their pairs.
    - `connectivity` may be used with every metric, and it may have any number of components.

    Parameters
    ----------
    n_clusters : int or None
        The number of clusters; None if `distance_threshold` is given. If the graph of distances or
        of neighbors has more components, each of them is a cluster.
    connectivity : array or sparse matrix of shape (n, n), or callable, optional
        Only samples whose entry is not zero are joined directly, in either direction; a callable
        computes this matrix from `X`, as `sklearn.neighbors.kneighbors_graph` does. If the matrix
        has several components, a warning states their number, and the nearest samples of different
        components are joined.
    distance_threshold : float, optional
        Clusters at a smaller distance are joined.
    metric, metric_params, n_neighbors, algorithm, leaf_size, n_jobs, backend, threads, progress
        As for `HDBSCAN`.

    Attributes
    ----------
    labels_ : int64 array of length n
        The cluster of each sample, numbered by first samples.
    children_ : int64 array of shape (n - 1, 2)
        The two clusters that each step joins. Numbers from n on are clusters of earlier steps.
    distances_ : float64 array of length n - 1
        The distance of each step. Components are joined at infinity.
    n_clusters_, n_leaves_, n_connected_components_, n_features_in_ : int
    """

    def __init__(
        self,
        n_clusters: int | None = 2,
        *,
        metric: Any = "euclidean",
        metric_params: dict[str, Any] | None = None,
        connectivity: Any = None,
        distance_threshold: float | None = None,
        n_neighbors: int | None = None,
        algorithm: str = "auto",
        leaf_size: int = 40,
        n_jobs: int | None = None,
        backend: str = "auto",
        threads: int | None = None,
        progress: bool | Listener = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.metric_params = metric_params
        self.connectivity = connectivity
        self.distance_threshold = distance_threshold
        self.n_neighbors = n_neighbors
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.n_jobs = n_jobs
        self.backend = backend
        self.threads = threads
        self.progress = progress

    def fit(self, X: Any, y: Any = None) -> SingleLinkage:  # noqa: N803
        """Compute the hierarchy and the clusters.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, features), or of shape (n, n) with distances
        y : ignored

        Returns
        -------
        SingleLinkage
            The estimator itself.

        Raises
        ------
        ValueError
            If `X` or a parameter is invalid.
        """
        check_count("n_clusters", self.n_clusters, 1)
        check_count("n_neighbors", self.n_neighbors, 2)
        if (self.n_clusters is None) == (self.distance_threshold is None):
            message = "pass exactly one of n_clusters and distance_threshold; set the other to None"
            raise ValueError(message)
        if self.connectivity is not None and self.n_neighbors is not None:
            message = "pass either connectivity or n_neighbors; set the other to None"
            raise ValueError(message)
        forest = self._forest(X) if self.connectivity is None else self._connected_forest(X)
        n = forest.num_vertices
        if n < 2:
            message = "n_samples=1 while SingleLinkage requires more than one sample"
            raise ValueError(message)
        if self.n_clusters is not None and self.n_clusters > n:
            message = (
                f"n_clusters must be at most the number of samples, {n}, not {self.n_clusters}"
            )
            raise ValueError(message)
        linkage = forest.linkage(disconnected="infinity")
        self.children_ = linkage[:, :2].astype(np.int64)
        self.distances_ = linkage[:, 2]
        k = self.n_clusters
        if self.distance_threshold is not None:
            k = 1 + int(np.count_nonzero(self.distances_ >= self.distance_threshold))
        self.labels_ = forest.cut(k=max(k or 1, forest.num_components))
        self.n_clusters_ = int(self.labels_.max()) + 1
        self.n_leaves_ = n
        return self

    def _forest(self, X: Any) -> Forest:  # noqa: N803
        """Return the forest of all pairs, of neighbors or of given distances."""
        if self.metric == "precomputed":
            forest = minimum_spanning_forest(given_distances(self, X), **solve_options(self))
        else:
            samples = validate_data(self, X, accept_sparse="csr", dtype=np.float64)
            forest = samples_forest(self, samples)
        self.n_connected_components_ = forest.num_components
        warn_of_components(forest, self.n_neighbors)
        return forest

    def _connected_forest(self, X: Any) -> Forest:  # noqa: N803
        """Return the forest of the pairs in `connectivity`, with its components joined."""
        is_precomputed = self.metric == "precomputed"
        formats = () if is_precomputed else "csr"
        samples = validate_data(self, X, accept_sparse=formats, dtype=np.float64)
        matrix = self.connectivity(samples) if callable(self.connectivity) else self.connectivity
        pairs = coo_array(check_array(matrix, accept_sparse=["csr", "csc", "coo"]))
        n = samples.shape[0]
        if pairs.shape != (n, n):
            message = (
                f"connectivity must have shape {(n, n)}, a row and a column for each sample, not "
                f"{pairs.shape}"
            )
            raise ValueError(message)
        is_pair = (pairs.data != 0) & (pairs.row != pairs.col)
        ends = pairs.row[is_pair].astype(np.int64), pairs.col[is_pair].astype(np.int64)
        ids = np.unique(np.minimum(*ends) * n + np.maximum(*ends))
        graph: Any
        if is_precomputed:
            u, v = np.divmod(ids, n)
            weight = samples[u, v]
            above_diagonal = np.triu_indices(n, 1)
            graph = (*above_diagonal, samples[above_diagonal])
        else:
            resolve_algorithm(self, samples)
            graph = all_pairs(self, samples)
            u, v, weight = graph.take(ids)
        forest = minimum_spanning_forest((u, v, weight), num_vertices=n, **solve_options(self))
        self.n_connected_components_ = count = forest.num_components
        if count == 1:
            return forest
        message = (
            f"connectivity has {count} components, which are joined by their nearest samples; "
            "connect them to choose the samples"
        )
        warnings.warn(message, stacklevel=3)
        # The lightest pairs that join the components are in the tree of all pairs.
        tree = minimum_spanning_forest(graph, num_vertices=n, **solve_options(self))
        between = (forest.labels[tree.u], forest.labels[tree.v], tree.weight)
        ids = minimum_spanning_forest(between, num_vertices=count, **solve_options(self)).edge_ids
        return forest.add((tree.u[ids], tree.v[ids], tree.weight[ids]))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags
