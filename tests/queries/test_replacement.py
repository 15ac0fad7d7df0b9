"""Replacement edges, compared with cutting each edge of the forest in plain Python."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_strategies import edge_lists
from mstflow import EdgeList, backends, minimum_spanning_forest
from mstflow.errors import GraphError
from oracle import components
from strategy_names import ANY_GRAPH, SINGLE


def replacements_by_definition(forest):
    """Remove one edge after another; return the first other edge between both parts."""
    graph, kept, sign = forest.graph, forest.edge_ids.tolist(), -1 if forest.maximum else 1
    weight = [sign * value for value in graph.weight.tolist()]
    order = sorted(set(range(graph.num_edges)) - set(kept), key=lambda edge: (weight[edge], edge))
    found = []
    for edge in kept:
        rest = [other for other in kept if other != edge]
        part = components(EdgeList(graph.u[rest], graph.v[rest], num_vertices=graph.num_vertices))
        crossing = (other for other in order if part[graph.u[other]] != part[graph.v[other]])
        found.append(next(crossing, -1))
    return found


@pytest.mark.parametrize("backend", backends())
@given(graph=edge_lists(), maximum=st.booleans())
def test_replacements_by_definition(backend, graph, maximum):
    forest = minimum_spanning_forest(graph, maximum=maximum, backend=backend)
    found = forest.replacement_edges()
    assert found.dtype == np.int64
    assert found.tolist() == replacements_by_definition(forest)


@given(graph=edge_lists(), strategy=st.sampled_from([*ANY_GRAPH]))
def test_streamed_graphs_have_the_same_replacements(graph, strategy):
    options = {"strategy": strategy, "partitions": 1 if strategy in SINGLE else 3}
    forest = minimum_spanning_forest(graph)
    streamed = minimum_spanning_forest(graph, progress=False, **options)
    expected = forest.replacement_edges().tolist()
    assert forest.replacement_edges(**options).tolist() == expected
    assert streamed.replacement_edges(**options).tolist() == expected


@pytest.mark.parametrize("backend", backends())
def test_many_edges_are_filtered(backend):
    """Edges beyond the first pass, which joins nearly all vertices, replace few others."""
    draw = np.random.default_rng(3)
    graph = (*draw.integers(0, 3_000, (2, 90_000)), draw.random(90_000))
    forest = minimum_spanning_forest(graph, backend=backend)
    found = forest.replacement_edges()
    assert found.tolist() == forest.replacement_edges(strategy="fold").tolist()
    for place in draw.integers(0, len(found), 40):
        without = np.delete(np.arange(90_000), forest.edge_ids[place])
        other = minimum_spanning_forest(tuple(column[without] for column in graph))
        (new,) = np.setdiff1d(without[other.edge_ids], forest.edge_ids)
        assert new == found[place]


def test_ends_of_two_dtypes():
    graph = np.array([300, 2, 300], np.int64), np.array([1, 1, 2], np.uint8), [1, 2, 3]
    assert minimum_spanning_forest(graph).replacement_edges().tolist() == [2, 2]


def test_a_graph_that_can_be_read_once_has_no_replacements():
    chunk = tuple(np.array([[0, 1, 0], [1, 2, 2], [1, 2, 3]]))
    forest = minimum_spanning_forest(iter([chunk]), num_vertices=3)
    with pytest.raises(GraphError, match="could be read only once; pass one that can be read"):
        forest.replacement_edges()
