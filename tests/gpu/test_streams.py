"""Streams that run late, in any allowed order: whole solves, and the fake driver itself."""

import contextlib
import re

import numpy as np
import pytest

import mstflow
from mstflow.runtime.sizes import tuned
from mstflow.testing import EVERY_STAGE
from oracle import kruskal
from strategy_names import BOUNDED, PARTITIONS, STREAMING

pytestmark = pytest.mark.on_gpu("results")

THROUGH_ALL = mstflow.algorithm("filter-boruvka").given(**EVERY_STAGE)


@pytest.fixture(autouse=True, scope="module")
def _gpu(interpreter):
    """Skip all tests if CuPy cannot run."""


@pytest.fixture(autouse=True)
def _small_blocks():
    """Scan a small graph in several blocks, so that several threads take part."""
    with tuned(block_edges=40):
        yield


@pytest.fixture
def xp():
    import cupy

    return cupy


def random_graph(seed, size=300):
    rng = np.random.default_rng(seed)
    dtype = ["f4", "f8", "i2", "u8", "i8"][seed % 5]
    ends = rng.integers(0, rng.integers(1, 80), (2, size)).astype(["i4", "i8"][seed % 2])
    return mstflow.EdgeList(*ends, rng.integers(-20, 20, size).astype(dtype))


@pytest.mark.parametrize(
    ("place", "name"), [*enumerate([THROUGH_ALL, *mstflow.algorithms()])], ids=str
)
def test_every_pipeline(interpreter, xp, place, name, examples):
    """Each launch is in lockstep or in a free order, and its memory is weak or strong.

    Each graph, on the host or on the device, is solved as a whole and in one of the other ways.
    """
    for seed in range(max(2, examples // 10)):
        for strategy in ("whole", BOUNDED[(place + seed) % len(BOUNDED)]):
            check_pipeline(interpreter, xp, name, strategy, seed)
            interpreter.check()


def check_pipeline(interpreter, xp, name, strategy, seed):
    graph, options = random_graph(seed), {"strategy": strategy, "partitions": PARTITIONS[strategy]}
    interpreter.start(seed)
    copied = xp.asarray if seed % 2 else np.asarray
    columns = tuple(map(copied, (graph.u, graph.v, graph.weight)))
    forest = mstflow.minimum_spanning_forest(columns, backend="cupy", algorithm=name, **options)
    assert isinstance(forest.edge_ids, xp.ndarray) == seed % 2
    assert xp.asnumpy(forest.edge_ids).tolist() == kruskal(graph).tolist()


def test_streamed_graphs(interpreter):
    """Streams come from a fixed set: one for each thread that scans."""
    scans = [name for name in BOUNDED if name in STREAMING]
    interpreter.counts()
    for seed in range(67):
        graph = random_graph(seed)
        interpreter.start(seed)
        strategy = scans[seed % len(scans)]
        forest = mstflow.minimum_spanning_forest(
            graph, backend="cupy", strategy=strategy, partitions=PARTITIONS[strategy], threads=2
        )
        assert forest.edge_ids.tolist() == kruskal(graph).tolist()
        interpreter.check()
    assert interpreter.counts().streams <= 4  # two for each number of threads


@pytest.mark.parametrize("kind", ["blocking", "non-blocking"])
@pytest.mark.parametrize(
    "options", [{}, {"scheduler": "threads", "partitions": 3}, {"strategy": "two-scan"}]
)
def test_streams_of_the_caller(interpreter, xp, kind, options):
    graph = random_graph(3)
    for seed in range(5):
        interpreter.start(seed)
        with xp.cuda.Stream(non_blocking=kind == "non-blocking") as stream:
            columns = [xp.asarray(each) for each in (graph.u, graph.v, graph.weight)]
            forest = mstflow.minimum_spanning_forest(tuple(columns), threads=2, **options)
            found = forest.edge_ids
        stream.synchronize()
        assert found.get().tolist() == kruskal(graph).tolist()
        interpreter.check()


def test_pools(interpreter, xp):
    """Memory of another pool, and memory without a pool.

    The driver does not know the arrays within a block of another pool, so it cannot look for races.
    """
    graph, own = random_graph(8), xp.cuda.MemoryPool()
    for allocator in (own.malloc, None):
        with xp.cuda.using_allocator(allocator):
            interpreter.start(0, checks="values", pooled=False)
            forest = mstflow.minimum_spanning_forest(graph, backend="cupy")
            assert forest.edge_ids.tolist() == kruskal(graph).tolist()
            interpreter.check()
    assert own.total_bytes() > 0


# The fake driver itself.

of_the_driver = pytest.mark.on_gpu("nothing")


@of_the_driver
def test_work_is_late(interpreter, xp):
    """Without an order, a copy to pinned memory may find the old or the new value."""
    import cupyx

    seen = set()
    for seed in range(20):
        interpreter.start(seed)
        out, array = cupyx.zeros_pinned(1, "u4"), xp.full(1, 7, "u4")
        array.get(out=out, blocking=False)
        seen.add(int(out[0]))
        xp.cuda.get_current_stream().synchronize()
        assert out[0] == 7
    assert seen == {0, 7}


@of_the_driver
def test_events_order_streams(interpreter, xp):
    first, second = (xp.cuda.Stream(non_blocking=True) for _ in range(2))
    for seed in range(20):
        interpreter.start(seed)
        with first:
            array = xp.arange(50)
            event = first.record()
        with second:
            second.wait_event(event)
            assert int((array + 1).sum()) == 1275
        interpreter.check()


@of_the_driver
@pytest.mark.parametrize("is_read", [False, True])
def test_streams_without_an_order_are_found(interpreter, xp, is_read):
    for seed in range(20):
        interpreter.start(seed)
        with xp.cuda.Stream(non_blocking=True):
            array = xp.zeros(50)
        with xp.cuda.Stream(non_blocking=True), contextlib.suppress(RuntimeError):
            array + 1 if is_read else array.fill(2)
        assert re.search("no order between|uninitialised", interpreter.finding())


@of_the_driver
def test_freed_memory_is_found_on_another_stream(interpreter, xp):
    """CuPy's pool reuses memory in the order of one stream; no other stream may still read it."""
    for seed in range(20):
        interpreter.start(seed)
        with xp.cuda.Stream(non_blocking=True) as own:
            array = xp.arange(50)
            own.synchronize()
            with xp.cuda.Stream(non_blocking=True):
                array + 1
            del array
            with contextlib.suppress(RuntimeError):
                xp.zeros(50, "i8")
        assert "no order between" in interpreter.finding()


@of_the_driver
def test_counts(interpreter, xp):
    interpreter.counts()
    array = xp.asarray(np.arange(100))
    array.sort()
    assert int((array + 1)[0]) == 1
    xp.cuda.get_current_stream().synchronize()
    xp.cuda.get_current_stream().synchronize()
    found = interpreter.counts()
    assert (found.launches, found.sorts, found.copies_in, found.copies_out) == (1, 1, 1, 1)
    assert (found.bytes_in, found.bytes_out, found.largest_out) == (800, 8, 8)
    assert found.waits == 1  # for the copy to the host; the last calls have nothing to wait for
    assert found.instructions > 100


@of_the_driver
def test_allocations_fail_on_demand(interpreter, xp):
    with interpreter.memory(10**6):
        free, total = xp.cuda.runtime.memGetInfo()
        assert 0 < free <= 10**6 <= total  # equal if no earlier test holds memory
        with pytest.raises(MemoryError, match="Out of memory"):
            xp.empty(10**7)
    with interpreter.memory(failure=0), pytest.raises(MemoryError, match="Out of memory"):
        xp.empty(10**7)
