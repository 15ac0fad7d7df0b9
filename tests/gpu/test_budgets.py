"""How often a solve calls the device and waits for it, and how much its kernels read and write."""

import pytest

import mstflow
from mstflow.graphs.generate.families import rmat
from mstflow.runtime.device import device_array


@pytest.fixture(params=["R-MAT", "R-MAT, shuffled", "New York"])
def graph(request, interpreter):
    if request.param == "New York":
        return request.getfixturevalue("new_york")
    generated = rmat(16, 16, shuffle_vertices=request.param != "R-MAT")
    columns = generated.edges(0, generated.num_edges)
    return mstflow.EdgeList(*columns, num_vertices=generated.num_vertices)


def test_a_solve_calls_the_device_seldom(interpreter, graph):
    """A sort counts as one call, although Thrust launches several kernels."""
    columns = map(device_array, (graph.u, graph.v, graph.weight))
    copy = mstflow.EdgeList(*columns, num_vertices=graph.num_vertices)
    interpreter.start(0, checks="bounds")
    interpreter.counts(), interpreter.traffic()
    found = mstflow.minimum_spanning_forest(copy).edge_ids
    counts = interpreter.counts()
    assert counts.launches + counts.sorts <= 60
    assert counts.sets + counts.copies_within <= 6
    assert counts.waits <= 10
    assert counts.largest_out <= 16
    _, *moved = map(sum, zip(*interpreter.traffic().values(), strict=True))
    num_bytes, random = (each / graph.num_edges for each in moved)
    assert num_bytes <= 700
    assert random <= 40
    expected = mstflow.minimum_spanning_forest(graph, backend="numpy").edge_ids
    assert found.tolist() == expected.tolist()
