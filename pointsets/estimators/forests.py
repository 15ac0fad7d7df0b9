"""Forests of samples for the estimators, and checks of their arguments."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, issparse
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import VALID_METRICS, BallTree, KDTree, NearestNeighbors
from sklearn.utils.validation import validate_data

from ...forest.forest import Forest
from ...graphs.edge_list import EdgeList
from ...graphs.source import EdgeSource
from ...solve import minimum_spanning_forest
from ..catalogue.boruvka_blocks import divide_distances
from ..graph import points

_TREES = {"kd_tree": KDTree, "ball_tree": BallTree}
#: Scikit-learn's names of the metrics of `mstflow.points`, and the names that `points` accepts.
_POINT_METRICS = {
    "euclidean": "euclidean",
    "l2": "euclidean",
    "sqeuclidean": "sqeuclidean",
    "manhattan": "manhattan",
    "l1": "manhattan",
    "cityblock": "manhattan",
    "chebyshev": "chebyshev",
    "infinity": "chebyshev",
    "cosine": "cosine",
    "haversine": "haversine",
}
#: The same for Minkowski distances, by p.
_MINKOWSKI_METRICS = {1: "manhattan", 2: "euclidean", math.inf: "chebyshev"}
#: Names of metrics that only the trees of scikit-learn know, and those of `pairwise_distances`.
_TREE_METRICS = {"p": "minkowski", "infinity": "chebyshev", "pyfunc": "pyfunc"}
_KNOWN_METRICS = {*VALID_METRICS["brute"], *VALID_METRICS["ball_tree"], *_TREE_METRICS}


def checked_metric(estimator: Any, samples: Any) -> tuple[Any, dict[str, Any]]:
    """Return the metric of an estimator and its parameters, as `pairwise_distances` takes them.

    Parameters that depend on all samples are computed. A first distance checks the parameters.
    """
    given, params = estimator.metric, dict(estimator.metric_params or {})
    if not callable(given) and given not in _KNOWN_METRICS:
        known = ", ".join(sorted(_KNOWN_METRICS - {"precomputed"}))
        message = f"metric {given!r} is not known; choose from: {known}"
        raise ValueError(message)
    metric = _TREE_METRICS.get(given, given) if isinstance(given, str) else given
    try:
        if metric == "pyfunc":
            metric = params.pop("func", None)
        elif metric == "mahalanobis":
            params = {"VI": _inverse_covariance(samples, **params)}
        elif metric == "seuclidean":
            variance = params.get("V")
            variance = np.var(samples, axis=0, ddof=1) if variance is None else variance
            params["V"] = np.ascontiguousarray(variance, np.float64)
        elif metric == "minkowski" and not params.get("p", 2) > 0:
            message = "p must be greater than 0"
            raise ValueError(message)
        pairwise_distances(samples[:1], samples[:1], metric=metric, **params)
    except (ValueError, TypeError) as error:
        message = f"metric {given!r} with metric_params={estimator.metric_params!r}: {error}"
        raise ValueError(message) from error
    return metric, params


def _inverse_covariance(samples: Any, V: Any = None, VI: Any = None) -> NDArray[Any]:  # noqa: N803
    """Return the inverse covariance matrix of `samples`, unless it or the matrix `V` is given."""
    if VI is None:
        VI = np.linalg.inv(np.atleast_2d(np.cov(samples.T) if V is None else V))  # noqa: N806
    inverse, width = np.ascontiguousarray(VI, np.float64), samples.shape[1]
    if inverse.shape != (width, width):  # SciPy would read other memory
        message = f"the matrix must have shape {(width, width)}, not {inverse.shape}"
        raise ValueError(message)
    return inverse


def resolve_algorithm(estimator: Any, samples: Any) -> str:
    """Check the parameter `algorithm` of an estimator, and return it.

    "auto" is replaced by a tree that supports the metric, or by "brute" if there is none.
    """
    metric, algorithm = estimator.metric, estimator.algorithm
    if algorithm not in ("auto", "brute", *_TREES):
        message = f"algorithm must be 'auto', 'brute', 'kd_tree' or 'ball_tree', not {algorithm!r}"
        raise ValueError(message)
    supported = [name for name, tree in _TREES.items() if metric in tree.valid_metrics]
    if algorithm == "auto" and "w" in (estimator.metric_params or {}):
        supported = [name for name in supported if name != "kd_tree"]  # it has no weights
    if algorithm in _TREES and algorithm not in supported:
        tree_name = _TREES[algorithm].__name__
        message = (
            f"{metric} is not a valid metric for a {tree_name}-based algorithm. Please select a "
            "different metric."
        )
        raise ValueError(message)
    if algorithm in _TREES and issparse(samples):
        message = "Sparse data matrices only support algorithm `brute`."
        raise ValueError(message)
    if algorithm == "auto":
        return supported[0] if supported and not issparse(samples) else "brute"
    return str(algorithm)


def all_pairs(estimator: Any, samples: Any, min_samples: int = 1) -> EdgeSource:
    """Return the graph of all pairs of samples, as `mstflow.points` creates it.

    If `mstflow.points` does not support the metric, or samples are sparse, the points are row
    numbers, and the metric is a function that computes the distances between these rows.
    """
    metric, params = estimator.metric, estimator.metric_params or {}
    name = _POINT_METRICS.get(metric) if isinstance(metric, str) else None
    if metric in ("minkowski", "p") and not params.keys() - {"p"}:
        name = _MINKOWSKI_METRICS.get(params.get("p", 2))
    elif params:
        name = None
    elif name == "cosine" and not issparse(samples) and not samples.any(axis=1).all():
        name = None  # scikit-learn's distance from a row of zeros is 1
    if name is not None and not issparse(samples):
        return points(samples, metric=name, min_samples=min_samples)
    metric, params = checked_metric(estimator, samples)

    def row_distances(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
        rows = (samples[numbers[:, 0].astype(np.int64)] for numbers in (a, b))
        distances: NDArray[Any] = pairwise_distances(*rows, metric=metric, **params)
        return distances

    row_distances.__name__ = str(estimator.metric)
    numbers = np.arange(samples.shape[0], dtype=np.float64).reshape(-1, 1)
    return points(numbers, metric=row_distances, min_samples=min_samples)


def solve_options(estimator: Any) -> dict[str, Any]:
    """Return the options of an estimator for `minimum_spanning_forest`."""
    return {name: getattr(estimator, name) for name in ("backend", "threads", "progress")}


def neighbor_search(estimator: Any, samples: Any) -> NearestNeighbors:
    """Return the search for neighbors with the parameters of an estimator, without samples."""
    metric, metric_params = checked_metric(estimator, samples)
    return NearestNeighbors(
        algorithm=resolve_algorithm(estimator, samples),
        leaf_size=estimator.leaf_size,
        metric=metric,
        metric_params=metric_params,
        p=None,  # its default would replace `p` of the parameters
        n_jobs=estimator.n_jobs,
    )


def samples_forest(
    estimator: Any, samples: Any, min_samples: int = 1, alpha: float = 1.0
) -> Forest:
    """Return the minimum spanning forest of the mutual reachability distances of samples.

    If the estimator has no `n_neighbors`, the graph has all pairs of samples. Otherwise it has the
    edges from each sample to its max(n_neighbors, min_samples) nearest samples. The core distance
    is the distance to the `min_samples`-th nearest sample. Both numbers count the sample itself.
    `alpha` divides the distances, but not the core distances.
    """
    resolve_algorithm(estimator, samples)
    options = solve_options(estimator)
    if estimator.n_neighbors is None:
        graph = all_pairs(estimator, samples, min_samples)
        if alpha == 1.0:
            return minimum_spanning_forest(graph, **options)
        tree = minimum_spanning_forest(graph, algorithm=divide_distances(alpha), **options)
        edges = (tree.u, tree.v, tree.weight / alpha)
        return minimum_spanning_forest(edges, num_vertices=tree.num_vertices, **options)
    n = samples.shape[0]
    count = min(max(estimator.n_neighbors, min_samples), n)
    distances, neighbors = (
        neighbor_search(estimator, samples).fit(samples).kneighbors(samples, count)
    )
    u, v = np.repeat(np.arange(n), count), neighbors.ravel()
    weight = distances.ravel() / alpha
    if min_samples > 1:
        core = distances[:, min_samples - 1]
        weight = np.maximum(weight, np.maximum(core[u], core[v]))
    is_edge = u != v
    edges = (u[is_edge], v[is_edge], weight[is_edge])
    return minimum_spanning_forest(edges, num_vertices=n, **options)


def warn_of_components(forest: Forest, n_neighbors: int | None) -> None:
    """Warn if the hierarchy of a forest joins components at infinity."""
    if forest.num_components == 1:
        return
    if n_neighbors is None:
        graph, remedy = "graph of distances", "add finite distances between them"
    else:
        graph = f"graph of n_neighbors={n_neighbors}"
        remedy = "pass a larger n_neighbors, or None for the exact tree of all pairs"
    message = (
        f"the {graph} has {forest.num_components} components, which the hierarchy joins at "
        f"infinity; {remedy}"
    )
    warnings.warn(message, stacklevel=4)


def given_distances(estimator: Any, distances: Any) -> EdgeList:
    """Return a matrix of precomputed distances as an edge list, after checking it.

    The edges are the stored entries of a sparse matrix, or the finite entries above the diagonal of
    a dense one.
    """
    is_sparse = issparse(distances)
    checked = validate_data(
        estimator,
        distances,
        accept_sparse=["coo", "csr", "csc"],
        ensure_all_finite=is_sparse,
        dtype=[np.float64, np.float32],
    )
    n = checked.shape[0]
    if not is_sparse and np.isnan(checked).any():
        message = "np.nan values found in precomputed-dense"
        raise ValueError(message)
    if checked.shape != (n, n):
        message = (
            "The precomputed distance matrix is expected to be symmetric, however it has shape "
            f"{checked.shape}. Please verify that the distance matrix was constructed correctly."
        )
        raise ValueError(message)
    if is_sparse:
        entries = coo_array(checked)
        return EdgeList(entries.row, entries.col, entries.data, num_vertices=n)
    if not np.allclose(checked, checked.T):
        message = (
            "The precomputed distance matrix is expected to be symmetric, however its values "
            "appear to be asymmetric. Please verify that the distance matrix was constructed "
            "correctly."
        )
        raise ValueError(message)
    u, v = np.nonzero(np.triu(np.isfinite(checked), 1))
    return EdgeList(u, v, checked[u, v], num_vertices=n)
