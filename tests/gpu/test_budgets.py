"""How often a solve calls the device and waits for it, and how much its kernels read and write."""

import sys
from functools import partial

import numpy as np
import pytest

import interpreted_gpu
import mstflow
from mstflow.doors.generated.families import grid, rmat
from mstflow.graphs.source import EdgeSource
from mstflow.pipeline.streaming.solver import Solver
from mstflow.primitives import array_module
from mstflow.runtime.device import device_array
from mstflow.runtime.sizes import tuned
from scanning import scan

pytestmark = pytest.mark.on_gpu("nothing")

#: Edges of a block in these tests.
BLOCK = 256


def rmat_graph(scale, **options):
    return edges_of(rmat(scale, 16, **options))


def edges_of(generated):
    columns = generated.edges(0, generated.num_edges)
    return mstflow.EdgeList(*columns, num_vertices=generated.num_vertices)


def solver(graph):
    """Return a function that solves a graph whose columns are on the device."""
    columns = tuple(map(device_array, (graph.u, graph.v, graph.weight)))
    solve = partial(mstflow.minimum_spanning_forest, columns, num_vertices=graph.num_vertices)
    return lambda: solve().edge_ids


@pytest.fixture(params=["R-MAT", "R-MAT, shuffled", "grid"])
def graph(request):
    if request.param == "grid":
        return edges_of(grid(300, 300, keep=0.65))
    return rmat_graph(14, shuffle_vertices=request.param != "R-MAT")


def test_a_solve_calls_the_device_seldom(interpreter, graph):
    """A sort counts as one call, although Thrust launches several kernels."""
    interpreter.start(0, checks="bounds")
    interpreter.counts(), interpreter.traffic()
    found = solver(graph)()
    counts = interpreter.counts()
    assert counts.launches + counts.sorts <= 56
    assert counts.sets + counts.copies_within <= 6
    assert counts.waits <= 10
    assert counts.largest_out <= 16
    _, *moved = map(sum, zip(*interpreter.traffic().values(), strict=True))
    num_bytes, random, hot = (each / graph.num_edges for each in moved)
    assert num_bytes <= 600
    assert random <= 30
    assert hot <= 0.25
    expected = mstflow.minimum_spanning_forest(graph, backend="numpy").edge_ids
    assert found.tolist() == expected.tolist()


def test_a_warm_solve_makes_few_calls_of_python(interpreter):
    solve = solver(rmat_graph(8))
    interpreter.start(0, checks="bounds")
    for _ in range(2):
        solve()
    interpreter.counts()
    assert num_calls(solve) <= 4000
    assert interpreter.counts().allocations == 0  # CuPy's pool has all memory


class CountingArrays(interpreted_gpu.InterpretedArrays):
    """The array module, which counts the pairs that all rounds of `join_in_order` visit."""

    visits = 0

    def _launch(self, name, types, size, *arguments):
        if name == "find_first":
            is_counted, length, *_ = arguments
            self.visits += int(length[0]) if is_counted else size
        super()._launch(name, types, size, *arguments)


def joined(interpreter, u, v, size):
    """Join pairs; return the positions that join, the visits, and the traffic of each kernel."""
    arrays = CountingArrays()
    given = arrays.asarray(u), arrays.asarray(v)
    interpreter.start(0, checks="bounds")
    interpreter.traffic()
    joining = arrays.to_host(arrays.join_in_order(*given, size)[0])
    return joining, arrays.visits, interpreter.traffic()


#: The most hot requests that joining the pairs of R-MAT 16 may make, by kernel.
HOT = {
    "find_first": 31_000,
    "join_first": 4_000,
    "find_roots": 13_000,  # twice for each warp, and 3 launches
    "flag_joining": 4_000,  # once for each block
    "move_labels": 1_200,
}


def test_a_skewed_list_is_joined_in_parts(interpreter):
    """Before parts, cached loads and numbered rounds: 4.7 M visits and 530,000 hot requests."""
    graph = rmat_graph(16)
    order = np.argsort(graph.weight, kind="stable")
    pairs = graph.u[order], graph.v[order], graph.num_vertices
    joining, visits, traffic = joined(interpreter, *pairs)
    assert visits <= 700_000
    assert sum(hot for *_, hot in traffic.values()) <= 53_000
    for kernel, most in HOT.items():
        (hot,) = (each[-1] for name, each in traffic.items() if f"{kernel}I" in name)
        assert hot <= most, kernel
    expected = array_module("numba").join_in_order(*pairs)[0]
    np.testing.assert_array_equal(joining, expected)


@pytest.mark.parametrize("step", [1, -1])
def test_long_paths_are_halved(interpreter, step):
    """All nodes of a path join in one round, so their pairs have long paths in the next one."""
    size = 4096
    path = np.arange(size - 1, dtype=np.int32)[::step]
    u, v = np.concatenate([path, path // 2]), np.concatenate([path + 1, path])
    joining, _, traffic = joined(interpreter, u, v, size)
    assert joining.tolist() == list(range(size - 1))
    assert sum(num_bytes for _, num_bytes, *_ in traffic.values()) <= 64 * 40 * size


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
