"""Scans find the same forest with any capacity and any partitions."""

import gc
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_strategies import edge_lists
from mstflow import EdgeList, algorithm, backends, minimum_spanning_forest
from mstflow.doors.generated import families
from mstflow.errors import MemoryBoundError
from mstflow.graphs.segments import ArraySegment, Chunks
from mstflow.graphs.source import EdgeSource
from mstflow.pipeline.catalogue.strategies import from_columns, variant
from mstflow.pipeline.options import parse_bytes
from mstflow.pipeline.planning.costs import choose_num_light, edges_kept
from mstflow.pipeline.schedulers.scheduler import Workers
from mstflow.pipeline.streaming.bounds import ScanMemory
from mstflow.pipeline.streaming.buffer import EdgeBuffer, Selected
from mstflow.pipeline.streaming.checkpoint import Record
from mstflow.pipeline.streaming.facts import GraphFacts
from mstflow.pipeline.streaming.solver import Solver
from mstflow.primitives import Backend
from mstflow.runtime.host import show_bytes
from mstflow.stages.fields import Columns
from oracle import kruskal
from scanning import run_with_kills, scan
from strategy_names import BOUNDED

FIRST_ID = 2**33 + 5


def edge_list(ends):
    return EdgeList(*ends, num_vertices=300)


def solve(graph, capacity, *, cuts=(), **options):
    """Scan a graph whose ids begin beyond 32 bits, with any capacity of the partitions."""
    source = EdgeSource.of(graph)
    source = EdgeSource(source.segments, graph.num_vertices, first_id=FIRST_ID).with_sizes()
    found, report = scan(source, cuts, capacity=capacity, **options)
    return found - FIRST_ID, report


def scanned(report):
    """Return the calls of a report that read partitions."""
    return [call for call in report.calls if call.stage == "scan_partition"]


@pytest.mark.parametrize(("edges", "scans"), [(1500, 1), (3000, 2)])
def test_dense_graphs_are_scanned_twice_even_if_they_fit(edges, scans):
    random = np.random.default_rng(2)
    graph = edge_list((*random.integers(0, 300, (2, edges)), random.integers(0, 9999, edges)))
    found, report = solve(graph, 10_000, can_rescan=True)
    assert np.array_equal(found, kruskal(graph))
    assert len(scanned(report)) == scans
    assert [call.round for call in scanned(report)] == list(range(scans))


class SlowBlocks(ArraySegment):
    """Edges that take a while to read."""

    def reads(self, size):
        def slow(read):
            time.sleep(0.02)
            return read()

        for count, read in super().reads(size):
            yield count, partial(slow, read)


class SlowChunks(list):
    """Chunks that take a while to decode."""

    def __iter__(self):
        for chunk in super().__iter__():
            time.sleep(0.02)
            yield chunk


@pytest.mark.parametrize("kind", ["blocks", "chunks"])
def test_the_report_states_the_time_of_reading(kind):
    columns = np.array([0, 1]), np.array([1, 2]), np.array([5.0, 7.0])
    segment = SlowBlocks(*columns) if kind == "blocks" else Chunks(SlowChunks([columns]))
    graph = EdgeSource((segment,), num_vertices=3)
    report = minimum_spanning_forest(graph, strategy="fold", backend="numpy").report
    assert report.final["read_ms"] >= 20
    assert "read_ms" in str(report)


@pytest.mark.parametrize(("capacity", "scans"), [(1200, 3), (2000, 2), (3000, 2), (8000, 2)])
def test_a_plan_states_the_number_of_scans(capacity, scans):
    random = np.random.default_rng(0)
    ends = random.integers(0, 2000, (2, 60_000))
    graph = EdgeList(*ends, random.random(60_000), num_vertices=2000)
    _, report = solve(graph, capacity, can_rescan=True)
    assert len(scanned(report)) == scans
    sizes = GraphFacts(2000, 60_000)
    assert len(edges_kept(sizes, capacity, 1, choose_num_light(sizes, capacity, 1))) == scans


FAMILIES = {
    "random": families.random(1000, 16_000),
    "rmat": families.rmat(10),
    "grid": families.grid(30, 30),
    "star": families.star(1000),
    "parallel": families.random(9, 16_000),
}


@pytest.mark.parametrize("partitions", [1, 16])
@pytest.mark.parametrize("isolated", [0, 9000])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("form", ["arrays", "chunks"])
def test_a_plan_states_the_number_of_scans_of_each_family(family, isolated, partitions, form):
    size = FAMILIES[family].num_vertices + isolated
    columns = FAMILIES[family].edges(0, FAMILIES[family].num_edges)
    graph = EdgeList(*columns, num_vertices=size)
    chunks = list(zip(*(np.array_split(column, 3) for column in columns), strict=True))
    forest = minimum_spanning_forest(
        graph if form == "arrays" else chunks,  # the weights of chunks cannot be sampled
        num_vertices=size,
        strategy="scan",
        partitions=partitions,
    )
    rounds = {call.round for call in scanned(forest.report)}
    assert len(rounds) == forest.report.plan.estimate.scans
    assert np.array_equal(forest.edge_ids, kruskal(graph))


def test_isolated_vertices_need_no_further_scan():
    random = np.random.default_rng(0)
    ends = random.integers(0, 2000, (2, 60_000))
    graph = EdgeList(*ends, random.random(60_000), num_vertices=3500)
    found, report = solve(graph, 2000, can_rescan=True)
    assert np.array_equal(found, kruskal(graph))
    assert len(scanned(report)) == 2


def test_a_scan_whose_forest_does_not_fit_is_not_the_last_one():
    """The first scan finds that all fragments may fit; a chain of them does not."""
    ends = np.arange(1000)
    graph = EdgeList(ends, ends + 1, ends[::-1].copy(), num_vertices=1001)
    found, report = solve(graph, 600, can_rescan=True)
    assert np.array_equal(found, ends)
    assert len(scanned(report)) > 2


def test_all_partitions_have_the_same_limit():
    random = np.random.default_rng(1)
    graph = edge_list((*random.integers(0, 300, (2, 6000)), np.arange(6000)))
    cuts = range(600, 6000, 600)
    found, report = solve(graph, 460, cuts=cuts, can_rescan=True)
    assert np.array_equal(found, kruskal(graph))
    first = [call.bytes for call in scanned(report)][:10]
    assert first[0] > 0
    assert first[2:] == [0] * 8  # these partitions have no light edges


@pytest.mark.parametrize("backend", backends())
@given(
    graph=edge_lists(),
    capacity=st.integers(2, 40),
    cuts=st.lists(st.integers(0, 40), max_size=4),
    split_every=st.integers(2, 4),
    maximum=st.booleans(),
)
def test_every_capacity_finds_the_same_forest(backend, graph, capacity, cuts, split_every, maximum):
    found, _ = solve(
        graph,
        capacity,
        cuts=cuts,
        maximum=maximum,
        backend=backend,
        can_rescan=True,
        split_every=split_every,
    )
    assert np.array_equal(found, kruskal(graph, maximum))


@given(graph=edge_lists(), spare=st.integers(2, 9), cuts=st.lists(st.integers(0, 40), max_size=3))
def test_folds_and_trees_take_one_scan(graph, spare, cuts):
    capacity = 2 * graph.num_vertices + spare
    found, report = solve(graph, capacity, cuts=cuts, name="filter-boruvka", can_rescan=False)
    assert np.array_equal(found, kruskal(graph))
    assert len(scanned(report)) == len(cuts) + 1


@pytest.mark.parametrize("backend", backends())
@given(
    seed=st.integers(0, 2**32),
    capacity=st.integers(20, 60),
    weights=st.sampled_from([3, 100, 2**40]),
    cuts=st.lists(st.integers(0, 300), max_size=3),
    maximum=st.booleans(),
    several=st.booleans(),
)
def test_buffers_fill_many_times(backend, seed, capacity, weights, cuts, maximum, several):
    random = np.random.default_rng(seed)
    ends = random.integers(0, 30, (2, 300)) * random.integers(0, 2, (2, 300))  # many lead to 0
    graph = EdgeList(*ends, random.integers(0, weights, 300), num_vertices=33)
    found, _ = solve(
        graph,
        capacity if several else capacity + 2 * 33,
        cuts=cuts,
        maximum=maximum,
        backend=backend,
        can_rescan=several,
    )
    assert np.array_equal(found, kruskal(graph, maximum))


def test_equal_weights_need_many_scans_in_little_memory():
    random = np.random.default_rng(1)
    graph = edge_list(random.integers(0, 300, (2, 4000)))
    found, report = solve(graph, 100, can_rescan=True)
    assert len(report.rounds) > 2
    assert np.array_equal(found, kruskal(graph))


def records_in(folder, **options):
    """Return the function of a checkpoint from the name of a task to its record."""
    return lambda task: Record(str(folder / f"{task}.npz"), **options)


@pytest.mark.parametrize("cuts", [(), (7, 20, 33)])
@pytest.mark.parametrize("capacity", [6, 60])
def test_a_killed_run_resumes(tmp_path, cuts, capacity):
    random = np.random.default_rng(3)
    graph = edge_list(random.integers(0, 25, (2, 40)))
    expected = kruskal(graph)
    checkpoint = records_in(tmp_path, seconds=0)  # save unfinished work after every block
    options = {"cuts": cuts, "can_rescan": True, "checkpoint": checkpoint}
    # The fifth report is in the middle of a scan.
    (found, _), kills = run_with_kills(lambda: solve(graph, capacity, **options), every=5)
    assert np.array_equal(found, expected)
    assert kills > 1 or capacity > 40


MERGED = EdgeList(*np.random.default_rng(3).integers(0, 25, (2, 40)))  # more edges than vertices
PASSED_ON = edge_list((MERGED.u, MERGED.v))  # all are candidates to the end


@pytest.mark.parametrize(
    ("graph", "last"),
    [(MERGED, "merge_forests-scan-0-1-0"), (PASSED_ON, "finish_forest-scan-0-0-0")],
    ids=["merged", "passed on"],
)
def test_a_damaged_record_is_ignored(tmp_path, graph, last):
    options = {"cuts": (10,), "can_rescan": False, "checkpoint": records_in(tmp_path)}
    expected, _ = solve(graph, 1000, **options)
    records = sorted(tmp_path.iterdir())
    assert {path.stem for path in records} == {
        last,
        "scan_partition-scan-0-0-0",
        "scan_partition-scan-0-0-1",
    }
    for record in records:
        whole = record.read_bytes()
        for damaged in (whole[: len(whole) // 2], whole.replace(b"\x05\0\0\0", b"\x06\0\0\0"), b""):
            record.write_bytes(damaged)
            assert np.array_equal(solve(graph, 1000, **options)[0], expected)


def test_threads_load_records_at_once(tmp_path):
    """Python 3.11 confuses two threads that evaluate headers if one is interrupted by the other."""
    record = Record(str(tmp_path / "record"))
    record.save([np.arange(3)] * 8, {})
    threshold, interrupt = gc.get_threshold(), lambda *_: sum(range(100))
    try:
        gc.callbacks.append(interrupt)  # as `distributed` does
        gc.set_threshold(5)
        with ThreadPoolExecutor(4) as pool:
            assert all(pool.map(lambda _: record.load(), range(400)))
    finally:
        gc.set_threshold(*threshold)
        gc.callbacks.remove(interrupt)


def test_chunks_that_change_are_errors():
    calls = []

    class Changing:
        def __iter__(self):
            calls.append(1)
            yield from [([0, 1], [1, 2])] * (3 if len(calls) == 1 else 2)

    source = EdgeSource((Chunks(Changing()),), 3).with_sizes()
    assert source.num_edges == 6
    with pytest.raises(ValueError, match="the first scan read 6 edges, a later one only 4"):
        source.columns()


def test_sizes():
    assert [parse_bytes(size) for size in ("2GB", "1.5 kb", "3 MiB", 17)] == [
        2 * 10**9, 1500, 3 * 2**20, 17,
    ]  # fmt: skip
    assert [show_bytes(count) for count in (2_000_000_001, 5_000_000, 17)] == [
        "2.01 GB", "5 MB", "17 bytes",
    ]  # fmt: skip
    assert issubclass(MemoryBoundError, ValueError)


@given(
    strategy=st.sampled_from(BOUNDED),
    partitions=st.integers(1, 40),
    split_every=st.integers(2, 5),
    edges=st.integers(0, 10**8),
    spare=st.integers(0, 10**9),
    is_cluster=st.booleans(),
)
def test_capacity_fits_the_bound(strategy, partitions, split_every, edges, spare, is_cluster):
    where = Workers(workers=3, task_threads=2, is_cluster=is_cluster)
    scans = ScanMemory(
        GraphFacts(10**6, edges),
        variant(strategy).strategy,
        strategy == "two-scan",
        partitions,
        split_every,
        where,
    )
    memory = scans.least_memory + spare
    held = scans.capacity(memory)
    assert scans.memory(held) <= memory
    assert scans.capacity(None) >= held or held >= 2**24
    with pytest.raises(MemoryBoundError) as refused:
        scans.capacity(scans.least_memory - 1)
    assert refused.value.needed == scans.least_memory


@pytest.mark.parametrize("backend", backends())
def test_isolated_vertices_do_not_count(backend):
    random = np.random.default_rng(2)
    ends = 7 * random.integers(0, 40, (2, 900))  # few of many vertices
    graph = EdgeList(*ends, random.integers(0, 9, 900), num_vertices=300)
    found, _ = solve(graph, 700, cuts=(400,), backend=backend, can_rescan=False)
    assert np.array_equal(found, kruskal(graph))


@pytest.mark.parametrize(("capacity", "folds"), [(1, True), (1, False), (3, True)])
def test_a_full_buffer_loses_no_edge(capacity, folds):
    """NumPy broadcasts an array of one value to a slice without rows."""
    solver = Solver(from_columns(algorithm("kruskal")), Backend("numpy"), False)
    buffer = EdgeBuffer(solver, 9, capacity, np.dtype(np.int64), folds=folds, drops=False)
    one_edge = (np.array([each], np.int32) for each in range(8))

    def append(end):
        edge = Columns(end, end + 1, np.array([5]), end.astype(np.int64))
        buffer.append(Selected(0, 1, 9, np.array([5], np.uint64), edge))

    for _, end in zip(range(capacity), one_edge, strict=False):
        append(end)
    with pytest.raises(ValueError, match=f"{capacity + 1} edges do not fit in a buffer of"):
        append(next(one_edge))
