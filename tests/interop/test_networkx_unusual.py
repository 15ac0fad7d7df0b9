"""Unusual networkx graphs: nodes, keys, weights and dictionaries of any type."""

from collections import OrderedDict, UserDict, defaultdict
from decimal import Decimal
from fractions import Fraction
from functools import partial
from itertools import count

import networkx
import numpy as np
import pytest

from covering import covering
from mstflow.interop.networkx import backend
from mstflow.interop.networkx.info import FUNCTIONS

KINDS = [networkx.Graph, networkx.MultiGraph]
SPANNING = [name for name in FUNCTIONS if "spanning" in name]


def converted(graph):
    return backend.convert_from_nx(graph, preserve_edge_attrs=True, preserve_node_attrs=True)


def listed(result):
    """Return the type, nodes and edges of a result, in order."""
    if isinstance(result, networkx.Graph):
        neighbors = [(u, list(row.items())) for u, row in result.adjacency()]
        return type(result), list(result.nodes(data=True)), neighbors
    return list(result) if hasattr(result, "__next__") else result


def assert_results_equal(graph, **options):
    before = listed(graph)
    for name in FUNCTIONS:
        given = options if name in SPANNING else {}
        found = listed(getattr(backend, name)(converted(graph), **given))
        assert found == listed(getattr(networkx, name)(graph, **given))
    assert listed(graph) == before


class Unequal:
    """An object that equals no other."""

    __slots__ = ()

    def __eq__(self, other):
        return self is other

    def __ne__(self, other):
        return self is not other


class Text(Unequal, str):
    """A string; all have the same hash."""

    __slots__ = ()

    def __hash__(self):
        return 1


class Integer(Unequal, int):
    """An integer."""

    __hash__ = object.__hash__


class Alike:
    """An object; all have the same hash."""

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
                getattr(backend, name)(converted(made))


def of_class(kind, name, value):
    """Return an empty graph of a subclass with a factory."""
    return type("Own", (kind,), {name: staticmethod(value)})()


FACTORIES = {
    "defaultdict": partial(defaultdict, dict),  # a look-up by [] would add an item
    "OrderedDict": OrderedDict,
    "UserDict": UserDict,
}


@pytest.mark.parametrize(
    ("name", "factory", "kind"),
    covering(
        [
            "edge_attr_dict_factory",
            "edge_key_dict_factory",
            "adjlist_inner_dict_factory",
            "adjlist_outer_dict_factory",
            "node_attr_dict_factory",
            "node_dict_factory",
        ],
        list(FACTORIES),
        KINDS,
    ),
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
