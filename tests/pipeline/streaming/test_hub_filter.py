"""The filter of hubs drops most edges, and no edge of the forest."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mstflow import EdgeList, backends
from mstflow.pipeline.streaming.buffer import Selected
from mstflow.pipeline.streaming.hub_filter import HubFilter
from mstflow.primitives import Backend, array_module
from oracle import kruskal

FRAGMENTS = 20


@st.composite
def edges_with_a_hub(draw):
    """Return edges, a share of which leads to one fragment, and the ends of their blocks."""
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    size = draw(st.integers(0, 300))
    u, v = random.integers(0, FRAGMENTS, (2, size), np.int32)
    u[random.random(size) < draw(st.floats(0, 1))] = draw(st.integers(0, FRAGMENTS - 1))
    differ = u != v
    u, v = np.where(random.random(size) < 0.5, (u, v), (v, u))[:, differ]
    weight = random.integers(0, draw(st.sampled_from([2, 50, 2**30])), len(u))
    cuts = draw(st.lists(st.integers(0, len(u)), max_size=9))
    graph = EdgeList(u, v, weight.astype(np.int32), num_vertices=FRAGMENTS)
    return graph, [0, *sorted(cuts), len(u)]


def select(graph, cuts, backend="numpy"):
    """Return the ids of each block that a filter selects."""
    ops = array_module(Backend(backend))
    filter_ = HubFilter(ops, graph.num_vertices, graph.weight.dtype)
    columns = graph.u, graph.v, graph.weight, np.arange(graph.num_edges)
    on_device = [ops.asarray(column) for column in columns]
    key = ops.order_key(on_device[2])
    for start, stop in itertools.pairwise(cuts):
        rows = [column[start:stop] for column in (key, *on_device)]
        left = filter_.select(Selected(start, stop - start, 2**32 - 1, rows[0], tuple(rows[1:])))
        *_, left_ids = map(ops.to_host, left.columns)
        assert np.array_equal(ops.to_host(left.key), ops.to_host(key)[left_ids])
        for column, whole in zip(left.columns, columns, strict=True):
            assert np.array_equal(ops.to_host(column), whole[left_ids])
        yield left_ids


@pytest.mark.parametrize("backend", backends())
@given(drawn=edges_with_a_hub())
def test_the_forest_is_kept(backend, drawn):
    graph, cuts = drawn
    left = np.concatenate(list(select(graph, cuts, backend)))
    assert np.isin(kruskal(graph), left).all()


def test_most_edges_are_dropped():
    random = np.random.default_rng(5)
    size, blocks = 5000, 20
    u, hub = random.integers(1, FRAGMENTS, size, np.int32), np.zeros(size, np.int32)
    graph = EdgeList(u, hub, random.permutation(size), num_vertices=FRAGMENTS)
    left = list(map(len, select(graph, range(0, size + 1, size // blocks))))
    assert left[0] == size // blocks  # nothing is known yet
    # Of those of a fragment, block n has the lightest of all so far once in n times.
    assert sum(left[blocks // 2 :]) < FRAGMENTS * blocks / 4


@pytest.mark.parametrize("backend", backends())
def test_the_lightest_of_several_spokes_is_stored(backend):
    ops = array_module(Backend(backend))
    filter_ = HubFilter(ops, FRAGMENTS, np.dtype(np.int32))
    u, hub = np.repeat(np.arange(1, 4, dtype=np.int32), 3), np.zeros(9, np.int32)
    weight = np.array([1, 2, 3, 6, 4, 5, 9, 8, 7], np.int32)
    columns = tuple(map(ops.asarray, (u, hub, weight, np.arange(9))))
    selected = Selected(0, 9, 2**32 - 1, ops.order_key(columns[2]), columns)
    filter_.select(selected)
    *_, left = filter_.select(selected).columns
    assert ops.to_host(left).tolist() == [0, 4, 8]
