"""The networkx backend: networkx's own tests pass on it, and results equal those of networkx."""

import itertools
import operator
import os
import random
import re
import subprocess
import sys
import weakref
from collections import OrderedDict
from typing import ClassVar
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mstflow
from graph_strategies import edge_lists
from mstflow.errors import GraphError, OptionError
from mstflow.graphs.libraries import networkx as libraries
from mstflow.interop.networkx import backend, components, forests, info, labels, rows
from mstflow.runtime.native import Kernels

networkx = pytest.importorskip("networkx")

KINDS = [networkx.Graph, networkx.MultiGraph]
TREES = ["minimum_spanning_tree", "maximum_spanning_tree"]
EDGES = ["minimum_spanning_edges", "maximum_spanning_edges"]


def test_tests_of_networkx_pass(tmp_path):
    forced = {"NETWORKX_TEST_BACKEND": "mstflow", "NETWORKX_FALLBACK_TO_NX": "True"}
    modules = [
        "networkx.algorithms.tree.tests.test_mst",
        "networkx.algorithms.components.tests.test_connected",
    ]
    log = tmp_path / "log"
    options = ["-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path)]
    options += ["--log-level", "DEBUG", "--log-file", str(log), "-k", "not iterator"]
    command = [sys.executable, "-m", "pytest", *options, "--pyargs", *modules]
    done = subprocess.run(
        command, env={**os.environ, **forced}, cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) > 50
    called = re.findall(r"Using backend 'mstflow' for call to '(\w+)'", log.read_text())
    assert set(called) == set(info.FUNCTIONS)


DISPATCH = """
import logging, networkx as nx
nx.config.backend_priority.algos = nx.config.backend_priority.generators = ["mstflow"]
nx.config.warnings_to_ignore.add("cache")
logging.basicConfig(level="DEBUG", format="%(message)s")
G = nx.gnm_random_graph(1000, 3000, seed=1)
nx.minimum_spanning_edges(G, backend="mstflow")  # loads NumPy, which networkx does not wait for
list(nx.minimum_spanning_edges(G))
assert list(G.__networkx_cache__["backends"]) == ["mstflow"]
nx.minimum_spanning_tree(nx.path_graph(5))
nx.number_connected_components(nx.path_graph(5))
tree = nx.minimum_spanning_tree(G, backend="mstflow", algorithm="kruskal")
assert nx.utils.graphs_equal(tree, nx.minimum_spanning_tree(G, backend="networkx"))
try:
    nx.minimum_spanning_tree(G, backend="mstflow", algorithm="prim")
except NotImplementedError:
    print("refused")
"""


def test_networkx_dispatches():
    command = [sys.executable, "-W", "error", "-c", DISPATCH]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "refused\n"), done.stderr
    used = re.findall(r"Using backend 'mstflow' for call to '(\w+)'", done.stderr)
    inner = "minimum_spanning_edges"  # which networkx calls for its own tree
    assert used == ["minimum_spanning_edges"] * 2 + ["minimum_spanning_tree", inner]
    assert f"networkx is faster below {backend.FOREST_FROM} edges" in done.stderr
    assert f"networkx is faster below {backend.COMPONENTS_FROM} nodes" in done.stderr
    assert "the other algorithms of networkx return edges in another order" in done.stderr


def as_networkx(graph, kind, name):
    made = kind(title="roads")
    made.add_nodes_from((name(i), {"number": i}) for i in range(graph.num_vertices))
    columns = (graph.u.tolist(), graph.v.tolist(), graph.weight.tolist())
    for i, (u, v, weight) in enumerate(zip(*columns, strict=True)):
        made.add_edge(name(u), name(v), length=weight, number=i)
    return made


def converted(graph, **options):
    return backend.convert_from_nx(graph, preserve_node_attrs=True, **options)


def orders(graph):
    """Everything of a graph, with the order in which it stands."""
    rows = [(u, list(row.items())) for u, row in graph.adjacency()]
    return type(graph), graph.graph, list(graph.nodes(data=True)), rows


NAMES = st.sampled_from([int, str, lambda i: 5 - 3 * i, lambda i: 10**30 * i, float])


@given(edge_lists(), st.sampled_from(KINDS), NAMES, st.booleans())
def test_results_equal_those_of_networkx(graph, kind, name, has_weights):
    made = as_networkx(graph, kind, name)
    weight = "length" if has_weights else "absent"
    ours = converted(made, preserve_edge_attrs=True)
    assert networkx.utils.graphs_equal(backend.convert_to_nx(ours), made)
    for function in TREES:
        expected = getattr(networkx, function)(made, weight=weight)
        assert orders(getattr(backend, function)(ours, weight=weight)) == orders(expected)
    for function in EDGES:
        for options in ({}, {"data": False}, {"keys": False}):
            found = getattr(backend, function)(ours, weight=weight, **options)
            expected = getattr(networkx, function)(made, weight=weight, **options)
            assert list(found) == list(expected)
    expected = list(networkx.connected_components(made))
    for each in (ours, backend.convert_from_nx(made)):
        if expected:
            assert backend.is_connected(each) == (len(expected) == 1)
        assert list(backend.connected_components(each)) == expected
        assert backend.number_connected_components(each) == len(expected)


@given(
    edge_lists(),
    st.sampled_from(KINDS),
    st.sampled_from(
        [{"_FEW": 2**20}, {"_REGION": 0}, {"_FEW": 0, "_PLACES": 0}, {"_FARTHEST": -1}]
    ),
)
def test_ends_found_by_address_or_by_name(graph, kind, limits):
    made = as_networkx(graph, kind, str)
    with mock.patch.multiple(libraries, **limits):
        edges = libraries.edges_of(made)
    expected = made.edges(data=True, **({"keys": True} if made.is_multigraph() else {}))
    assert list(edges.tuples(np.arange(len(edges.u)))) == list(expected)


class Thin(networkx.Graph):
    """All edges share one dictionary of attributes, as in an example of networkx."""

    shared: ClassVar = {"weight": 1}

    def edge_attr_dict_factory(self):
        return self.shared


@pytest.mark.parametrize("repeat", [1, 2])
@pytest.mark.parametrize(
    "limits",
    [{"_FEW": 2**20}, {"_REGION": 2}, {"_FEW": 0, "_PLACES": 0}, {"_FARTHEST": 1}],
    ids=str,
)
def test_order_of_objects_in_memory(limits, repeat):
    objects = np.empty(500, object)
    objects[:] = [{place: place} for place in range(500)]
    objects = np.random.default_rng(1).permutation(np.repeat(objects, repeat))
    with mock.patch.multiple(libraries, **limits):
        order = libraries.by_address(objects)
    addresses = [id(each) for each in objects[order]]
    assert addresses == sorted(addresses)
    assert sorted(order) == list(range(len(objects)))


@pytest.mark.parametrize("edges", [[(0, 0), (1, 1)], [(0, 1), (2, 3)]])
def test_edges_that_share_a_dictionary(edges):
    found = libraries.edges_of(Thin(edges))
    assert list(zip(found.u.tolist(), found.v.tolist(), strict=True)) == edges


LIMITS = st.sampled_from([0, 1, 100])


@given(edge_lists(), NAMES, st.integers(0, 3), LIMITS, LIMITS, LIMITS, st.sampled_from([1, 2, 99]))
def test_levels_of_a_search(graph, name, few, few_outside, many_outside, many_arcs, first):
    """Small graphs have small levels; the limits decide how these are read."""
    made = as_networkx(graph, networkx.Graph, name)
    limits = {"SPARSE": 0, "_FEW": few, "_FEW_OUTSIDE": few_outside, "_MANY_OUTSIDE": many_outside}
    limits |= {"_MANY_ARCS": many_arcs, "_FIRST": first}
    with mock.patch.multiple(components, **limits):
        found = list(backend.connected_components(backend.convert_from_nx(made)))
    assert found == list(networkx.connected_components(made))


@pytest.fixture
def by_kernels(monkeypatch):
    """Let kernels read any graph; return a function that labels components if they can."""
    pytest.importorskip("numba")
    monkeypatch.setattr(Kernels, "pay_after", lambda *_: True)
    monkeypatch.setattr(rows, "_were_cached", lambda: True)
    return lambda adjacency: labels.labels_of_rows(adjacency, info.SPARSE)[0]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edge_lists(), st.sampled_from(KINDS), NAMES, st.booleans())
@pytest.mark.usefixtures("by_kernels")
def test_components_by_kernels(graph, kind, name, is_known):
    made = as_networkx(graph, kind, name)
    expected = list(networkx.connected_components(made))
    with mock.patch.object(rows, "_is_layout_known", return_value=is_known):
        found, number = rows.labels_by_kernels(made._adj, 2)
    assert labels.sets_of(made._adj, found) == expected
    assert number == len(expected)


@pytest.mark.usefixtures("by_kernels")
@pytest.mark.parametrize("degree", [0, 16])
def test_space_for_kernels(degree):
    """If the guess of the degree is too low, the kernel says how much space it needs."""
    made = networkx.disjoint_union(networkx.complete_graph(30), networkx.star_graph(300))
    made.add_edges_from((i, i) for i in range(0, 300, 7))
    found, number = rows.labels_by_kernels(made._adj, degree)
    assert number == 2
    assert labels.sets_of(made._adj, found) == list(networkx.connected_components(made))


def joined(*parts):
    """Return a graph that has the nodes 0, 1, ... of one graph after the other."""
    return networkx.disjoint_union_all(parts)


#: Graphs with at least twelve arcs for each node. Kernels read only some arcs of the first ones.
DENSE = {
    "one": networkx.gnm_random_graph(60, 600, seed=1),
    "first neighbors alike": networkx.complete_bipartite_graph(20, 60),
    "few outside": joined(networkx.complete_graph(70), networkx.path_graph(5)),
    "outside in between": joined(
        networkx.cycle_graph(9), networkx.complete_graph(60), networkx.grid_2d_graph(4, 4)
    ),
    "cliques outside": joined(networkx.complete_graph(99), networkx.ring_of_cliques(6, 5)),
    "isolated": joined(networkx.empty_graph(4), networkx.complete_graph(30)),
    "loops": networkx.Graph([*networkx.complete_graph(20).edges, *((i, i) for i in range(20))]),
    "many sets": joined(*[networkx.complete_graph(15)] * 6),
    "two sets": joined(networkx.complete_graph(30), networkx.complete_graph(31)),
}


class Equal(int):
    """An int whose comparison is written in Python."""

    __hash__ = int.__hash__

    def __eq__(self, other):
        return int(self) == other


@pytest.mark.usefixtures("by_kernels")
@pytest.mark.parametrize("name", [int, str, float, Equal, lambda i: (i, str(i)), lambda i: i - 2])
@pytest.mark.parametrize("structure", DENSE)
@pytest.mark.parametrize("kind", [networkx.Graph, networkx.MultiGraph])
def test_components_of_dense_graphs(structure, name, kind):
    """Each key of a row is an object of its own, as if it was read from a file."""
    edges = random.Random(0).sample(sorted(DENSE[structure].edges), DENSE[structure].size())
    made = kind((name(u), name(v)) for u, v in edges)
    made.add_nodes_from(map(name, DENSE[structure]))
    expected = list(networkx.connected_components(made))
    for degree in (0, info.DENSE):
        found, number = rows.labels_by_kernels(made._adj, degree)
        assert labels.sets_of(made._adj, found) == expected
        assert number == len(expected)


@pytest.mark.usefixtures("by_kernels")
def test_keys_of_dense_graphs_with_equal_hashes():
    equal = [[k * sys.hash_info.modulus + i for k in range(20)] for i in range(-2, 2)]
    nodes = [*itertools.chain(*equal), True, "a", "ä", "\U0001f600", ""]
    others = [k * sys.hash_info.modulus + 1 for k in range(20, 25)]
    for seed in range(20):
        made = networkx.gnm_random_graph(len(nodes), 8 * len(nodes), seed=seed)
        made = networkx.relabel_nodes(made, dict(enumerate(nodes)))
        made.add_edges_from(itertools.combinations(others, 2))
        found, _ = rows.labels_by_kernels(made._adj, info.DENSE)
        assert labels.sets_of(made._adj, found) == list(networkx.connected_components(made))


@pytest.fixture
def are_loaded(monkeypatch):
    """Let this process use all code for any graph, as after calls on many graphs."""
    for waiting in (info.labels_wait, backend.forests_wait, backend.search_wait):
        monkeypatch.setattr(waiting, "_total", 10**9)


@pytest.mark.usefixtures("by_kernels", "are_loaded")
def test_large_graphs_have_components_by_kernels():
    made = networkx.gnm_random_graph(info.LARGE, info.LARGE, seed=1)
    with mock.patch.object(components, "components_of", side_effect=AssertionError):
        found = list(networkx.connected_components(made, backend="mstflow"))
        assert backend.is_connected(backend.convert_from_nx(made)) is False
    assert found == list(networkx.connected_components(made))


@pytest.mark.usefixtures("are_loaded")
@pytest.mark.parametrize("kind", KINDS)
def test_large_graphs_have_components_by_arrays(kind, monkeypatch):
    monkeypatch.setattr(labels, "labels_by_kernels", lambda *_: None)
    made = kind(networkx.path_graph(labels.ARRAYS_FROM))
    made.add_edge("a", "b")
    made.add_edge("c", "c")
    ours = backend.convert_from_nx(made)
    with mock.patch.object(components, "components_of", side_effect=AssertionError):
        assert not backend.is_connected(ours)
        assert backend.number_connected_components(ours) == 3
        found = list(backend.connected_components(ours))
    assert found == list(networkx.connected_components(made))


@pytest.mark.usefixtures("are_loaded")
def test_a_small_component_of_a_large_graph_is_enough(monkeypatch):
    made = networkx.Graph([("a", "b")])
    networkx.add_path(made, range(info.LARGE))
    monkeypatch.setattr(components.ConvertedNodes, "_find_labels", AssertionError)
    assert networkx.is_connected(made, backend="mstflow") is False
    monkeypatch.undo()
    for connected in (networkx.path_graph(10), networkx.star_graph(1000), networkx.path_graph(150)):
        assert networkx.is_connected(connected, backend="mstflow") is True


@pytest.mark.parametrize("kind", [Thin, networkx.DiGraph])
def test_rows_that_share_no_dictionaries_or_too_many(by_kernels, kind):
    for edges in ([(0, 1), (1, 2)], [(0, 0), (0, 1)], [(0, 1), (0, 2), (2, 2)]):
        assert by_kernels(kind(edges)._adj) is None
    part = networkx.Graph([(0, 1), (1, 2)]).subgraph([0, 2])
    assert by_kernels(part._adj) is None


@pytest.mark.parametrize(
    ("kernel", "new"), [("count_arcs", (0, 8)), ("count_arcs", (0, 9)), ("read_keys", (0, 1))]
)
@pytest.mark.usefixtures("by_kernels")
def test_a_graph_that_changes_while_it_is_read(monkeypatch, kernel, new):
    read = getattr(rows.kernels, kernel)

    def read_before(*arguments):
        count = read(*arguments)
        made.add_edge(*new)
        return count

    made = networkx.MultiGraph(networkx.path_graph(9))
    monkeypatch.setattr(rows.kernels, kernel, read_before)
    assert rows.edges_by_kernels(made) is None


@pytest.mark.usefixtures("by_kernels")
def test_a_graph_that_changes_before_it_is_read_again(monkeypatch):
    read = rows.kernels.label_rows

    def read_before(*arguments):
        count = read(*arguments)
        made.add_edge(0, "new")
        return count

    made = networkx.circulant_graph(400, range(1, 6))
    monkeypatch.setattr(rows.kernels, "label_rows", read_before)
    assert rows.labels_by_kernels(made._adj, 0) is None


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edge_lists(), st.sampled_from(KINDS), NAMES, st.booleans(), st.booleans())
@pytest.mark.usefixtures("by_kernels")
def test_edges_by_kernels(graph, kind, name, is_known, has_gaps):
    made = as_networkx(graph, kind, name)
    if has_gaps:
        made.add_edges_from((name(2), name(i)) for i in range(40))
        made.remove_nodes_from([name(i) for i in range(3, 40, 3)])
    expected = libraries.edges_of(made)
    with mock.patch.object(rows, "_is_layout_known", return_value=is_known):
        found = rows.edges_by_kernels(made)
    all_edges = np.arange(len(expected.u))
    assert list(found.tuples(all_edges)) == list(expected.tuples(all_edges))
    assert all(map(operator.is_, found.data.tolist(), expected.data.tolist()))
    for attribute in ("length", "number"):
        column = rows.numbers_by_kernels(found.data, attribute)
        if column is not None:
            np.testing.assert_array_equal(column, expected.weights(attribute), strict=True)


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="the layout has not been compared")
def test_layout_of_tables():
    assert rows._is_layout_known()
    for version in ((3, 10, 1), (3, 14, 0)):
        with mock.patch.object(sys, "version_info", version):
            assert not rows._is_layout_known.__wrapped__()


@pytest.mark.usefixtures("by_kernels")
@pytest.mark.parametrize("kind", KINDS)
def test_kernels_count_references(kind):
    made, key = kind([("a", "b", {"x": 0.5})]), object()
    made.add_edge("a", "c", **({"key": key} if made.is_multigraph() else {}))
    objects = [key, *made._adj["a"].values(), *(data for *_, data in made.edges(data=True))]
    before = [*map(sys.getrefcount, objects)]
    found = rows.edges_by_kernels(made)
    assert sum(map(sys.getrefcount, objects)) > sum(before)
    rows.numbers_by_kernels(found.data, "x")
    del found
    assert [*map(sys.getrefcount, objects)] == before


@pytest.mark.usefixtures("by_kernels")
def test_large_graphs_are_converted_by_kernels(monkeypatch):
    made = networkx.gnm_random_graph(300, 600, seed=1)
    monkeypatch.setattr(forests.kernels_wait, "_total", 10**9)
    monkeypatch.setattr(forests, "edges_of", mock.Mock(side_effect=AssertionError))
    found = networkx.minimum_spanning_tree(made, backend="mstflow")
    assert orders(found) == orders(networkx.minimum_spanning_tree(made))


@pytest.mark.usefixtures("by_kernels")
@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([0.5, float("nan"), -0.0], "float64"),
        ([2**63 - 1, -(2**63), 0], "int64"),
        ([1, 0.5], None),
        ([0.5, 1], None),
        ([2**63], None),
        ([True], None),
        ([None], None),
        ([np.float64(1)], None),
        ([], None),
    ],
)
def test_numbers_by_kernels(values, dtype):
    dicts = np.array([{"x": value} for value in values] + [None])[:-1]
    found = rows.numbers_by_kernels(dicts, "x")
    if dtype is None:
        assert found is None
    else:
        np.testing.assert_array_equal(found, np.array(values, dtype), strict=True)
    assert rows.numbers_by_kernels(dicts, "y") is None
    assert rows.numbers_by_kernels(dicts, 1) is None
    others = np.empty(2, object)
    others[:] = {"x": 1}, OrderedDict(x=1)
    assert rows.numbers_by_kernels(others, "x") is None


@pytest.mark.parametrize("kind", KINDS)
def test_nan_and_other_weights(kind):
    made = kind([("a", "b", {"weight": 2.0}), ("b", "c", {"weight": float("nan")}), ("a", "c")])
    ours = converted(made, preserve_edge_attrs=True)
    found = backend.minimum_spanning_edges(ours, ignore_nan=True, data=False)
    assert list(found) == list(networkx.minimum_spanning_edges(made, ignore_nan=True, data=False))
    with pytest.raises(ValueError, match=r"NaN found as an edge weight. Edge \('b', 'c', "):
        list(backend.minimum_spanning_edges(ours))
    for weight in ("heavy", 10**30, 2**53 + 1, None, 1j):
        made.add_edge("a", "d", weight=weight)
        with pytest.raises(NotImplementedError):
            backend.minimum_spanning_tree(converted(made, preserve_edge_attrs=True))
        with pytest.raises(NotImplementedError):  # at once, so networkx calls another backend
            backend.minimum_spanning_edges(converted(made, preserve_edge_attrs=True))
    with pytest.raises(networkx.NetworkXPointlessConcept):
        backend.is_connected(converted(kind()))


def test_the_collector_frees_trees_that_are_no_longer_used():
    """A tree and its cached view of edges refer to each other."""
    graph = networkx.gnm_random_graph(1000, 3000, seed=1)
    ours, trees = converted(graph, preserve_edge_attrs=True), []
    for _ in range(100):
        tree = backend.minimum_spanning_tree(ours)
        assert tree.edges
        trees.append(weakref.ref(tree))
    assert sum(tree() is not None for tree in trees) < 50


def test_views_are_converted():
    made = networkx.MultiGraph([(0, 1), (0, 1), (1, 2), (2, 0)])
    view = made.edge_subgraph([(0, 1, 1), (1, 2, 0)])
    ours = converted(view, preserve_edge_attrs=True)
    assert list(backend.minimum_spanning_edges(ours, data=False)) == [(0, 1, 1), (1, 2, 0)]
    for convert in (converted, backend.convert_from_nx):
        part = convert(networkx.Graph([(0, 1), (1, 2)]).subgraph([0, 2]))
        assert backend.is_connected(part) is False


def test_a_graph_converted_for_its_components_has_no_edges():
    with pytest.raises(NotImplementedError, match="without its edges"):
        backend.convert_to_nx(backend.convert_from_nx(networkx.path_graph(3)))


def test_can_run():
    small = networkx.path_graph(9)
    assert backend.can_run("minimum_spanning_tree", (small,), {}) is True
    assert "undirected" in backend.can_run("minimum_spanning_tree", (networkx.DiGraph(),), {})
    for args, options in (((small, "weight", "prim"), {}), ((), {"G": small, "algorithm": "prim"})):
        assert "order" in backend.can_run("minimum_spanning_tree", args, options)
    assert "order" in backend.can_run("minimum_spanning_edges", (small, "boruvka"), {})
    assert set(info.info()["functions"]) == {
        name for name in info.FUNCTIONS if hasattr(backend, name)
    }


@pytest.mark.usefixtures("are_loaded", "by_kernels")
def test_should_run(monkeypatch):
    small, large = networkx.path_graph(9), networkx.cycle_graph(backend.COMPONENTS_FROM)
    assert "faster" in backend.should_run("minimum_spanning_edges", (small,), {})
    assert backend.should_run("minimum_spanning_edges", (networkx.path_graph(5000),), {}) is True
    assert backend.should_run("connected_components", (large,), {}) is True
    assert backend.should_run("connected_components", (), {"G": large}) is True
    large.remove_node(0)
    assert "faster" in backend.should_run("connected_components", (large,), {})
    dense = networkx.circulant_graph(backend.COMPONENTS_FROM, range(1, 51))
    assert backend.should_run("connected_components", (dense,), {}) is True
    monkeypatch.setattr(backend, "are_kernels_loaded", lambda: False)
    for size, answer in ((backend.DENSE_FROM - 1, False), (backend.DENSE_FROM, True)):
        dense = networkx.circulant_graph(size, range(1, 51))
        assert (backend.should_run("connected_components", (dense,), {}) is True) == answer
    assert "faster" in backend.should_run("connected_components", (networkx.Graph(),), {})


def test_should_run_without_kernels(monkeypatch):
    sparse, dense = networkx.cycle_graph(1000), networkx.circulant_graph(1000, [1, 2, 3])
    monkeypatch.setattr(backend, "are_kernels_loaded", lambda: False)
    monkeypatch.setattr(rows, "are_ready", lambda: False)
    monkeypatch.setattr(info, "labels_wait", backend.Waiting(500, 500))
    assert "NumPy" in backend.should_run("is_connected", (sparse,), {})
    assert "without kernels" in backend.should_run("is_connected", (sparse,), {})
    assert (
        backend.should_run("is_connected", (networkx.cycle_graph(labels.ARRAYS_FROM),), {}) is True
    )
    assert backend.should_run("is_connected", (dense,), {}) is True
    monkeypatch.delitem(sys.modules, "mstflow.interop.networkx.components")
    monkeypatch.setattr(backend, "search_wait", backend.Waiting(2000, 2000))
    assert "search" in backend.should_run("is_connected", (dense,), {})
    assert backend.should_run("is_connected", (dense,), {}) is True


@pytest.mark.parametrize(("size", "degree", "calls"), [(1000, 5, 8), (1000, 6, 2), (60_000, 2, 1)])
def test_labels_pay_sooner_where_they_gain_more(monkeypatch, size, degree, calls):
    monkeypatch.setattr(info, "labels_wait", backend.Waiting(2000, 2000))
    found = [info.labels_pay(size, degree) for _ in range(calls)]
    assert found == [False] * (calls - 1) + [True]


@pytest.mark.parametrize("hubs_first", [True, False])
def test_should_run_counts_edges_if_the_first_nodes_do_not_decide(hubs_first):
    made = networkx.Graph()
    made.add_nodes_from(range(-100, 0) if hubs_first else range(500))
    made.add_edges_from((-1 - i % 100, i) for i in range(499))
    assert "faster" in backend.should_run("minimum_spanning_tree", (made,), {})
    made.add_edge(-1, 1)
    assert "faster" not in str(backend.should_run("minimum_spanning_tree", (made,), {}))


WAITS = """
import sys, networkx as nx
nx.config.backend_priority.algos = nx.config.backend_priority.generators = ["mstflow"]
dense, sparse = nx.circulant_graph(3000, [1, 2, 3, 4]), nx.cycle_graph(30_000)
assert nx.is_connected(dense)
found = []
for function, graph in ((nx.connected_components, sparse), (nx.minimum_spanning_edges, dense)):
    for _ in range(12):
        list(function(graph))
        found.append((bool(graph.__networkx_cache__), "numpy" in sys.modules))
        graph.__networkx_cache__.clear()
print(*(found.index(each) for each in [(False, False), (True, True)]))
"""


def test_numpy_is_loaded_when_it_pays_for_all_graphs_together():
    """networkx solves the first graphs of a process; ten sparse graphs have 300,000 nodes."""
    done = subprocess.run([sys.executable, "-c", WAITS], capture_output=True, text=True)
    assert done.stdout == "0 9\n", done.stderr


def test_a_large_graph_does_not_wait(monkeypatch):
    monkeypatch.setattr(backend, "forests_wait", backend.Waiting(30_000, 30_000))
    monkeypatch.delitem(sys.modules, "mstflow.interop.networkx.forests", raising=False)
    large = networkx.circulant_graph(10_000, [1, 2, 3])
    assert backend.should_run("minimum_spanning_tree", (large,), {}) is True
    large.remove_edge(5_000, 5_001)  # unknown to the first nodes
    large.remove_nodes_from(range(9_000, 10_000))
    monkeypatch.setattr(backend, "forests_wait", backend.Waiting(30_000, 30_000))
    assert "NumPy" in backend.should_run("minimum_spanning_tree", (large,), {})


@given(edge_lists(), st.sampled_from([*KINDS, networkx.DiGraph, networkx.MultiDiGraph]))
def test_edges_of_a_forest(graph, kind):
    made = as_networkx(graph, kind, str)
    forest = mstflow.minimum_spanning_forest(made, weight="length")
    arguments = {"keys": True} if made.is_multigraph() else {}
    edges = list(made.edges(data=True, **arguments))
    found = forest.edges_of(made)
    assert found == [edges[i] for i in forest.edge_ids]
    assert all(mine[-1] is edges[i][-1] for mine, i in zip(found, forest.edge_ids, strict=True))
    made.add_node("another")
    with pytest.raises(GraphError, match="the forest is not of this graph, which has"):
        forest.edges_of(made)
    with pytest.raises(GraphError, match="edges_of expects a networkx graph, not str"):
        forest.edges_of("x")


@given(edge_lists(), st.sampled_from(KINDS))
def test_weights_by_a_function(graph, kind):
    made = as_networkx(graph, kind, str)
    options = {"weight": lambda u, v, data: (data["number"] * 7 + int(u) + int(v)) % 5}
    found = mstflow.minimum_spanning_forest(made, **options)
    for *_, data in made.edges(data=True):
        data["of function"] = 0
    for u, v, data in made.edges(data=True):
        data["of function"] = options["weight"](u, v, data)
    expected = mstflow.minimum_spanning_forest(made, weight="of function" if len(found.u) else None)
    np.testing.assert_array_equal(found.edge_ids, expected.edge_ids)


def test_functions_weigh_only_edges_of_networkx():
    with pytest.raises(OptionError, match="only for a networkx graph, not for a tuple; compute"):
        mstflow.minimum_spanning_forest(([0], [1]), weight=lambda u, v, data: 1)


@pytest.mark.parametrize(
    ("weight", "problem"),
    [
        (float("nan"), "is NaN"),
        ("far", "must be bool, integer or float16/32/64, not 'far'"),
        (None, "must be bool, integer or float16/32/64, not None"),
        (2**53 + 1, "is 9007199254740993, which is not exact as float64"),
        (2**70, "must be bool, integer or float16/32/64, not 1180591620717411303424"),
        ([1, 2], "is not a number: [1, 2]"),
    ],
)
def test_errors_name_nodes(weight, problem):
    made = networkx.MultiGraph([("Delft", "Gouda", {"weight": 0.5})])
    made.add_edge("Gouda", "Utrecht", weight=weight, key="rail")
    message = re.escape(f"edge 1, ('Gouda', 'Utrecht', 'rail'): the weight {problem}")
    with pytest.raises(GraphError, match=message):
        mstflow.minimum_spanning_forest(made)


def test_errors_of_large_integers_name_nodes():
    made = networkx.Graph([("Delft", "Gouda", {"weight": -1})])
    made.add_edge("Gouda", "Utrecht", weight=2**63 + 1)
    message = re.escape(f"edge 1, ('Gouda', 'Utrecht'): the weight is {2**63 + 1}, which is not")
    with pytest.raises(GraphError, match=message):
        mstflow.minimum_spanning_forest(made)
