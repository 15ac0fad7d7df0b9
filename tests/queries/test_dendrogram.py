"""Clusters of forests, compared with SciPy on points and with plain Python on any graph."""

import fractions
import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster import hierarchy
from scipy.spatial.distance import pdist, squareform

from graph_strategies import WEIGHT_DTYPES, edge_lists
from mstflow import EdgeList, backends, minimum_spanning_forest
from mstflow.errors import GraphError, OptionError
from oracle import Sets, components, numbered_by_first


def complete_graph(points):
    """Return the graph of all pairs, in the order of SciPy's condensed distances."""
    u, v = np.triu_indices(len(points), 1)
    return EdgeList(u, v, pdist(points), num_vertices=len(points))


def linkage_by_definition(forest):
    """Return the rows of the linkage matrix, merging one edge after another."""
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


def components_of_edges(forest, edges):
    """Return the components formed by some edges of the forest, by breadth-first search."""
    ends = forest.u[edges], forest.v[edges]
    return components(EdgeList(*ends, num_vertices=forest.num_vertices)).tolist()


@pytest.mark.parametrize("backend", backends())
def test_points_against_scipy(backend):
    random = np.random.default_rng(5)
    for _ in range(200):
        points = random.normal(size=(random.integers(2, 40), random.integers(1, 4)))
        forest = minimum_spanning_forest(complete_graph(points), backend=backend)
        ours, theirs = forest.linkage(), hierarchy.linkage(points, "single")
        assert np.array_equal(ours, theirs)
        k = int(random.integers(1, len(points) + 1))
        flat = numbered_by_first(hierarchy.fcluster(theirs, k, "maxclust"))
        assert np.array_equal(forest.cut(k=k), flat)
        distance = random.choice(theirs[:, 2])  # the height of a merge: the bound is inclusive
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
        assert np.array_equal(ours, linkage_by_definition(forest))
        for distance in (0, 1, 1.5, 2):
            flat = numbered_by_first(hierarchy.fcluster(theirs, distance, "distance"))
            assert np.array_equal(forest.cut(distance=distance), flat)


@st.composite
def connected_graphs(draw):
    """Draw a connected graph with ties, loops and parallel edges; its weights are 0 to 9."""
    n = draw(st.integers(2, 14))
    path = draw(st.permutations(range(n)))
    pairs = draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=30))
    pairs = draw(st.permutations([*itertools.pairwise(path), *pairs]))
    dtype = np.dtype(draw(st.sampled_from(WEIGHT_DTYPES)))
    whole = st.integers(0, 1 if dtype.kind == "b" else 9)
    weight = draw(st.lists(whole, min_size=len(pairs), max_size=len(pairs)))
    u, v = (np.array(end, np.int32) for end in zip(*pairs, strict=True))
    return EdgeList(u, v, np.array(weight).astype(dtype), num_vertices=n)


@given(connected_graphs(), st.booleans(), st.integers(0, 9))
def test_connected_graphs_against_scipy(graph, maximum, threshold):
    """Similarities become distances: 9 minus the weight. A pair without an edge is at 99."""
    weight = graph.weight.astype(np.float64)
    distances = np.full((graph.num_vertices,) * 2, 99.0)
    for ends in ((graph.u, graph.v), (graph.v, graph.u)):
        np.minimum.at(distances, ends, 9 - weight if maximum else weight)
    np.fill_diagonal(distances, 0)
    theirs = hierarchy.linkage(squareform(distances), "single")
    forest = minimum_spanning_forest(graph, maximum=maximum)
    heights = forest.dendrogram().cophenetic(*np.triu_indices(graph.num_vertices, 1))
    assert np.array_equal(9 - heights if maximum else heights, hierarchy.cophenet(theirs))
    by = {"similarity": 9 - threshold} if maximum else {"distance": threshold}
    flat = numbered_by_first(hierarchy.fcluster(theirs, threshold, "distance"))
    assert np.array_equal(forest.cut(**by), flat)
    if not maximum:
        ours = forest.linkage()
        assert hierarchy.is_valid_linkage(ours)
        assert np.array_equal(ours[:, 2], theirs[:, 2])
        assert np.array_equal(hierarchy.cophenet(ours), heights)


@given(edge_lists())
def test_linkage_of_any_graph(graph):
    forest = minimum_spanning_forest(graph)
    if forest.num_components != 1 or (forest.weight < 0).any():
        with pytest.raises(GraphError):
            forest.linkage()
        return
    table = forest.linkage()
    assert (table.shape, table.dtype) == ((forest.num_vertices - 1, 4), np.float64)
    assert table.tolist() == [list(row) for row in linkage_by_definition(forest)]


@given(edge_lists(), st.data())
def test_cut_of_any_graph(graph, data):
    forest = minimum_spanning_forest(graph)
    assert forest.cut(k=forest.num_components).tolist() == forest.labels.tolist()
    k = data.draw(st.integers(forest.num_components, forest.num_vertices), label="k")
    order = np.argsort(forest.weight, kind="stable")
    labels = forest.cut(k=k)
    assert labels.dtype == np.int64
    assert len(set(labels.tolist())) == k
    assert labels.tolist() == components_of_edges(forest, order[: forest.num_vertices - k])


@given(edge_lists(), st.data())
def test_cut_at_a_distance_compares_exactly(graph, data):
    forest = minimum_spanning_forest(graph)
    weights = forest.weight.tolist()
    numbers = st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.fractions()
    near = [w + step for w in weights if abs(w) != math.inf for step in (-1, 0, 1)]
    distance = data.draw(st.sampled_from([*near, *weights, 0, 10**400, -(10**400)]) | numbers)
    kept = [
        edge for edge, weight in enumerate(weights) if weight <= distance
    ]  # Python compares exactly
    assert forest.cut(distance=distance).tolist() == components_of_edges(forest, kept)


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


def test_weights_beyond_float64_are_ordered_exactly_and_rounded_at_the_end():
    forest = minimum_spanning_forest(([0, 1], [1, 2], [2**53 + 1, 2**53]))
    assert forest.linkage().tolist() == [[1, 2, 2**53, 2], [0, 3, 2**53, 3]]
    assert forest.cut(k=2).tolist() == forest.cut(distance=2**53).tolist() == [0, 1, 1]
    assert minimum_spanning_forest(([0], [1], np.array([0.1], "f4"))).cut(
        distance=0.1
    ).tolist() == [0, 1]  # float32(0.1) is greater than 0.1


def test_one_vertex_and_no_vertices():
    assert minimum_spanning_forest(([], []), num_vertices=1).linkage().shape == (0, 4)
    nothing = minimum_spanning_forest(([], []))
    assert nothing.cut(k=0).tolist() == nothing.cut(distance=1).tolist() == []
    with pytest.raises(GraphError, match="got 0 components"):
        nothing.linkage()


def test_graphs_without_a_linkage():
    with pytest.raises(GraphError, match="connected graph, got 3 components"):
        minimum_spanning_forest(([0], [1]), num_vertices=4).linkage()
    with pytest.raises(GraphError, match=r"edge 1: weight -2.5 is negative"):
        minimum_spanning_forest(([0, 1], [1, 2], [3, -2.5])).linkage()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "exactly one of k, distance and similarity, got 0"),
        ({"k": 2, "distance": 1.0}, "exactly one of k, distance and similarity, got 2"),
        ({"similarity": 1}, "cut a minimum spanning forest by distance=, not by similarity="),
        ({"k": 1}, "k must be an integer from 2 .* to 4 .*, not 1"),
        ({"k": 5}, "not 5"),
        ({"k": 2.0}, r"not 2\.0"),
        ({"k": True}, "not True"),
        ({"k": [2, 5]}, "not 5"),
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
    n = 2000  # merged from one end, which gives the deepest hierarchy
    forest = minimum_spanning_forest(
        (np.arange(n - 1), np.arange(1, n), np.arange(n - 1)), backend=backend
    )
    table = forest.linkage()
    assert table[:, 3].tolist() == list(range(2, n + 1))
    assert table[1:, 1].tolist() == list(range(n, 2 * n - 2))


@given(edge_lists(), st.data())
def test_similarities_of_a_maximum_forest(graph, data):
    forest = minimum_spanning_forest(graph, maximum=True)
    weights = forest.weight.tolist()
    similarity = data.draw(st.sampled_from([*weights, 0]) | st.fractions())
    kept = [edge for edge, weight in enumerate(weights) if weight >= similarity]
    assert forest.cut(similarity=similarity).tolist() == components_of_edges(forest, kept)
    order = sorted(range(len(weights)), key=lambda edge: -weights[edge])  # stable
    k = data.draw(st.integers(forest.num_components, forest.num_vertices))
    assert forest.cut(k=k).tolist() == components_of_edges(forest, order[: forest.num_vertices - k])


def test_a_maximum_forest_has_no_distances():
    forest = minimum_spanning_forest(([0, 1], [1, 2], [1.0, 2.0]), maximum=True)
    for ask in (forest.linkage, forest.hdbscan):
        with pytest.raises(OptionError, match="got a maximum spanning forest"):
            ask()
    with pytest.raises(OptionError, match="cut a maximum spanning forest by similarity="):
        forest.cut(distance=1)


@pytest.mark.parametrize("backend", backends())
@given(graph=edge_lists(), maximum=st.booleans())
def test_hierarchy_by_definition(backend, graph, maximum):
    """Merge clusters edge by edge, and compare parents, sizes and bottlenecks."""
    forest = minimum_spanning_forest(graph, maximum=maximum, backend=backend)
    tree, n = forest.dendrogram(), forest.num_vertices
    weights, sign = forest.weight.tolist(), -1 if maximum else 1
    order = sorted(range(len(weights)), key=lambda edge: sign * weights[edge])
    assert tree.edge_ids.tolist() == forest.edge_ids[order].tolist()
    assert tree.weight.tolist() == forest.weight[order].tolist()
    parent, members = list(range(n + len(order))), {vertex: [vertex] for vertex in range(n)}
    joined_by = {}
    for node, edge in enumerate(order, n):
        below = [c for c in members if {forest.u[edge], forest.v[edge]} & set(members[c])]
        a, b = (members.pop(cluster) for cluster in below)
        for pair in ((x, y) for x in a for y in b):
            joined_by[pair] = joined_by[pair[::-1]] = forest.edge_ids[edge]
        parent[below[0]] = parent[below[1]] = node
        members[node] = a + b
        assert tree.size[node - n] == len(a + b)
    assert tree.parent.tolist() == parent
    pairs = [(x, y) for x in range(n) for y in range(n)]
    a, b = np.array(pairs, np.int64).reshape(-1, 2).T
    expected = [-1 if x == y else joined_by.get((x, y), -2) for x, y in pairs]
    weight, edge_id = forest.bottleneck(a, b)
    assert (edge_id.tolist(), edge_id.dtype) == (expected, np.int64)
    assert weight.dtype == graph.weight.dtype
    assert weight.tolist() == [graph.weight[i].item() if i >= 0 else 0 for i in expected]


def test_cophenetic_distances_of_one_vertex_and_of_two_components():
    for maximum, expected in ((False, [0, 3, np.inf]), (True, [np.inf, 3, -np.inf])):
        tree = minimum_spanning_forest(([0], [1], [3]), num_vertices=3, maximum=maximum)
        assert tree.dendrogram().cophenetic([0, 0, 0], [0, 1, 2]).tolist() == expected


def test_bad_queries():
    tree = minimum_spanning_forest(([0], [1], [3])).dendrogram()
    for ends, message in (
        (([0], [2]), r"b\[0\] is 2, but the graph has 2 vertices"),
        (([-1], [0]), r"a\[0\] is -1"),
        (([0], [0, 1]), "a and b must have the same length, not 1 and 2"),
        (([0.5], [0]), "a must be a one-dimensional integer array, not float64"),
    ):
        with pytest.raises(OptionError, match=message):
            tree.bottleneck(*ends)


@given(edge_lists())
def test_components_join_at_infinity(graph):
    forest = minimum_spanning_forest(EdgeList(graph.u, graph.v, num_vertices=graph.num_vertices))
    if not forest.num_vertices:
        return
    table = forest.linkage(disconnected="infinity")
    assert forest.num_vertices == 1 or hierarchy.is_valid_linkage(table)
    assert np.count_nonzero(np.isinf(table[:, 2])) == forest.num_components - 1
    if forest.num_vertices > 1:
        flat = hierarchy.fcluster(table, 1e300, "distance")
        assert numbered_by_first(flat).tolist() == forest.labels.tolist()


def test_thresholds_in_one_call_and_one_at_a_time():
    forest = minimum_spanning_forest(([0, 1, 2], [1, 2, 3], [3, 1, 2]))
    expected = [[0, 1, 1, 2], [0, 1, 1, 1], [0, 0, 0, 0]]
    labels = forest.cut(distance=[1, 2, 3])
    assert (labels.shape, labels.dtype) == ((3, 4), np.int64)
    assert labels.tolist() == expected
    assert forest.cut(k=range(3, 0, -1)).tolist() == expected
    assert [row.tolist() for row in forest.dendrogram().iter_cuts(distance=(1, 2, 3))] == expected
    assert forest.cut(distance=[]).shape == (0, 4)
