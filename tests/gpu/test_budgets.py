"""How often a solve calls the device and waits for it, and how much its kernels read and write."""

import sys

import numpy as np
import pytest

import mstflow
from mstflow.graphs.generate.families import rmat
from mstflow.graphs.source import EdgeSource
from mstflow.pipeline.streaming.solver import Solver
from mstflow.runtime.device import device_array
from mstflow.runtime.sizes import tuned
from scanning import scan

pytestmark = pytest.mark.on_gpu("nothing")

#: Edges of a block in these tests.
BLOCK = 256


@pytest.fixture(params=["R-MAT", "R-MAT, shuffled", "New York"])
def graph(request, interpreter):
    if request.param == "New York":
        return request.getfixturevalue("new_york")
    generated = rmat(14, 16, shuffle_vertices=request.param != "R-MAT")
    columns = generated.edges(0, generated.num_edges)
    return mstflow.EdgeList(*columns, num_vertices=generated.num_vertices)


def test_a_solve_calls_the_device_seldom(interpreter, graph):
    """A sort counts as one call, although Thrust launches several kernels."""
    columns = tuple(map(device_array, (graph.u, graph.v, graph.weight)))

    def solve():
        return mstflow.minimum_spanning_forest(columns, num_vertices=graph.num_vertices).edge_ids

    interpreter.start(0, checks="bounds")
    interpreter.counts(), interpreter.traffic()
    with interpreter.recording():
        found = solve()
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
    for _ in range(2):  # the second time, CuPy's pool has all memory
        interpreter.counts()
        with interpreter.replaying():
            assert num_calls(solve) <= 4000
    assert interpreter.counts().allocations == 0


def num_calls(function):
    """Return the number of calls of functions, in Python and in C, that a call makes."""
    calls = 0

    def count(_, event, __):
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(None)
    return calls


def random_graph(blocks):
    rng = np.random.default_rng(1)
    ends = rng.integers(0, 500, (2, blocks * BLOCK))
    return mstflow.EdgeList(*ends, rng.random(blocks * BLOCK, "f4"), num_vertices=500)


@tuned(block_edges=BLOCK)
@pytest.mark.parametrize(
    ("strategy", "launches", "copies", "waits", "scans"),
    [("fold", 8, 4, 1, 1), ("tree", 8, 4, 1, 1), ("two-scan", 32, 7, 4, 2)],
)
def test_a_scan_calls_the_device_seldom_for_each_block(
    interpreter, strategy, launches, copies, waits, scans
):
    """Compare two numbers of blocks. A scan sends each edge once, and reads back single numbers."""
    few, many = 32, 96
    found = []
    for blocks in (few, many):
        graph = random_graph(blocks)
        interpreter.start(0, checks="bounds")
        interpreter.counts()
        with tuned(block_edges=BLOCK):
            mstflow.minimum_spanning_forest(graph, backend="cupy", strategy=strategy, threads=1)
        found.append(interpreter.counts())

    def each(name):
        less, more = (getattr(counts, name) for counts in found)
        return (more - less) / (many - few)

    assert each("launches") + each("sorts") <= launches
    assert each("copies_in") <= 3 * scans
    assert each("copies_within") + each("sets") <= copies
    assert each("copies_out") <= waits
    assert each("waits") <= waits
    assert each("bytes_in") <= scans * BLOCK * 20 * 1.05
    assert each("bytes_out") <= 16 * waits


@tuned(block_edges=BLOCK)
def test_a_full_buffer_is_reduced_by_a_solve(interpreter, monkeypatch):
    blocks, reductions, forest = 96, [], Solver.forest
    monkeypatch.setattr(Solver, "forest", lambda *args: reductions.append(args) or forest(*args))
    source = EdgeSource.of(random_graph(blocks)).with_sizes()
    interpreter.start(0, checks="bounds")
    interpreter.counts()
    with tuned(block_edges=BLOCK):
        scan(source, capacity=40 * BLOCK, can_rescan=False, backend="cupy")
    counts = interpreter.counts()
    assert 3 <= len(reductions) <= 4
    assert counts.launches + counts.sorts <= 8 * blocks + 60 * len(reductions)
    assert counts.waits <= blocks + 10 * len(reductions)
