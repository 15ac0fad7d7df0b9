"""Predictions for new samples equal those of the package hdbscan, and hold for equal samples."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import make_blobs
from sklearn.metrics import pairwise_distances

from mstflow.cluster import HDBSCAN
from mstflow.interop.hdbscan import (
    all_points_membership_vectors,
    approximate_predict,
    approximate_predict_scores,
    membership_vector,
)

X, _ = make_blobs(90, centers=3, cluster_std=1.0, random_state=4)
NEW = np.array([[1.0, 4.0], [10, -4], [4, 1], [-2, 3], X[7] + 0.05, [-8, -10.0]])


def test_predictions_are_those_of_the_package():
    """The numbers are from hdbscan 0.8.44 with `min_samples=4`, its two clusters in our order."""
    found = HDBSCAN(min_cluster_size=6, min_samples=5).fit(X)
    labels, probabilities, nearest = approximate_predict(found, NEW, return_connecting_points=True)
    assert labels.tolist() == [-1, 0, 0, -1, 1, -1]
    assert nearest.tolist() == [64, 38, 11, 64, 7, 21]
    expected = [0, 0.243822, 0.217692, 0, 0.989274, 0]
    np.testing.assert_allclose(probabilities, expected, atol=1e-6)
    expected = [0.93855, 0.879997, 0.88306, 0.953908, 0.056503, 0.944606]
    np.testing.assert_allclose(approximate_predict_scores(found, NEW), expected, atol=1e-6)
    expected = [
        [0.071772, 0.081907],
        [0.133209, 0.110613],
        [0.117952, 0.09974],
        [0.063937, 0.089742],
        [0, 0.989274],
        [0.099719, 0.102781],
    ]
    np.testing.assert_allclose(membership_vector(found, NEW), expected, atol=1e-6)
    expected = [[0.891106, 0.108894], [0.119255, 0.521867], [0.828808, 0.171192], [1, 0]]
    vectors = all_points_membership_vectors(found)
    np.testing.assert_allclose(vectors[:4], expected, atol=1e-6)
    assert vectors.shape == (90, 2)


@pytest.mark.parametrize(
    "options",
    [{}, {"min_samples": 2}, {"cluster_selection_method": "leaf"}, {"metric": "chebyshev"}],
    ids=str,
)
def test_samples_of_the_fit_keep_their_labels(options):
    """Also if all of them occur four times, so that some densities are infinite."""
    for samples in (X, np.repeat(X, 4, axis=0)):
        found = HDBSCAN(**options).fit(samples)
        labels, probabilities = approximate_predict(found, samples)
        is_member = found.labels_ >= 0
        assert is_member.any()
        assert (labels == found.labels_)[is_member].all()
        # A new sample that equals an old one joins at its core distance, or nearer.
        assert (probabilities >= found.probabilities_ - 1e-9)[is_member].all()
        scores = approximate_predict_scores(found, samples)
        np.testing.assert_allclose(scores, found.outlier_scores_, atol=1e-6)
        for vectors in (membership_vector(found, samples), all_points_membership_vectors(found)):
            assert vectors.shape == (len(samples), found.labels_.max() + 1)
            assert vectors.min() >= 0
            assert vectors.sum(axis=1).max() <= 1 + 1e-9


def test_units_and_order_of_samples_do_not_matter():
    found = HDBSCAN(metric="manhattan", alpha=0.5).fit(X)
    scaled = HDBSCAN(metric="manhattan", alpha=0.5).fit(4 * X[::-1])
    labels, probabilities = approximate_predict(found, NEW)
    other, others = approximate_predict(scaled, 4 * NEW)
    number = [scaled.labels_[::-1][found.labels_ == label][0] for label in range(labels.max() + 1)]
    assert other.tolist() == [number[label] if label >= 0 else -1 for label in labels]
    np.testing.assert_allclose(others, probabilities)


def test_samples_that_are_not_finite_or_sparse():
    samples = np.vstack([[[np.nan, 0], [0, np.inf]], X])
    found, expected = HDBSCAN().fit(samples), HDBSCAN().fit(X)
    labels, _, nearest = approximate_predict(found, NEW, True)
    expected_labels, _, expected_nearest = approximate_predict(expected, NEW, True)
    np.testing.assert_array_equal(labels, expected_labels)
    np.testing.assert_array_equal(nearest, expected_nearest + 2)
    vectors = all_points_membership_vectors(found)
    assert not vectors[:2].any()
    np.testing.assert_allclose(vectors[2:], all_points_membership_vectors(expected))
    sparse = HDBSCAN().fit(csr_array(X))
    np.testing.assert_array_equal(approximate_predict(sparse, csr_array(NEW))[0], expected_labels)


def test_no_clusters():
    found = HDBSCAN(min_cluster_size=80, min_samples=2).fit(X)
    labels, probabilities = approximate_predict(found, NEW)
    assert (labels == -1).all()
    assert not probabilities.any()
    assert membership_vector(found, NEW).shape == (6, 0)
    assert all_points_membership_vectors(found).shape == (90, 0)


def test_predictions_need_samples():
    found = HDBSCAN(metric="precomputed").fit(pairwise_distances(X))
    for function in (approximate_predict, approximate_predict_scores, membership_vector):
        with pytest.raises(ValueError, match="fitted to distances; predictions need samples"):
            function(found, NEW)
        with pytest.raises(ValueError, match="X has 1 features, but HDBSCAN is expecting 2"):
            function(HDBSCAN().fit(X), NEW[:, :1])
    with pytest.raises(ValueError, match="not fitted"):
        all_points_membership_vectors(HDBSCAN())
