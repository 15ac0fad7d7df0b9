"""Clusters of a forest: against scipy on points, against plain Python on any graph."""

import fractions
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster import hierarchy
from scipy.spatial.distance import pdist

from graph_strategies import WEIGHT_DTYPES, edge_lists
from mstflow import EdgeList, backends, minimum_spanning_forest
from mstflow.errors import GraphError, OptionError
from oracle import Sets, components


def complete_graph(points):
    """Return the graph of all pairs, in the order of scipy's condensed distances."""
    u, v = np.triu_indices(len(points), 1)
    return EdgeList(u, v, pdist(points), num_vertices=len(points))


def numbered_by_first(labels):
    """Number clusters in the order of their first members."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]


def join_plainly(forest):
    """Return the rows of the hierarchy, edge after edge."""
    name, sets = list(range(forest.num_vertices)), Sets(forest.num_vertices)
    order = sorted(range(len(forest.edge_ids)), key=forest.weight.tolist().__getitem__)
    rows = []
    for new, edge in enumerate(order, forest.num_vertices):
        ends = forest.u[edge], forest.v[edge]
        a, b = sorted(name[sets.find(end)] for end in ends)
        sets.join(*ends, new)
        root = sets.find(ends[0])
        name[root] = new
        rows.append((a, b, float(forest.weight[edge]), sets.size[root]))
    return rows


def keep(forest, edges):
    """Return the components that some edges of the forest leave, by breadth-first search."""
    ends = forest.u[edges], forest.v[edges]
    return components(EdgeList(*ends, num_vertices=forest.num_vertices)).tolist()


@pytest.mark.parametrize("backend", backends())
def test_points_as_scipy_clusters_them(backend):
    random = np.random.default_rng(5)
    for _ in range(200):
        points = random.normal(size=(random.integers(2, 40), random.integers(1, 4)))
        forest = minimum_spanning_forest(complete_graph(points), backend=backend)
        ours, theirs = forest.linkage(), hierarchy.linkage(points, "single")
        assert np.array_equal(ours, theirs)
        k = int(random.integers(1, len(points) + 1))
        flat = numbered_by_first(hierarchy.fcluster(theirs, k, "maxclust"))
        assert np.array_equal(forest.cut(k=k), flat)
        distance = random.choice(theirs[:, 2])  # of a join itself: the bound is inclusive
        flat = numbered_by_first(hierarchy.fcluster(theirs, distance, "distance"))
        assert np.array_equal(forest.cut(distance=distance), flat)


@pytest.mark.parametrize("backend", backends())
def test_points_with_tied_distances(backend):
    random = np.random.default_rng(6)
    for _ in range(50):
        points = random.integers(0, 4, (random.integers(2, 30), 2))
        forest = minimum_spanning_forest(complete_graph(points), backend=backend)
        ours, theirs = forest.linkage(), hierarchy.linkage(points, "single")
        assert np.array_equal(ours[:, 2], theirs[:, 2])
        assert hierarchy.is_valid_linkage(ours)
        assert np.array_equal(ours, join_plainly(forest))
        for distance in (0, 1, 1.5, 2):
            flat = numbered_by_first(hierarchy.fcluster(theirs, distance, "distance"))
            assert np.array_equal(forest.cut(distance=distance), flat)


def test_scipy_draws_and_orders_the_hierarchy():
    points = np.random.default_rng(7).normal(size=(30, 2))
    table = minimum_spanning_forest(complete_graph(points)).linkage()
    assert sorted(hierarchy.dendrogram(table, no_plot=True)["leaves"]) == list(range(30))
    assert np.array_equal(
        hierarchy.cophenet(table), hierarchy.cophenet(hierarchy.linkage(points, "single"))
    )


@given(edge_lists())
def test_linkage_of_any_graph(graph):
    forest = minimum_spanning_forest(graph)
    if forest.num_components != 1 or (forest.weight < 0).any():
        with pytest.raises(GraphError):
            forest.linkage()
        return
    table = forest.linkage()
    assert (table.shape, table.dtype) == ((forest.num_vertices - 1, 4), np.float64)
    assert table.tolist() == [list(row) for row in join_plainly(forest)]


@given(edge_lists(), st.data())
def test_cut_of_any_graph(graph, data):
    forest = minimum_spanning_forest(graph)
    assert forest.cut(k=forest.num_components).tolist() == forest.labels.tolist()
    k = data.draw(st.integers(forest.num_components, forest.num_vertices), label="k")
    order = np.argsort(forest.weight, kind="stable")
    labels = forest.cut(k=k)
    assert labels.dtype == np.int64
    assert len(set(labels.tolist())) == k
    assert labels.tolist() == keep(forest, order[: forest.num_vertices - k])


@given(edge_lists(), st.data())
def test_cut_at_a_distance_compares_exactly(graph, data):
    forest = minimum_spanning_forest(graph)
    weights = forest.weight.tolist()
    numbers = st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.fractions()
    near = [w + step for w in weights if abs(w) != math.inf for step in (-1, 0, 1)]
    distance = data.draw(st.sampled_from([*near, *weights, 0, 10**400, -(10**400)]) | numbers)
    kept = [edge for edge, weight in enumerate(weights) if weight <= distance]  # exact in Python
    assert forest.cut(distance=distance).tolist() == keep(forest, kept)


def test_cut_at_a_distance_between_two_floats():
    forest = minimum_spanning_forest(([0], [1], [0.1]))
    assert forest.cut(distance=fractions.Fraction(0.1)).tolist() == [0, 0]
    assert forest.cut(distance=fractions.Fraction(1, 10)).tolist() == [0, 1]  # less than 0.1


@pytest.mark.parametrize("dtype", WEIGHT_DTYPES)
def test_infinite_distances_and_all_dtypes(dtype):
    forest = minimum_spanning_forest(([0, 1], [1, 2], np.array([0, 1], dtype)))
    assert forest.cut(distance=math.inf).tolist() == [0, 0, 0]
    assert forest.cut(distance=-math.inf).tolist() == [0, 1, 2]
    assert forest.cut(distance=np.float32(0.5)).tolist() == [0, 0, 1]
    assert forest.cut(distance=fractions.Fraction(1, 2)).tolist() == [0, 0, 1]
    assert forest.linkage().tolist() == [[0, 1, 0, 2], [2, 3, 1, 3]]


def test_equal_weights_are_cut_from_the_latest():
    forest = minimum_spanning_forest(([0, 1, 2], [1, 2, 3], [7, 7, 7]))
    assert forest.cut(k=2).tolist() == [0, 0, 0, 1]
    assert forest.cut(k=3).tolist() == [0, 0, 1, 2]


def test_weights_beyond_float64_are_joined_exactly_and_rounded_at_the_end():
    forest = minimum_spanning_forest(([0, 1], [1, 2], [2**53 + 1, 2**53]))
    assert forest.linkage().tolist() == [[1, 2, 2**53, 2], [0, 3, 2**53, 3]]
    assert forest.cut(k=2).tolist() == forest.cut(distance=2**53).tolist() == [0, 1, 1]
    assert minimum_spanning_forest(([0], [1], np.array([0.1], "f4"))).cut(
        distance=0.1
    ).tolist() == [0, 1]  # float32's 0.1 is a little more


def test_one_vertex_and_none():
    assert minimum_spanning_forest(([], []), num_vertices=1).linkage().shape == (0, 4)
    nothing = minimum_spanning_forest(([], []))
    assert nothing.cut(k=0).tolist() == nothing.cut(distance=1).tolist() == []
    with pytest.raises(GraphError, match="this one has 0 components"):
        nothing.linkage()


def test_no_linkage():
    with pytest.raises(GraphError, match="connected graph, and this one has 3 components"):
        minimum_spanning_forest(([0], [1]), num_vertices=4).linkage()
    with pytest.raises(GraphError, match=r"edge 1: weight -2.5 is negative"):
        minimum_spanning_forest(([0, 1], [1, 2], [3, -2.5])).linkage()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "cut needs one of k and distance"),
        ({"k": 2, "distance": 1.0}, "cut needs one of k and distance"),
        ({"k": 1}, "k must be an integer from 2, the components .* to 4, its vertices, not 1"),
        ({"k": 5}, "not 5"),
        ({"k": 2.0}, r"not 2\.0"),
        ({"k": True}, "not True"),
        ({"distance": math.nan}, "distance must be a number, not nan"),
        ({"distance": "far"}, "distance must be a number, not 'far'"),
    ],
)
def test_bad_cuts(options, message):
    forest = minimum_spanning_forest(([0, 1], [1, 2]), num_vertices=4)
    with pytest.raises(OptionError, match=message):
        forest.cut(**options)


@pytest.mark.parametrize("backend", backends())
def test_a_long_path(backend):
    n = 2000  # joined from one end: the deepest hierarchy there is
    forest = minimum_spanning_forest(
        (np.arange(n - 1), np.arange(1, n), np.arange(n - 1)), backend=backend
    )
    table = forest.linkage()
    assert table[:, 3].tolist() == list(range(2, n + 1))
    assert table[1:, 1].tolist() == list(range(n, 2 * n - 2))


def test_a_maximum_forest_has_no_clusters():
    forest = minimum_spanning_forest(([0, 1], [1, 2], [1.0, 2.0]), maximum=True)
    for ask in (forest.linkage, lambda: forest.cut(k=2)):
        with pytest.raises(OptionError, match="this is a maximum one"):
            ask()
