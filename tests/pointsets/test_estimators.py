"""The estimators: scikit-learn's own tests and checks pass, and results equal those of others."""

import re
import warnings

import dask
import numpy as np
import pytest
import sklearn.cluster
from dask.base import tokenize
from scipy.cluster.hierarchy import linkage
from scipy.sparse import coo_array, csr_array
from sklearn.base import clone
from sklearn.cluster import AgglomerativeClustering
from sklearn.datasets import make_blobs
from sklearn.feature_extraction.image import grid_to_graph
from sklearn.metrics import adjusted_rand_score, pairwise_distances
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import kneighbors_graph
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import mstflow
from mstflow.cluster import HDBSCAN, SingleLinkage
from mstflow.errors import GraphError, OptionError
from mstflow.interop import hdbscan as package
from processes import run_python

X, _ = make_blobs(300, centers=4, n_features=3, cluster_std=1.5, random_state=3)
D = pairwise_distances(X)

#: Without tests of private functions, of a deprecation of scikit-learn, of graphs that it refuses
#: because they are not connected, and the slowest ones.
SELECTED = "not labelling and not copy_warning and not algorithms and not min_cluster_size"
SELECTED += " and not disconnected"


def test_tests_of_scikit_learn_pass(tmp_path):
    plugin = "import sklearn.cluster, mstflow.cluster\n"
    plugin += "sklearn.cluster.HDBSCAN = mstflow.cluster.HDBSCAN\n"
    (tmp_path / "use_mstflow.py").write_text(plugin)
    options = ["-q", "-p", "no:cacheprovider", "-p", "use_mstflow", "--rootdir", tmp_path]
    command = ["-m", "pytest", *options, "-k", SELECTED, "--pyargs"]
    done = run_python(*command, "sklearn.cluster.tests.test_hdbscan", path=[tmp_path], cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) > 30


@pytest.mark.filterwarnings("ignore:the graph of n_neighbors=20 has")
@pytest.mark.parametrize(
    "estimator", [HDBSCAN(), HDBSCAN(n_neighbors=20), SingleLinkage()], ids=repr
)
def test_checks_of_scikit_learn_pass(estimator):
    check_estimator(estimator, on_skip=None)


def is_same_partition(a, b):
    return adjusted_rand_score(a, b) == 1.0 and ((a == -1) == (b == -1)).all()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"min_cluster_size": 12, "min_samples": 3, "cluster_selection_method": "leaf"},
        {"metric": "manhattan", "alpha": 1.5},
        {"metric": "sqeuclidean"},
        {"cluster_selection_epsilon": 1.2, "max_cluster_size": 100},
        {"allow_single_cluster": True, "algorithm": "ball_tree"},
    ],
)
def test_hdbscan_equals_that_of_scikit_learn(options):
    ours, theirs = HDBSCAN(**options).fit(X), sklearn.cluster.HDBSCAN(**options, copy=True).fit(X)
    assert is_same_partition(ours.labels_, theirs.labels_)
    np.testing.assert_allclose(ours.probabilities_, theirs.probabilities_, atol=1e-12)
    ours, theirs = (each.dbscan_clustering(1.5) for each in (ours, theirs))
    assert is_same_partition(ours, theirs)


@pytest.mark.parametrize("metric", ["euclidean", "chebyshev", "cosine"])
def test_single_linkage_equals_that_of_others(metric):
    expected = linkage(X, "single", metric)
    between = expected[-8:-6, 2].mean()
    for how in ({"n_clusters": 5}, {"n_clusters": None, "distance_threshold": between}):
        ours = SingleLinkage(**how, metric=metric).fit(X)
        theirs = AgglomerativeClustering(**how, metric=metric, linkage="single").fit(X)
        assert is_same_partition(ours.labels_, theirs.labels_)
        assert ours.n_clusters_ == theirs.n_clusters_
    np.testing.assert_allclose(ours.distances_, expected[:, 2])
    np.testing.assert_array_equal(ours.children_, np.sort(expected[:, :2]))
    assert (ours.n_leaves_, ours.n_connected_components_, ours.n_features_in_) == (300, 1, 3)


def test_connectivity_is_that_of_scikit_learn():
    grid = grid_to_graph(15, 20)
    near = kneighbors_graph(X, 2)  # several components
    for given, how in ((grid, {}), (near, {}), (near.toarray(), {"metric": "manhattan"})):
        options = {"n_clusters": 7, "connectivity": given, **how}
        theirs = AgglomerativeClustering(**options, linkage="single", compute_distances=True)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            ours, theirs = SingleLinkage(**options).fit(X), theirs.fit(X)
        assert is_same_partition(ours.labels_, theirs.labels_)
        np.testing.assert_allclose(ours.distances_, theirs.distances_)
        count = theirs.n_connected_components_
        assert ours.n_connected_components_ == count
        assert any(f"connectivity has {count} components" in str(w.message) for w in caught) == (
            count > 1
        )
    called = SingleLinkage(7, connectivity=lambda samples: kneighbors_graph(samples, 99)).fit(X)
    known = SingleLinkage(7, connectivity=kneighbors_graph(X, 99), metric="precomputed").fit(D)
    np.testing.assert_array_equal(called.labels_, known.labels_)
    np.testing.assert_allclose(called.distances_, known.distances_)


def test_given_distances_join_the_components_of_connectivity():
    pairs = np.zeros((4, 4))
    pairs[0, 1] = pairs[3, 2] = 1
    given = pairwise_distances([[0.0], [1.0], [3.0], [7.0]])
    with pytest.warns(UserWarning, match="connectivity has 2 components"):
        found = SingleLinkage(metric="precomputed", connectivity=pairs).fit(given)
    assert found.distances_.tolist() == [1.0, 2.0, 4.0]
    with pytest.raises(ValueError, match=r"connectivity must have shape \(4, 4\)"):
        SingleLinkage(metric="precomputed", connectivity=pairs[:3, :3]).fit(given)


@pytest.mark.parametrize("estimator", [HDBSCAN(min_samples=2), SingleLinkage()], ids=repr)
def test_neighbor_graphs_with_several_components(estimator):
    for count in (3, 15, 16, 32):  # of equal samples, any may come first
        samples = np.repeat(X, 2, axis=0)
        with pytest.warns(UserWarning, match=rf"n_neighbors={count} has \d+ components.*larger"):
            found = clone(estimator).set_params(n_neighbors=count).fit(samples)
        assert np.isinf(found.distances_).any()
    with pytest.warns(UserWarning, match="graph of distances has 2 components"):
        clone(estimator).set_params(metric="precomputed").fit(
            np.where(np.eye(2, dtype=bool).repeat(9, 0).repeat(9, 1), 1.0, np.inf)
        )


def test_samples_at_the_threshold_are_not_joined():
    found = SingleLinkage(None, distance_threshold=2.0).fit([[0.0], [1.0], [3.0]])
    assert found.labels_.tolist() == [0, 0, 1]


FITS = [HDBSCAN(), HDBSCAN(min_samples=2, alpha=0.8), SingleLinkage(6)]


@pytest.mark.parametrize("estimator", FITS, ids=repr)
def test_all_ways_to_find_distances_agree(estimator):
    expected = clone(estimator).fit(X)
    changes = [
        {"n_neighbors": len(X)},
        {"algorithm": "ball_tree", "leaf_size": 5},
        {"algorithm": "brute"},
        {"metric": "minkowski", "metric_params": {"p": 2}, "n_jobs": 2},
        {"metric": lambda a, b: np.sqrt(((a - b) ** 2).sum())},
    ]
    fits = [clone(estimator).set_params(**change).fit(X) for change in changes]
    fits.append(clone(estimator).fit(csr_array(X)))
    if estimator.get_params().get("alpha", 1.0) == 1.0:
        fits.append(clone(estimator).set_params(metric="precomputed").fit(D))
    for found in fits:
        np.testing.assert_array_equal(found.labels_, expected.labels_)
        np.testing.assert_allclose(found.distances_, expected.distances_)


def test_sparse_graphs_of_neighbors():
    graph = kneighbors_graph(X, 120, mode="distance")  # not symmetric
    assert (graph != graph.T).nnz
    for given in (graph, graph.tocsc(), graph.maximum(graph.T).tocoo()):
        for estimator in FITS[::2]:
            found = clone(estimator).set_params(metric="precomputed").fit(given)
            expected = clone(estimator).set_params(n_neighbors=121).fit(X)
            np.testing.assert_array_equal(found.labels_, expected.labels_)
            np.testing.assert_allclose(found.distances_, expected.distances_)
    zero = coo_array(([0.0, 2.0], ([0, 1], [1, 2])), shape=(4, 4))
    with pytest.warns(UserWarning, match="has 2 components, which the hierarchy joins at infinity"):
        found = SingleLinkage(2, metric="precomputed").fit(zero)
    assert found.distances_.tolist() == [0.0, 2.0, np.inf]
    assert found.labels_.tolist() == [0, 0, 0, 1]
    with pytest.warns(UserWarning, match="has 2 components"):
        assert SingleLinkage(1, metric="precomputed").fit(zero).n_clusters_ == 2


def test_values_that_are_not_finite_are_isolated():
    samples = X.copy()
    samples[7, 0], samples[9, 1] = np.inf, np.nan
    found = HDBSCAN(store_centers="both").fit(samples)
    kept = np.delete(np.arange(len(X)), [7, 9])
    expected = HDBSCAN(store_centers="both").fit(X[kept])
    np.testing.assert_array_equal(found.labels_[kept], expected.labels_)
    assert found.labels_[[7, 9]].tolist() == [-2, -3]
    assert np.isnan(found.probabilities_).nonzero()[0].tolist() == [9]
    assert np.isinf(found.distances_).sum() == 2
    np.testing.assert_array_equal(found.medoids_, expected.medoids_)
    np.testing.assert_allclose(found.centroids_, expected.centroids_)


def test_pipelines_and_searches():
    steps = make_pipeline(StandardScaler(), HDBSCAN(min_cluster_size=10))
    labels = clone(steps).fit_predict(X)
    np.testing.assert_array_equal(labels, steps.fit(X)[-1].labels_)

    def score(estimator, samples, y=None):
        return len(set(estimator.labels_))

    for samples, estimator in ((X, HDBSCAN()), (D, HDBSCAN(metric="precomputed"))):
        search = GridSearchCV(estimator, {"min_cluster_size": [5, 9]}, scoring=score, cv=2)
        assert search.fit(samples).best_params_["min_cluster_size"] in (5, 9)


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (HDBSCAN(min_cluster_size=1), "min_cluster_size must be an integer of at least 2"),
        (HDBSCAN(alpha=0), "alpha must be greater than 0"),
        (HDBSCAN(algorithm="fast"), "algorithm must be 'auto', 'brute', 'kd_tree' or 'ball_tree'"),
        (HDBSCAN(cluster_selection_method="x"), "method must be 'eom' or 'leaf'"),
        (HDBSCAN(store_centers="mode"), "store_centers must be 'centroid', 'medoid', 'both' or"),
        (SingleLinkage(301), "n_clusters must be at most the number of samples, 300"),
        (SingleLinkage(None), "pass exactly one of n_clusters and distance_threshold"),
        (SingleLinkage(n_neighbors=1), "n_neighbors must be an integer of at least 2"),
    ],
)
def test_bad_parameters(estimator, message):
    with pytest.raises(ValueError, match=message):
        estimator.fit(X)


V = np.cov(X.T)


@pytest.mark.parametrize("n_neighbors", [None, 300])
@pytest.mark.parametrize(
    ("metric", "params", "expected"),
    [
        ("mahalanobis", {"V": V}, {"VI": np.linalg.inv(V)}),
        ("mahalanobis", {"VI": np.linalg.inv(V)}, {"VI": np.linalg.inv(V)}),
        ("mahalanobis", None, {"VI": np.linalg.inv(V)}),
        ("seuclidean", {"V": V.diagonal()}, {"V": V.diagonal()}),
        ("seuclidean", None, {"V": V.diagonal()}),
        ("p", {"p": 3}, {"metric": "minkowski", "p": 3}),
        ("minkowski", {"p": 3, "w": [1, 2, 3]}, {"p": 3, "w": [1, 2, 3]}),
    ],
)
def test_parameters_of_metrics(metric, params, expected, n_neighbors):
    distances = pairwise_distances(X, **{"metric": metric} | expected)
    options = {"metric": metric, "metric_params": params, "n_neighbors": n_neighbors}
    found = HDBSCAN(store_centers="medoid", **options).fit(X)
    np.testing.assert_array_equal(
        found.labels_, HDBSCAN(metric="precomputed").fit_predict(distances)
    )
    np.testing.assert_array_equal(
        SingleLinkage(3, **options).fit_predict(X),
        SingleLinkage(3, metric="precomputed").fit_predict(distances),
    )


@pytest.mark.parametrize("estimator", [HDBSCAN, SingleLinkage])
@pytest.mark.parametrize(
    ("metric", "params", "message"),
    [
        ("foo", None, "metric 'foo' is not known; choose from: braycurtis"),
        (7, None, "metric 7 is not known"),
        ("euclidean", {"q": 1}, r"metric 'euclidean' with metric_params={'q': 1}: .*'q'"),
        ("minkowski", {"p": -1}, r"metric 'minkowski' with metric_params={'p': -1}: "),
        (
            "mahalanobis",
            {"V": np.eye(2)},
            r"(?s)metric 'mahalanobis' with metric_params={'V'.*shape \(3, 3\)",
        ),
        ("mahalanobis", {"V": np.zeros((3, 3))}, r"(?s)metric 'mahalanobis' .*Singular"),
        ("seuclidean", {"V": [1]}, r"metric 'seuclidean' with metric_params={'V'"),
        ("pyfunc", None, "metric 'pyfunc' with metric_params=None"),
    ],
)
def test_bad_parameters_of_metrics(estimator, metric, params, message):
    with pytest.raises(ValueError, match=message):
        estimator(metric=metric, metric_params=params).fit(X)


def test_an_array_of_points_has_advice():
    with pytest.raises(GraphError, match=r"array a of shape \(300, 3\).* use mstflow.clus"):
        mstflow.minimum_spanning_forest(X)


def test_import_without_scikit_learn():
    program = "import sys; sys.modules['sklearn'] = None; import mstflow; mstflow.cluster"
    done = run_python("-c", program)
    assert "needs the package scikit-learn; install mstflow[sklearn]" in done.stderr


def test_the_attributes_of_hdbscan():
    """Two triples of points, whose distances are 1 and 2."""
    positions = np.array([[0.0], [1], [3], [100], [102], [103]])
    found = HDBSCAN(min_cluster_size=3, min_samples=1).fit(positions)
    assert found.labels_.tolist() == [0, 0, 0, 1, 1, 1]
    assert found.condensed_tree_.to_pandas().to_dict("list") == {
        "parent": [6, 6, 7, 7, 7, 8, 8, 8],
        "child": [7, 8, 3, 4, 5, 0, 1, 2],
        "lambda_val": [1 / 97, 1 / 97, *[0.5] * 6],
        "child_size": [3, 3, *[1] * 6],
    }
    np.testing.assert_allclose(found.cluster_persistence_, [(0.5 - 1 / 97) / 0.5] * 2)
    assert [each.ravel().tolist() for each in found.exemplars_] == [[0, 1, 3], [100, 102, 103]]
    assert found.outlier_scores_.tolist() == [0.0] * 6
    tree = found.minimum_spanning_tree_.to_numpy()
    assert tree.tolist() == [[0, 1, 1], [4, 5, 1], [1, 2, 2], [3, 4, 2], [2, 3, 97]]
    linkage = found.single_linkage_tree_.to_numpy()
    np.testing.assert_array_equal(linkage[:, 2], found.distances_)


def test_missing_values_have_no_outlier_score():
    rows = np.append(X, [[np.nan, 0, 0]], axis=0)
    scores = HDBSCAN().fit(rows).outlier_scores_
    assert np.isnan(scores).tolist() == [False] * len(X) + [True]


def test_components_of_a_sparse_graph_join_at_infinity():
    graph = kneighbors_graph(np.concatenate([X, X + 1000]), 120, mode="distance")
    forest = mstflow.minimum_spanning_forest(mstflow.mutual_reachability(graph, min_samples=5))
    with pytest.warns(UserWarning, match="graph of distances has 2 components"):
        found = HDBSCAN(metric="precomputed").fit(graph)
    assert np.isinf(found.distances_).sum() == 1
    np.testing.assert_array_equal(found.labels_, forest.hdbscan(min_cluster_size=5))


def test_rows_of_zeros_have_no_direction():
    """Their cosine distance is 1, as in scikit-learn, also from each other."""
    samples = np.concatenate([np.zeros((2, 3)), X])
    ours = HDBSCAN(metric="cosine").fit(samples)
    theirs = sklearn.cluster.HDBSCAN(metric="cosine", copy=True).fit(samples)
    assert is_same_partition(ours.labels_, theirs.labels_)
    found = SingleLinkage(metric="cosine").fit(samples)
    assert (found.distances_ == 1).sum() == 2
    with pytest.raises(GraphError, match="X is zero in row 0"):
        mstflow.points(samples, metric="cosine")


@pytest.mark.parametrize("estimator", [HDBSCAN, SingleLinkage])
def test_options_of_the_solver(estimator):
    steps = set()
    options = {"threads": 1, "progress": lambda step, done, total: steps.add(step)}
    expected = estimator().fit_predict(X)
    for backend in mstflow.backends():
        found = estimator(backend=backend, **options).fit_predict(X)
        np.testing.assert_array_equal(found, expected)
    assert steps
    with pytest.raises(OptionError, match="backend 'nothing'"):
        estimator(backend="nothing").fit(X)


@pytest.mark.parametrize("estimator", [HDBSCAN, SingleLinkage, package.HDBSCAN])
def test_dask_distinguishes_and_copies_fitted_estimators(estimator):
    fitted = [estimator().fit(samples) for samples in (X[:50], X[50:100])]
    assert tokenize(fitted[0]) != tokenize(fitted[1])
    (copied, _), *_ = dask.compute([fitted[0], dask.delayed(0)])
    np.testing.assert_array_equal(copied.labels_, fitted[0].labels_)


def test_single_precision_is_kept():
    """Twice as many rows fit in memory; distances are rounded to float32, as those of points."""
    single = X.astype(np.float32)
    found = HDBSCAN(min_samples=3).fit(single)
    forest = mstflow.minimum_spanning_forest(mstflow.points(single, min_samples=3))
    assert forest.weight.dtype == np.float32
    np.testing.assert_array_equal(found.distances_, np.sort(forest.weight).astype(np.float64))
