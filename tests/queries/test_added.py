"""Edges added to a solved graph, compared with solving the whole graph."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mstflow
from graph_strategies import edge_lists
from mstflow import EdgeList, backends, minimum_spanning_forest
from mstflow.errors import GraphError
from mstflow.graphs.source import EdgeSource


def columns(graph, start, stop):
    return tuple(column[start:stop] for column in (graph.u, graph.v, graph.weight))


@pytest.mark.parametrize("backend", backends())
@given(graph=edge_lists(), maximum=st.booleans(), data=st.data())
def test_batches_one_after_another(backend, graph, maximum, data):
    cuts = data.draw(st.lists(st.integers(0, graph.num_edges), max_size=3).map(sorted))
    start, *stops = [*cuts, graph.num_edges]
    forest = minimum_spanning_forest(
        columns(graph, 0, start), num_vertices=graph.num_vertices, maximum=maximum, backend=backend
    )
    for stop in stops:
        forest = forest.add(columns(graph, start, stop))
        start = stop
    whole = minimum_spanning_forest(graph, maximum=maximum)
    for name in ("edge_ids", "u", "v", "weight", "labels"):
        assert getattr(forest, name).tolist() == getattr(whole, name).tolist()
    assert forest.weight.dtype == graph.weight.dtype
    assert (forest.num_vertices, forest.graph.num_edges) == (graph.num_vertices, graph.num_edges)
    mstflow.verify(forest.graph, forest, maximum=maximum, progress=False)
    assert forest.replacement_edges().tolist() == whole.replacement_edges().tolist()


def test_the_graph_is_not_read_again(tmp_path):
    graph = EdgeList([0, 1, 2], [1, 2, 0], [3, 1, 2])
    np.savez(tmp_path / "g.npz", u=graph.u, v=graph.v, weight=graph.weight)
    forest = minimum_spanning_forest(tmp_path / "g.npz", strategy="fold")
    assert forest.weight.tolist() == [1, 2]
    (tmp_path / "g.npz").unlink()
    new = forest.add(([0, 3], [1, 0], [1, 9]))
    assert new.edge_ids.tolist() == [1, 3, 4]
    assert new.total_weight == 11
    assert new.num_vertices == 4


@pytest.mark.parametrize(
    ("dtype", "weight", "shown"),
    [
        ("u1", [1, 256], "256"),
        ("i8", [1, 0.5], "0.5"),
        ("u8", [1, -1], "-1"),
        ("i8", np.array([1, 2**63], np.uint64), "9223372036854775808"),
        ("f8", [1, 2**53 + 1], "9007199254740993"),
        ("f4", [1, 0.1], "0.1"),
    ],
)
def test_weights_that_are_not_exact(dtype, weight, shown):
    forest = minimum_spanning_forest(([0], [1], np.array([1], dtype)))
    with pytest.raises(GraphError, match=f"edge 1 of the batch: weight {shown} is not exact as"):
        forest.add(([0, 0], [1, 1], weight))


def test_graphs_that_cannot_be_extended():
    once = minimum_spanning_forest(iter([(np.array([0]), np.array([1]))]), num_vertices=2)
    with pytest.raises(GraphError, match="cannot number the new edges: the graph could be read"):
        once.add(([0], [1]))


def test_weights_that_the_graph_ignores():
    source = EdgeSource.of(EdgeList([0, 1], [1, 2], [5.0, 6.0]))
    forest = minimum_spanning_forest(source, weight=None)
    batch = [0, 2], [2, 3], [1, 7]
    assert forest.add(batch, weight=None).weight.tolist() == [1, 1, 1]
    with pytest.raises(GraphError, match=r"edge 1 of the batch: weight 7, but .* weight=None"):
        forest.add(batch)
