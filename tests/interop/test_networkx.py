"""The networkx backend: networkx's own tests pass on it, and results equal those of networkx."""

import re
import sys

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mstflow
from graph_strategies import edge_lists
from mstflow.errors import GraphError, OptionError
from mstflow.interop.networkx import backend, info
from processes import run_python

KINDS = [networkx.Graph, networkx.MultiGraph]
TREES = ["minimum_spanning_tree", "maximum_spanning_tree"]
EDGES = ["minimum_spanning_edges", "maximum_spanning_edges"]


def test_tests_of_networkx_pass(tmp_path):
    forced = {"NETWORKX_TEST_BACKEND": "mstflow", "NETWORKX_FALLBACK_TO_NX": "True"}
    log = tmp_path / "log"
    options = ["-q", "-p", "no:cacheprovider", "--rootdir", tmp_path]
    options += ["--log-level", "DEBUG", "--log-file", log, "-k", "not iterator"]
    command = ["-m", "pytest", *options, "--pyargs", "networkx.algorithms.tree.tests.test_mst"]
    done = run_python(*command, variables=forced, cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) > 30
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
tree = nx.minimum_spanning_tree(G, backend="mstflow", algorithm="kruskal")
assert nx.utils.graphs_equal(tree, nx.minimum_spanning_tree(G, backend="networkx"))
try:
    nx.minimum_spanning_tree(G, backend="mstflow", algorithm="prim")
except NotImplementedError:
    print("refused")
"""


def test_networkx_dispatches():
    done = run_python("-W", "error", "-c", DISPATCH)
    assert (done.returncode, done.stdout) == (0, "refused\n"), done.stderr
    used = re.findall(r"Using backend 'mstflow' for call to '(\w+)'", done.stderr)
    inner = "minimum_spanning_edges"  # which networkx calls for its own tree
    assert used == ["minimum_spanning_edges"] * 2 + ["minimum_spanning_tree", inner]
    assert f"networkx is faster below {backend.FOREST_FROM} edges" in done.stderr
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
    """Return the type, attributes, nodes and edges of a graph, in order."""
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


def test_views_are_converted():
    made = networkx.MultiGraph([(0, 1), (0, 1), (1, 2), (2, 0)])
    view = made.edge_subgraph([(0, 1, 1), (1, 2, 0)])
    ours = converted(view, preserve_edge_attrs=True)
    assert list(backend.minimum_spanning_edges(ours, data=False)) == [(0, 1, 1), (1, 2, 0)]


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


def test_should_run(monkeypatch):
    least = backend.FOREST_FROM
    for size, answer in ((least, "faster"), (least + 1, True)):
        path = networkx.path_graph(size)
        for args, options in (((path,), {}), ((), {"G": path})):
            found = backend.should_run("minimum_spanning_edges", args, options)
            assert found is answer or answer in str(found)
    monkeypatch.delitem(sys.modules, "numpy")
    assert "faster" in backend.should_run("minimum_spanning_tree", (path,), {})


def test_the_backend_loads_no_array_library():
    program = "import sys, mstflow.interop.networkx.backend; print('numpy' in sys.modules)"
    assert run_python("-c", program).stdout == "False\n"


@pytest.mark.parametrize("hubs_first", [True, False])
def test_should_run_counts_edges_if_the_first_nodes_do_not_decide(hubs_first):
    made = networkx.Graph()
    made.add_nodes_from(range(-100, 0) if hubs_first else range(500))
    made.add_edges_from((-1 - i % 100, i) for i in range(499))
    assert "faster" in str(backend.should_run("minimum_spanning_tree", (made,), {}))
    made.add_edge(-1, 1)
    assert backend.should_run("minimum_spanning_tree", (made,), {}) is True


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
