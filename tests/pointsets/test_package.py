"""The class for users of the package hdbscan has its parameters, and counts samples as it does."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.metrics import pairwise_distances
from sklearn.utils.estimator_checks import check_estimator

from mstflow import cluster
from mstflow.interop.hdbscan import HDBSCAN, approximate_predict, hdbscan

X, _ = make_blobs(120, centers=3, n_features=3, cluster_std=1.2, random_state=1)

#: Keyword arguments are those of the metric, so the estimator merges them.
MERGES = {"check_do_not_raise_errors_in_init_or_set_params": "merges keyword arguments"}


def test_checks_of_scikit_learn_pass():
    check_estimator(HDBSCAN(), on_skip=None, expected_failed_checks=MERGES)


def test_min_samples_does_not_count_the_point():
    for given, ours in ((None, 8), (1, 2), (500, len(X))):
        found = HDBSCAN(7, given, prediction_data=True, core_dist_n_jobs=1).fit(X)
        expected = cluster.HDBSCAN(7, ours).fit(X)
        np.testing.assert_array_equal(found.labels_, expected.labels_)
        np.testing.assert_array_equal(found.single_linkage_tree_.array[:, 2], expected.distances_)
        np.testing.assert_array_equal(found.dbscan_clustering(2.0), expected.dbscan_clustering(2.0))
        for theirs, own in zip(
            approximate_predict(found, X + 0.1), approximate_predict(expected, X + 0.1), strict=True
        ):
            np.testing.assert_array_equal(theirs, own)
    assert (HDBSCAN(min_cluster_size=len(X) + 1).fit(X).labels_ == -1).all()
    assert HDBSCAN().fit([[1.0], [2.0]]).labels_.tolist() == [-1, -1]


def test_samples_that_are_not_finite_are_noise():
    samples = np.vstack([[[np.nan, 0, 0], [0, np.inf, 0]], X])
    found = HDBSCAN().fit(samples)
    assert found.labels_[:2].tolist() == [-1, -1]
    assert found.probabilities_[:2].tolist() == [0, 0]
    assert found.dbscan_clustering(2.0).min() == -1
    np.testing.assert_array_equal(found.labels_[2:], HDBSCAN().fit(X).labels_)


@pytest.mark.parametrize("algorithm", ["best", "generic", "prims_kdtree", "boruvka_balltree"])
def test_algorithms_have_no_effect(algorithm):
    found, expected = HDBSCAN(algorithm=algorithm).fit(X), HDBSCAN().fit(X)
    np.testing.assert_array_equal(found.labels_, expected.labels_)


def test_parameters_of_the_metric():
    variances = X.var(axis=0)
    found = HDBSCAN(metric="seuclidean", V=variances)
    np.testing.assert_array_equal(clone(found).metric_params["V"], variances)
    distances = pairwise_distances(X, metric="seuclidean", V=variances)
    expected = HDBSCAN(metric="precomputed").fit(distances).labels_
    np.testing.assert_array_equal(found.fit(X).labels_, expected)
    cityblock = HDBSCAN(metric="cityblock").fit(X).labels_
    np.testing.assert_array_equal(HDBSCAN(metric="minkowski", p=1).fit(X).labels_, cityblock)
    with pytest.raises(TypeError, match="metric 'minkowski' needs the parameter p"):
        HDBSCAN(metric="minkowski").fit(X)
    with pytest.raises(ValueError, match=r"euclidean' with metric_params={'min_sample'"):
        HDBSCAN(min_sample=3).fit(X)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cluster_selection_persistence": 0.5}, "cluster_selection_persistence=0.5 is not supp"),
        ({"cluster_selection_epsilon_max": 1.0}, "cluster_selection_epsilon_max=1.0 is not supp"),
        ({"match_reference_implementation": True}, "match_reference_implementation=True is not"),
        ({"branch_detection_data": True}, "branch_detection_data=True is not supported"),
        ({"min_samples": 0}, "min_samples must be an integer of at least 1"),
        ({"alpha": "fail"}, "alpha must be greater than 0, not 'fail'"),
        ({"algorithm": "boruvka_kdtree", "metric": "cosine"}, "cosine is not a valid metric for"),
    ],
)
def test_parameters_that_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        HDBSCAN(**options).fit(X)


def test_centers_of_clusters():
    ours, expected = HDBSCAN(7).fit(X), cluster.HDBSCAN(7, 8, store_centers="both").fit(X)
    for label in range(ours.labels_.max() + 1):
        centroid, medoid = expected.centroids_[label], expected.medoids_[label]
        np.testing.assert_allclose(ours.weighted_cluster_centroid(label), centroid)
        np.testing.assert_array_equal(ours.weighted_cluster_medoid(label), medoid)
    with pytest.raises(ValueError, match="no cluster -1"):
        ours.weighted_cluster_medoid(-1)


def test_the_function_returns_arrays():
    found = HDBSCAN(7).fit(X)
    labels, probabilities, persistence, condensed, linkage, tree = hdbscan(X, min_cluster_size=7)
    np.testing.assert_array_equal(labels, found.labels_)
    np.testing.assert_array_equal(probabilities, found.probabilities_)
    np.testing.assert_array_equal(persistence, found.cluster_persistence_)
    np.testing.assert_array_equal(condensed, found.condensed_tree_.array)
    np.testing.assert_array_equal(linkage, found.single_linkage_tree_.array)
    assert tree is None
    assert hdbscan(X, gen_min_span_tree=True)[5].shape == (len(X) - 1, 3)
