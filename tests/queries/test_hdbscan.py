"""HDBSCAN: weights compared with their definition, clusters with those of scikit-learn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster import hierarchy
from scipy.spatial.distance import pdist
from sklearn.cluster import HDBSCAN
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.neighbors import NearestNeighbors, kneighbors_graph

import mstflow
import mstflow.cluster
from covering import covering
from graph_strategies import edge_lists, union_of_many
from mstflow import backends, minimum_spanning_forest, mutual_reachability
from mstflow.errors import GraphError, OptionError
from mstflow.pointsets.catalogue.reachability import REACH


def blobs(centers, spread):
    return make_blobs(750, centers=centers, cluster_std=spread, random_state=0)[0]


#: The data sets of scikit-learn: of its documentation of HDBSCAN, and of its comparison page.
SAMPLES = {
    "three blobs": blobs([[1, 1], [-1, -1], [1.5, -1.5]], [0.4, 0.1, 0.75]),
    "blobs of many scales": blobs(
        [[-0.85, -0.85], [-0.85, 0.85], [3, 3], [3, -3]], [0.2, 0.35, 1.35, 1.35]
    ),
    "moons": make_moons(300, noise=0.05, random_state=0)[0],
    "circles": make_circles(300, noise=0.05, factor=0.5, random_state=0)[0],
    "blobs": make_blobs(300, random_state=30)[0],
    "varied": make_blobs(300, cluster_std=[1.0, 2.5, 0.5], random_state=170)[0],
    "stretched": make_blobs(300, random_state=170)[0] @ [[0.6, -0.6], [-0.4, 0.8]],
    "no structure": np.random.default_rng(30).random((300, 2)),
}


def all_pairs(points):
    """Return the columns u, v and weight of all pairs of points."""
    return *np.triu_indices(len(points), 1), pdist(points)


def numbered_except_noise(labels):
    """Renumber clusters in the order of their first members; noise stays -1."""
    number = {-1: -1}
    return [number.setdefault(label, len(number) - 1) for label in labels.tolist()]


def core_distances(graph, min_samples):
    """Return the core distance of each vertex, by definition."""
    near = [{vertex: 0} for vertex in range(graph.num_vertices)]
    for a, b, w in zip(graph.u.tolist(), graph.v.tolist(), graph.weight.tolist(), strict=True):
        near[a][b] = min(w, near[a].get(b, w))
        near[b][a] = min(w, near[b].get(a, w))
    dtype = graph.weight.dtype
    too_few = {"f": np.inf, "b": True}.get(dtype.kind) or np.iinfo(dtype).max
    last = min_samples - 1
    return [sorted(ends.values())[last] if last < len(ends) else too_few for ends in near]


@pytest.mark.parametrize("backend", backends())
@given(graph=edge_lists(), min_samples=st.integers(1, 5))
def test_weights_of_any_graph(backend, graph, min_samples):
    options = {"min_samples": min_samples, "backend": backend}
    if (graph.weight < 0).any():
        with pytest.raises(GraphError, match=r"edge \d+: weight -.* is negative"):
            mutual_reachability(graph, **options)
        return
    core = core_distances(graph, min_samples)
    ends = zip(graph.u.tolist(), graph.v.tolist(), graph.weight.tolist(), strict=True)
    found = mutual_reachability(graph, **options)
    assert found.weight.tolist() == [max(w, core[a], core[b]) for a, b, w in ends]
    assert found.weight.dtype == graph.weight.dtype or not graph.num_edges
    assert found.num_vertices == graph.num_vertices


@pytest.mark.parametrize("backend", backends())
def test_arcs_that_differ_by_rounding(backend):
    """Brute-force distances from A to B and from B to A may differ in the last bit."""
    search = NearestNeighbors(n_neighbors=30, algorithm="brute").fit(SAMPLES["blobs"])
    arcs = search.kneighbors_graph(mode="distance").tocoo()
    graph = mstflow.EdgeList(arcs.row, arcs.col, arcs.data)
    core = np.array(core_distances(graph, 10))
    found = mutual_reachability(graph, min_samples=10, backend=backend)
    expected = np.maximum(graph.weight, np.maximum(core[graph.u], core[graph.v]))
    assert found.weight.tolist() == expected.tolist()


def with_reachability(algorithm):
    """Return the algorithm with the stages of mutual reachability before it."""
    values = {**algorithm.values, "min_samples": 3}
    return mstflow.Pipeline(algorithm.name, *REACH, *algorithm.steps, values=values)


def test_stages_before_any_algorithm(algorithm):
    graph = union_of_many(20, "u1")
    tree = minimum_spanning_forest(mutual_reachability(graph, min_samples=3))
    composed = with_reachability(mstflow.algorithm(algorithm))
    for partitions in (1, 4):
        found = minimum_spanning_forest(
            graph, algorithm=composed, strategy="iterate", partitions=partitions
        )
        assert found.edge_ids.tolist() == tree.edge_ids.tolist()


def test_stages_on_dask(cluster):
    graph = union_of_many(20, "u8")  # no other dtype can represent these weights
    composed = with_reachability(mstflow.algorithm("auto"))
    tree = minimum_spanning_forest(mutual_reachability(graph, min_samples=3))
    for where in ("threads", cluster):
        found = minimum_spanning_forest(graph, algorithm=composed, scheduler=where, partitions=3)
        assert found.strategy == "iterate"
        assert found.edge_ids.tolist() == tree.edge_ids.tolist()


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("min_samples", [1, 2])
def test_clusters_against_scikit_learn_without_ties(name, min_samples):
    samples = all_pairs(SAMPLES[name])
    tree = minimum_spanning_forest(mutual_reachability(samples, min_samples=min_samples))
    for size in (2, 5, 25):
        model = HDBSCAN(size, min_samples=min_samples, algorithm="kd_tree", copy=True)
        labels = model.fit(SAMPLES[name]).labels_
        assert tree.hdbscan(min_cluster_size=size).tolist() == numbered_except_noise(labels)


def test_nearest_neighbors_approximate_all_pairs():
    """Heights from k neighbors are upper bounds, exact below all distances to k-th neighbors."""
    random = np.random.default_rng(9)
    for _ in range(20):
        points, k = random.normal(size=(60, 2)), random.integers(8, 12)
        near = kneighbors_graph(points, k, mode="distance")
        heights, whole = (
            hierarchy.cophenet(
                minimum_spanning_forest(mutual_reachability(graph, min_samples=4)).linkage()
            )
            for graph in (near, all_pairs(points))
        )
        assert (heights >= whole).all()
        is_near = whole < near.max(axis=1).toarray().min()
        assert is_near.any()
        assert np.array_equal(heights[is_near], whole[is_near])


@pytest.mark.parametrize("name", sorted(SAMPLES.keys() - {"no structure"}))
def test_ties_change_few_labels(name):
    """Points without structure have clusters that one tied edge joins."""
    theirs = numbered_except_noise(HDBSCAN(copy=True).fit(SAMPLES[name]).labels_)
    for graph in (all_pairs(SAMPLES[name]), kneighbors_graph(SAMPLES[name], 40, mode="distance")):
        labels = minimum_spanning_forest(mutual_reachability(graph)).hdbscan()
        assert np.count_nonzero(labels != theirs) <= 0.01 * len(labels)


def test_no_cluster_has_lifetime_zero():
    """scikit-learn removes tied edges one by one, so its labels depend on the order of the rows."""
    points = np.array([[0], [31], [55], [95], [114], [137], [152]])
    random, ours, theirs = np.random.default_rng(0), set(), set()
    for _ in range(20):
        order = random.permutation(len(points))
        for model, found in ((mstflow.cluster.HDBSCAN(3), ours), (HDBSCAN(3, copy=True), theirs)):
            labels = model.fit(points[order]).labels_
            found.add(tuple(labels[np.argsort(order)].tolist()))
    assert ours == {(-1,) * len(points)}
    assert len(theirs) > 1


@pytest.mark.parametrize("name", SAMPLES)
def test_selections_and_probabilities_against_scikit_learn(name):
    points = SAMPLES[name]
    samples = mutual_reachability(all_pairs(points), min_samples=2)  # does not create ties
    tree = minimum_spanning_forest(samples).dendrogram()
    for method, single, largest in covering(["eom", "leaf"], [False, True], [None, 250]):
        options = {"allow_single_cluster": single, "max_cluster_size": largest}
        model = HDBSCAN(15, min_samples=2, cluster_selection_method=method, copy=True, **options)
        model.fit(points)
        found = tree.hdbscan(min_cluster_size=15, method=method, **options)
        assert found.labels.tolist() == numbered_except_noise(model.labels_)
        assert np.allclose(found.probabilities, model.probabilities_, rtol=1e-12)


def test_a_cluster_that_appears_at_epsilon_stays():
    """The clusters of two points appear at 92 or at 93; 1 / (1 / 93) is less than 93."""
    positions = np.array([0, 1, 11, 12, 104, 105, 565, 566, 658, 659], float)[:, None]
    tree = minimum_spanning_forest(all_pairs(positions)).dendrogram()
    options = {"min_cluster_size": 2, "method": "leaf"}
    labels = [tree.hdbscan(epsilon=epsilon, **options).labels.tolist() for epsilon in (92, 93)]
    assert labels[0] == [0, 0, 0, 0, 1, 1, 2, 2, 3, 3]
    assert labels[1] == [0] * 6 + [1] * 4


@pytest.mark.parametrize("method", ["eom", "leaf"])
@pytest.mark.parametrize("name", SAMPLES)
def test_clusters_below_epsilon_are_not_split(name, method):
    """Climb from each selected cluster by definition; scikit-learn's own search fails on NumPy 2.4.

    Each vertex then belongs to the cluster in which the climb from its own cluster ends.
    """
    samples = all_pairs(SAMPLES[name])
    tree = minimum_spanning_forest(mutual_reachability(samples)).dendrogram()
    condensed = tree.condense(min_cluster_size=5)
    plain = tree.hdbscan(method=method).labels
    for epsilon in (0.05, 0.2, 0.5):
        end = {}
        for label, cluster in clusters_of(condensed, plain).items():
            while condensed.birth[cluster] > 1 / epsilon and condensed.parent[cluster]:
                cluster = int(condensed.parent[cluster])
            end[label] = cluster
        labels = tree.hdbscan(method=method, epsilon=epsilon).labels
        for label, cluster in end.items():
            together = set(labels[plain == label].tolist())
            assert len(together) == 1
            assert -1 not in together
            same = [other for other, at in end.items() if is_within(condensed, at, cluster)]
            assert all(set(labels[plain == other].tolist()) == together for other in same)


def clusters_of(condensed, labels):
    """Return the cluster of the condensed tree that each label stands for: the outermost home."""
    homes = {label: set(condensed.home[labels == label].tolist()) for label in set(labels) - {-1}}
    return {label: min(inside) for label, inside in homes.items()}  # parents come before children


def is_within(condensed, cluster, outer):
    while cluster not in (0, outer):
        cluster = int(condensed.parent[cluster])
    return cluster == outer


def glosh(tree):
    """Return outlier scores by definition, from the densest vertex of each cluster's subtree."""
    densest = {}
    for home, density in zip(tree.home.tolist(), tree.density.tolist(), strict=True):
        while True:
            densest[home] = max(densest.get(home, 0), density)
            if home == 0:
                break
            home = int(tree.parent[home])
    return [
        (densest[home] - density) / densest[home]
        for home, density in zip(tree.home.tolist(), tree.density.tolist(), strict=True)
    ]


def test_outlier_scores_by_definition():
    forest = minimum_spanning_forest(mutual_reachability(all_pairs(SAMPLES["moons"])))
    tree = forest.dendrogram().condense(min_cluster_size=10)
    assert np.allclose(tree.outlier_scores, glosh(tree))
    assert 0 <= tree.outlier_scores.min() < 0.2 < tree.outlier_scores.max() <= 1


def test_components_are_clusters_of_density_zero():
    """Two far components are two clusters, whether edges join them at a great distance or not."""
    points = np.random.default_rng(3).normal(size=(60, 2)) + np.repeat([[0], [1e9]], 30, axis=0)
    u, v, distance = all_pairs(points)
    near = distance < 1e6
    labels, apart = (
        minimum_spanning_forest((u[kept], v[kept], distance[kept]), num_vertices=60).hdbscan()
        for kept in (distance >= 0, near)
    )
    assert labels.tolist() == apart.tolist()
    assert set(labels[:30]).isdisjoint(set(labels[30:]) - {-1})


def test_noise_and_too_few_neighbors():
    assert minimum_spanning_forest(([], []), num_vertices=1).hdbscan().tolist() == [-1]
    path = minimum_spanning_forest(([0, 1, 2], [1, 2, 3], [1, 9, 1]))
    assert path.hdbscan(min_cluster_size=2).tolist() == [0, 0, 1, 1]
    assert path.hdbscan(min_cluster_size=3).tolist() == [-1] * 4
    apart = mutual_reachability(([0, 1, 2], [1, 2, 3], [1.0, 2.0, 3.0]), min_samples=3)
    assert apart.weight.tolist() == [np.inf, 3.0, np.inf]


def test_a_negative_zero_is_a_distance_of_zero():
    weight = np.array([1, 0, 2, 0, 5, 0, 1, 0, 2.0])
    found = [
        minimum_spanning_forest((np.arange(9), np.arange(1, 10), each))
        .dendrogram()
        .hdbscan(min_cluster_size=2)
        for each in (weight, np.where(weight, weight, -0.0))
    ]
    for positive, negative in zip(*found, strict=True):
        assert positive.tolist() == negative.tolist()


def test_bad_options():
    tree = minimum_spanning_forest(([0], [1]), num_vertices=3)
    with pytest.raises(OptionError, match="min_cluster_size must be an integer of at least 2"):
        tree.hdbscan(min_cluster_size=1)
    for options, message in (
        ({"method": "flat"}, "method must be 'eom' or 'leaf', not 'flat'"),
        ({"epsilon": -1}, "epsilon must be a distance of at least 0, not -1"),
        ({"max_cluster_size": 0}, "max_cluster_size must be an integer of at least 1, not 0"),
    ):
        with pytest.raises(OptionError, match=message):
            tree.dendrogram().hdbscan(**options)
    with pytest.raises(OptionError, match="min_samples must be an integer of at least 1, not 0"):
        mutual_reachability(([0], [1]), min_samples=0)
