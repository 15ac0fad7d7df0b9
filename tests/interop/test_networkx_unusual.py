"""Unusual networkx graphs: nodes, keys, weights and dictionaries of any type, and other threads."""

import gc
import subprocess
import sys
from collections import OrderedDict, UserDict, defaultdict
from decimal import Decimal
from fractions import Fraction
from functools import partial
from itertools import count

import numpy as np
import pytest

from mstflow.graphs.libraries import networkx as libraries
from mstflow.interop.networkx import backend, components, forests, info, labels, rows
from mstflow.interop.networkx.info import FUNCTIONS
from mstflow.runtime.native import Kernels

networkx = pytest.importorskip("networkx")

KINDS = [networkx.Graph, networkx.MultiGraph]
SPANNING = [name for name in FUNCTIONS if "spanning" in name]


@pytest.fixture(autouse=True, params=["kernels", "arrays"])
def _reader(request, monkeypatch):
    """Read graphs of any size by kernels, or without them."""
    monkeypatch.setattr(labels, "LARGE", 0)
    monkeypatch.setattr(components, "LABELS_FROM", 0)
    monkeypatch.setattr(labels, "SPARSE", 10**9)
    monkeypatch.setattr(labels, "ARRAYS_FROM", 0)
    for waiting in (info.labels_wait, forests.kernels_wait):
        monkeypatch.setattr(waiting, "_total", 10**9)
    if request.param == "kernels":
        pytest.importorskip("numba")
        monkeypatch.setattr(Kernels, "pay_after", lambda *_: True)
    else:
        monkeypatch.setattr(rows, "_are_possible", lambda: False)
        monkeypatch.setattr(Kernels, "are_loaded", lambda _: False)


def converted(graph, name):
    has_edges = name in SPANNING
    return backend.convert_from_nx(
        graph, preserve_edge_attrs=has_edges, preserve_node_attrs=has_edges
    )


def listed(result):
    """Return a result with the order of everything in it."""
    if isinstance(result, networkx.Graph):
        neighbors = [(u, list(row.items())) for u, row in result.adjacency()]
        return type(result), list(result.nodes(data=True)), neighbors
    return list(result) if hasattr(result, "__next__") else result


def assert_results_equal(graph, **options):
    before = listed(graph)
    for name in FUNCTIONS:
        given = options if name in SPANNING else {}
        found = listed(getattr(backend, name)(converted(graph, name), **given))
        assert found == listed(getattr(networkx, name)(graph, **given))
    assert listed(graph) == before


class Text(str):
    """A string that equals no other object, although all have the same hash."""

    __slots__ = ()

    def __hash__(self):
        return 1

    def __eq__(self, other):
        return self is other

    def __ne__(self, other):
        return self is not other


class Integer(int):
    """An integer that equals no other object."""

    __hash__ = object.__hash__

    def __eq__(self, other):
        return self is other

    def __ne__(self, other):
        return self is not other


class Alike:
    """An object whose hash says nothing."""

    def __init__(self, number):
        self.number = number

    def __hash__(self):
        return 7

    def __eq__(self, other):
        return isinstance(other, Alike) and self.number == other.number


class Incomparable:
    def __eq__(self, other):
        raise TypeError

    __hash__ = object.__hash__


NAMES = {
    "tuples": lambda i: (i, (i, "a")),
    "sets": lambda i: frozenset([i, "a"]),
    "strings of another type": lambda i: Text(i % 3),
    "integers of another type": lambda i: Integer(i % 3),
    "one hash": Alike,
    "types": lambda i: type(f"Type{i}", (), {}),
    "mixed": lambda i: ([0, "0", 0.5, (), b"", "None", 2**70, "", int, len, ...] + [(i,)] * i)[i],
}
KEYS = {**NAMES, "NaN": lambda i: float("nan"), "not comparable": lambda i: Incomparable()}


def any_graph(kind, nodes, keys):
    """Return a graph of these nodes, some with loops and parallel edges, and some removed."""
    made, draw = kind(), np.random.default_rng(1)
    for u, v, weight in draw.integers(0, len(nodes), (len(nodes), 3)).tolist():
        key = {"key": next(keys)} if made.is_multigraph() else {}
        made.add_edge(nodes[u], nodes[v], weight=weight / 2, **key)
    made.remove_nodes_from(nodes[5:8])
    return made


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NAMES)
def test_nodes_of_any_type(name, kind):
    nodes = list(map(NAMES[name], range(40)))
    made = any_graph(kind, nodes, count())
    assert_results_equal(made)
    assert_results_equal(made.subgraph(nodes[:30]))


@pytest.mark.parametrize("name", KEYS)
def test_keys_of_any_type(name):
    made = any_graph(networkx.MultiGraph, range(20), map(KEYS[name], range(20)))
    assert_results_equal(made)


class Real(float):
    pass


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("values", "are_exact"),
    [
        ([True, False, True], True),
        ([True, 2, 0.5], True),
        ([np.float64(0.5), np.float32(0.25), 1], True),
        ([np.int8(3), np.int64(-1), 2], True),
        ([np.array(3.5), np.array(0.5), 1.5], True),
        ([Real(2.5), Real(0.5), Real(1)], True),
        ([float("inf"), float("-inf"), -0.0], True),
        ([0.0, -0.0, 0], True),
        ([2**63, 2**64 - 1, 0], True),
        ([-(2**63), 2**63 - 1, 0], True),
        ([-1, 2**63 + 1, 0], False),
        ([2**64, 1, 0], False),
        ([2**53 + 1, 0.5, 0], False),
        ([0.5, None, 1], False),
        ([0.5, "0.5", 1], False),
        ([Fraction(1, 3), Fraction(1, 2), 1], False),
        ([Decimal("0.1"), Decimal("0.2"), Decimal("0.3")], False),
        ([np.longdouble("0.1"), np.longdouble("0.2"), 1], False),
        ([0.5, [0.5], 1], False),
        ([1, 2, {}], False),
    ],
    ids=repr,
)
def test_weights(values, are_exact, kind):
    made = kind()
    for ends, value in zip(["ab", "bc", "ca"], values, strict=True):
        made.add_edge(*ends, weight=value)
    made.add_edge("b", "d", weight=values[2])
    if are_exact:
        assert_results_equal(made)
    else:
        for name in SPANNING:  # at once, so that networkx calls another backend
            with pytest.raises(NotImplementedError):
                getattr(backend, name)(converted(made, name))


def of_class(kind, name, value):
    """Return an empty graph of a subclass with a factory."""
    return type("Own", (kind,), {name: staticmethod(value)})()


FACTORIES = {
    "defaultdict": partial(defaultdict, dict),  # a look-up by [] would add an item
    "OrderedDict": OrderedDict,
    "UserDict": UserDict,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("factory", FACTORIES)
@pytest.mark.parametrize(
    "name",
    [
        "edge_attr_dict_factory",
        "edge_key_dict_factory",
        "adjlist_inner_dict_factory",
        "adjlist_outer_dict_factory",
        "node_attr_dict_factory",
        "node_dict_factory",
    ],
)
def test_classes_with_other_dictionaries(name, factory, kind):
    graphs = [of_class(kind, name, FACTORIES[factory]), kind()]
    setattr(graphs[1], name, FACTORIES[factory])  # networkx reads it from the graph
    if kind is networkx.MultiGraph and (name, factory) == (
        "adjlist_inner_dict_factory",
        "defaultdict",
    ):
        return  # networkx looks up the keys of a new edge by []
    for made in graphs[: 1 if "list" in name or "node_dict" in name else 2]:
        made.add_weighted_edges_from([("a", "b", 3), ("c", "b", 2), ("c", "a", 5), ("c", "d", 5)])
        made.add_edges_from([("b", "a"), ("c", "c"), ("e", "f")])
        made.add_node("a", color="red")
        assert_results_equal(made)
        assert_results_equal(made, weight="absent")


def test_order_of_other_dictionaries():
    """An ordered dictionary can have another order than the dictionary that is its base."""
    made = of_class(networkx.Graph, "adjlist_inner_dict_factory", OrderedDict)
    made.add_weighted_edges_from([(0, 1, 1), (0, 2, 1), (0, 3, 1), (3, 2, 1)])
    made._adj[0].move_to_end(1)
    assert_results_equal(made)
    made = of_class(networkx.MultiGraph, "edge_key_dict_factory", OrderedDict)
    made.add_weighted_edges_from([(0, 1, 3), (0, 1, 2), (0, 1, 2), (1, 2, 1)])
    made._adj[0][1].move_to_end(0)
    made._adj[0][1].move_to_end(1)
    assert_results_equal(made)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_kept_after_calls(kind):
    made, name = kind(), "node {}".format
    for i in range(40):
        key = {"key": (i, "key")} if made.is_multigraph() else {}
        made.add_edge(name(i), name(7 * i % 40), weight=i / 7, number=10**10 + i, **key)
    objects = [*made, *made._adj.values(), *made._node.values()]
    for *ends_and_key, data in made.edges(data=True, **({"keys": True} if key else {})):
        objects += [*ends_and_key[2:], data, *data.values()]

    def call_all():
        for each in FUNCTIONS:
            for weight in ("weight", "number", "absent") if each in SPANNING else ("",):
                options = {"weight": weight} if weight else {}
                listed(getattr(backend, each)(converted(made, each), **options))
        for wrong in (object(), "node 1"):  # raises halfway
            made.edges[name(0), name(0), *([(0, "key")] if key else [])]["wrong"] = wrong
            with pytest.raises(NotImplementedError):
                backend.minimum_spanning_edges(converted(made, SPANNING[0]), weight="wrong")

    def counts():
        gc.collect()
        others = sys.getallocatedblocks(), sys.getrefcount(None)
        return [*map(sys.getrefcount, objects)], np.array(others)

    for _ in range(10):  # fill caches
        call_all()
    before, others = counts()
    for _ in range(60):
        call_all()  # 17 calls
    after, more = counts()
    assert after == before
    assert (more - others < 500).all()  # one at each call would be more


@pytest.mark.parametrize("kind", KINDS)
def test_a_node_is_removed_after_the_rows_were_read(kind, monkeypatch):
    """No number of a row may exceed the number of nodes, by which kernels allocate memory."""

    def removed():
        made.remove_node(max(made))

    read_edges, read_rows = rows.kernels.read_edges, libraries._rows
    monkeypatch.setattr(
        rows.kernels, "read_edges", lambda *given: (read_edges(*given), removed())[0]
    )
    made = kind(networkx.path_graph(9))
    assert rows.edges_by_kernels(made) is None
    made = kind(networkx.path_graph(9))
    monkeypatch.setattr(libraries, "_rows", lambda given: removed() or read_rows(given))
    with pytest.raises(ValueError, match="shape"):
        libraries.edges_of(made)


@pytest.mark.parametrize("_reader", ["kernels"], indirect=True)
@pytest.mark.parametrize(("size", "is_read"), [(3, True), (4, False)])
def test_graphs_too_large_for_the_dtype_of_kernels(size, is_read, monkeypatch):
    """A path has more arcs than nodes, and a graph without edges has more nodes."""
    monkeypatch.setattr(rows, "_MOST", 4)
    for made in (networkx.path_graph(size), networkx.empty_graph(size + 1)):
        assert (rows.labels_by_kernels(made._adj, 2) is not None) == (len(made) <= 4)
        assert (rows.edges_by_kernels(made) is not None) == is_read


RACE = """
import random, sys, threading
import networkx as nx
from mstflow.interop.networkx import backend, components, forests, info, labels
from mstflow.runtime.native import Kernels
Kernels.pay_after = lambda *_: True
components.LABELS_FROM = labels.LARGE = 0
info.labels_wait._total = forests.kernels_wait._total = 10**9
sys.setswitchinterval(1e-6)
made, last = nx.MultiGraph(nx.path_graph(2000)), range(1980, 2000)
def change():
    while not is_over:
        made.remove_nodes_from(last)
        made.add_edge("x", "y")
        made.add_edges_from((i, random.randrange(1980)) for i in last)
        made.remove_nodes_from("xy")
is_over, found = False, []
thread = threading.Thread(target=change)
thread.start()
for i in range(60):
    for name in ("minimum_spanning_edges", "connected_components"):
        try:
            graph = backend.convert_from_nx(made, preserve_edge_attrs="edges" in name)
            found.append(len(list(getattr(backend, name)(graph))))
        except (IndexError, KeyError, RuntimeError, ValueError):  # as by networkx
            pass
is_over = True
thread.join()
print(len(found) > 0)
"""


@pytest.mark.parametrize("_reader", ["kernels"], indirect=True)
def test_another_thread_changes_the_graph():
    command = [sys.executable, "-X", "dev", "-W", "ignore", "-c", RACE]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr
