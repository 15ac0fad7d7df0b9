"""Replacement edges, compared with cutting each edge of the forest in plain Python."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_strategies import edge_lists
from mstflow import EdgeList, backends, minimum_spanning_forest
from mstflow.errors import GraphError
from mstflow.primitives import Backend, array_module
from mstflow.primitives.numpy_arrays import NumpyArrays
from oracle import components

#: Options that stream the graph, in one or several partitions and scans.
STREAMED = [
    {"strategy": "whole"},
    {"strategy": "fold"},
    {"strategy": "tree", "partitions": 3},
    {"strategy": "two-scan", "partitions": 2},
    {"strategy": "iterate", "partitions": 3},
]


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


@given(graph=edge_lists(), options=st.sampled_from(STREAMED))
def test_streamed_graphs_have_the_same_replacements(graph, options):
    forest = minimum_spanning_forest(graph)
    streamed = minimum_spanning_forest(graph, progress=False, **options)
    expected = forest.replacement_edges().tolist()
    assert forest.replacement_edges(**options).tolist() == expected
    assert streamed.replacement_edges(**options).tolist() == expected


@pytest.mark.parametrize("backend", backends())
def test_many_edges_are_filtered(backend, monkeypatch):
    """Edges beyond the first pass, which joins nearly all vertices, replace few others."""
    draw = np.random.default_rng(3)
    graph = EdgeList(*draw.integers(0, 3_000, (2, 90_000)), draw.random(90_000))
    forest = minimum_spanning_forest(graph, backend=backend)
    found = forest.replacement_edges()
    assert found.tolist() == forest.replacement_edges(strategy="fold").tolist()
    for place in draw.integers(0, len(found), 40):
        without = np.delete(np.arange(graph.num_edges), forest.edge_ids[place])
        other = minimum_spanning_forest(tuple(column[without] for column in graph_columns(graph)))
        (new,) = np.setdiff1d(without[other.edge_ids], forest.edge_ids)
        assert new == found[place]


def graph_columns(graph):
    return graph.u, graph.v, graph.weight


def test_a_bridge_has_no_replacement():
    forest = minimum_spanning_forest(([0, 1, 2, 2], [1, 2, 0, 3], [1, 2, 3, 4]))
    assert forest.edge_ids.tolist() == [0, 1, 3]
    assert forest.replacement_edges().tolist() == [2, 2, -1]


def test_ends_of_two_dtypes():
    graph = np.array([300, 2, 300], np.int64), np.array([1, 1, 2], np.uint8), [1, 2, 3]
    assert minimum_spanning_forest(graph).replacement_edges().tolist() == [2, 2]


def test_a_graph_that_can_be_read_once_has_no_replacements():
    chunks = iter([([0, 1, 0], [1, 2, 2], [1, 2, 3])])
    forest = minimum_spanning_forest(map(as_arrays, chunks), num_vertices=3)
    with pytest.raises(GraphError, match="could be read only once; pass one that can be read"):
        forest.replacement_edges()


def as_arrays(chunk):
    return tuple(map(np.array, chunk))


@pytest.mark.parametrize("fringe", [0, 1, 16])
@pytest.mark.parametrize("small_core", [0, 64])
@given(data=st.data())
def test_ways_to_cover_paths_agree(fringe, small_core, data):
    """Short paths in any order, long ones in order, trees with and without a core."""
    path_arrays = pytest.importorskip("mstflow.primitives.numba.path_arrays")
    size, dtype = data.draw(st.integers(1, 200)), data.draw(st.sampled_from(["u1", "u4", "u8"]))
    draw = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    reach = data.draw(st.sampled_from([1, 3, 40]))  # 1 makes a path of all nodes
    child = np.flatnonzero(draw.random(size) < 0.9)[1:]
    parent, name = child - draw.integers(1, np.minimum(child, reach) + 1), draw.permutation(size)
    tree = np.arange(size)
    for node, above in zip(child, parent, strict=True):
        tree[node] = tree[above]
    a, b = draw.integers(0, size, (2, 200))
    a, b = (name[end[tree[a] == tree[b]]].astype("int32") for end in (a, b))
    key = draw.integers(0, np.iinfo(dtype).max, len(a), dtype, endpoint=True)
    key >>= key.dtype.type(data.draw(st.integers(0, 7)))
    forest = (name[end].astype("int32") for end in (child, parent))
    ignored = np.flatnonzero(draw.random(len(a)) < data.draw(st.sampled_from([0, 0.3, 1])))
    case = (*forest, a, b, key, ignored, size)
    expected = NumpyArrays().cover_paths(*case).tolist()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(path_arrays, "_FRINGE", fringe)
        patch.setattr(path_arrays, "_SMALL_CORE", small_core)
        patch.setattr(path_arrays, "FEW", 8)
        patch.setattr(path_arrays, "_LIGHT_PAIRS", data.draw(st.sampled_from([0.1, 0.5])))
        patch.setattr(path_arrays, "_IN_ORDER", data.draw(st.sampled_from([1, 2])))
        patch.setattr(path_arrays, "_LEAST_ORDERED", data.draw(st.sampled_from([0, 20, 200])))
        assert array_module(Backend("numba", 2)).cover_paths(*case).tolist() == expected


def test_ends_of_different_dtypes(monkeypatch):
    """The lightest paths are chosen from light paths, whose ends have been converted or not."""
    path_arrays = pytest.importorskip("mstflow.primitives.numba.path_arrays")
    monkeypatch.setattr(path_arrays, "_LEAST_ORDERED", 0)
    monkeypatch.setattr(path_arrays, "FEW", 8)
    draw, child = np.random.default_rng(0), np.arange(1, 600, dtype=np.int32)
    parent = np.where(child < 60, child - 1, child % 60).astype(np.int32)
    a, b = draw.integers(0, 120, 1200, np.uint8), draw.integers(0, 600, 1200)
    case = child, parent, a, b, draw.integers(0, 2**32, 1200, np.uint32), np.empty(0, int), 600
    expected = NumpyArrays().cover_paths(*case).tolist()
    assert array_module(Backend("numba", 2)).cover_paths(*case).tolist() == expected
