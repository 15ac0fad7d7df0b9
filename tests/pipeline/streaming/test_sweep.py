"""Sweeps remove the vertices of a graph in ranges; tests make buckets of a few vertices."""

import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mstflow
from covering import covering
from graph_files import save_columns
from graph_strategies import WEIGHT_DTYPES, edge_lists, union_of_many
from mstflow import EdgeList, algorithm, backends
from mstflow.errors import FileFormatError, MemoryBoundError, OptionError, OutOfMemoryError
from mstflow.graphs.source import EdgeSource
from mstflow.pipeline.catalogue.names import request_for
from mstflow.pipeline.catalogue.strategies import from_columns, strategy_flow
from mstflow.pipeline.execute import execute
from mstflow.pipeline.planning.plan import plan
from mstflow.pipeline.planning.situation import Situation
from mstflow.pipeline.schedulers.scheduler import Inline, Workers
from mstflow.pipeline.streaming.bounds import ScanMemory, SweepMemory
from mstflow.pipeline.streaming.buckets import (
    VertexOrder,
    choose_ranges,
    edges_moved,
    rows_at_once,
)
from mstflow.pipeline.streaming.checkpoint import Record
from mstflow.pipeline.streaming.facts import GraphFacts
from mstflow.pipeline.streaming.solver import Solver
from mstflow.pipeline.streaming.sweep import Buckets, Sweeper
from mstflow.primitives import Backend, array_module
from mstflow.progress import set_listener
from mstflow.runtime.device import host_array
from mstflow.runtime.scratch import is_mapped, mapped, release_pages
from mstflow.runtime.sizes import tuned
from oracle import kruskal
from scanning import InterruptedOnPurposeError, run_with_kills

FIRST_ID = 2**33 + 5


def sweep(
    graph, folder, capacity, *, maximum=False, backend="numpy", tile=1, segment=5, record=None
):
    """Sweep a graph whose ids begin beyond 32 bits; return its edge ids and the report."""
    source = EdgeSource.of(graph)
    source = EdgeSource(source.segments, graph.num_vertices, first_id=FIRST_ID).with_sizes()
    solver = Solver(from_columns(algorithm("kruskal")), Backend(backend, 2), maximum)
    sizes = source.num_vertices, source.num_edges, source.first_id, source.weight_dtype
    with tuned(tile=tile, block_edges=segment):
        fields, report = execute(
            strategy_flow("sweep", algorithm("kruskal")),
            [{"source": source}],
            {
                "sweeper": Sweeper(solver, capacity, *sizes, str(folder)),
                "num_vertices": source.num_vertices,
                "num_edges": source.num_edges,
            },
            scheduler=Inline(),
            backend=solver.backend,
            checkpoint=record,
        )
    return host_array(fields["forest"]) - FIRST_ID, report


def random_graph(vertices, edges, weights=1000, dtype=np.int64):
    random = np.random.default_rng(vertices)
    u, v = random.integers(0, vertices, (2, edges))
    return EdgeList(u, v, random.integers(0, weights, edges).astype(dtype), num_vertices=vertices)


@pytest.mark.parametrize("backend", backends())
@given(
    graph=edge_lists(),
    capacity=st.integers(4, 60),
    tile=st.sampled_from([1, 2, 4]),
    maximum=st.booleans(),
)
def test_every_capacity_finds_the_same_forest(
    backend, graph, capacity, tile, maximum, tmp_path_factory
):
    folder = tmp_path_factory.mktemp("buckets")
    found, _ = sweep(graph, folder, capacity, maximum=maximum, backend=backend, tile=tile)
    assert np.array_equal(found, kruskal(graph, maximum))


@pytest.mark.parametrize(
    ("dtype", "maximum", "backend"), covering(WEIGHT_DTYPES, [False, True], backends())
)
def test_every_dtype(backend, dtype, maximum, tmp_path):
    graph = union_of_many(40, dtype)
    found, report = sweep(graph, tmp_path, 200, maximum=maximum, backend=backend)
    assert np.array_equal(found, kruskal(graph, maximum))
    assert len(report.rounds) > 4


GRAPHS = {
    "star": EdgeList(np.zeros(900, int), np.arange(900), np.arange(900)[::-1]),
    "path": EdgeList(np.arange(899), np.arange(1, 900), np.arange(899) % 7),
    "grid": mstflow.grid(np.random.default_rng(0).integers(0, 9, (20, 50))),
    "dense": random_graph(100, 4000, 50, np.float64),
    "sparse": random_graph(900, 700),
    "parallel": EdgeList(np.arange(2000) % 40, np.arange(2000) % 41, np.arange(2000) % 11),
    "no edges": EdgeList([], [], [], num_vertices=50),
    "no vertices": EdgeList([], [], []),
}


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("backend", backends())
def test_graphs_of_every_shape(backend, name, tmp_path):
    """A bucket of a star or a dense graph is larger than the capacity, so it is read in blocks."""
    graph = GRAPHS[name]
    expected = mstflow.minimum_spanning_forest(graph).edge_ids
    for capacity, tile in ((64, 1), (300, 8)):
        folder = tmp_path / str(capacity)
        folder.mkdir()
        found, _ = sweep(graph, folder, capacity, backend=backend, tile=tile, segment=50)
        assert np.array_equal(found, expected)
        names = os.listdir(folder)
        assert sum(name.startswith("bucket") for name in names) <= 1  # the last one


@pytest.mark.parametrize("every", [2, 3, 5])
def test_a_killed_run_resumes(every, tmp_path):
    """What was written after the last saved state is removed, such as a part of a segment."""
    graph = random_graph(60, 300, 20)

    def run():
        return sweep(graph, "", 40, record=lambda task: Record(str(tmp_path / f"{task}.npz"), 0))

    def append():
        for path in tmp_path.glob("*/*"):
            path.write_bytes(path.read_bytes() + b"unfinished")

    (found, _), kills = run_with_kills(run, every, append)
    assert np.array_equal(found, kruskal(graph))
    assert kills > 4


def test_a_run_with_less_memory_does_not_resume(tmp_path):
    graph = random_graph(60, 300, 20)
    record = Record(str(tmp_path / "task.npz"), 0)

    def stop(_step, done, total):
        if done == total:
            raise InterruptedOnPurposeError

    with pytest.raises(InterruptedOnPurposeError), set_listener(stop):
        sweep(graph, "", 100, record=lambda _: record)
    with pytest.raises(OptionError, match="written with more memory"):
        sweep(graph, "", 40, record=lambda _: record)
    assert np.array_equal(sweep(graph, "", 120, record=lambda _: record)[0], kruskal(graph))


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is full")
def test_a_full_disk_is_an_error(tmp_path):
    def fill(_step, _done, _total):
        (tmp_path / "bucket-5").unlink(missing_ok=True)
        (tmp_path / "bucket-5").symlink_to("/dev/full")

    message = rf"^{tmp_path}: .*No space left on device; choose another"
    with pytest.raises(OptionError, match=message), set_listener(fill):
        sweep(random_graph(60, 300), tmp_path, 40)


@pytest.mark.parametrize("place", [0, 6, 8, 20, -1])
def test_a_damaged_bucket_is_an_error(place, tmp_path):
    """The length, the checksum or a column of a segment is wrong."""

    def damage(step, _done, _total):
        for path in tmp_path.glob("bucket-*") if step == "remove vertices" else ():
            content = bytearray(path.read_bytes())
            content[place] ^= 1
            path.write_bytes(content)

    with pytest.raises(FileFormatError, match=r": the file is damaged"), set_listener(damage):
        sweep(random_graph(60, 300), tmp_path, 40)


@pytest.mark.parametrize("vertices", [1, 5, 1000, 4097])
def test_an_order_is_a_permutation(vertices):
    for bits in (0, 3):
        starts = np.array([0, -(-vertices >> bits)])
        order = VertexOrder.of(bits, starts, np.dtype(np.int32))
        ops = array_module("numpy")
        places = order.positions(ops, np.arange(starts[-1] << bits, dtype=np.int32))
        assert sorted(places.tolist()) == list(range(starts[-1] << bits))


@given(
    tiles=st.integers(1, 5000),
    tile=st.sampled_from([1, 16]),
    edges=st.integers(0, 10**6),
    capacity=st.integers(4, 10**6),
)
def test_ranges_are_small_enough(tiles, tile, edges, capacity):
    starts = choose_ranges(tiles, tile, edges, capacity)
    assert (starts[0], starts[-1]) == (0, tiles)
    order = VertexOrder.of(tile.bit_length() - 1, np.array(starts), np.dtype(np.int32))
    assert order.fits(capacity)
    *_, last = ranges = np.diff(starts)
    assert max(ranges) * tile <= max(tile, capacity // 2)
    assert rows_at_once(capacity, last * tile) + last * tile <= max(capacity, tile)
    assert min(ranges) > 0


def test_ranges_without_edges_are_skipped(tmp_path):
    """A few edges among very many vertices, which may be one wrong id in a file."""
    count = 10**7
    graph = EdgeList([0, 5, count - 1], [5, 9, 3], [1.0, 2.0, 3.0], num_vertices=count)
    found, report = sweep(graph, tmp_path, 10**6, tile=64)
    assert found.tolist() == [0, 1, 2]
    assert sum(call.stage == "join_range" for call in report.calls) <= 2 * len(found) + 1


def test_a_plan_holds_all_vertices_in_a_range_if_memory_allows():
    sparse = GraphFacts(4_000_000, 3_000_000)
    with tuned(tile=1024):
        capacity = SweepMemory(sparse, Workers()).capacity(2**31)
        assert len(choose_ranges(4_000_000 // 1024, 1024, sparse.num_edges, capacity)) == 2


def test_a_plan_states_how_many_edges_move(tmp_path, monkeypatch):
    append, moved = Buckets.append, []

    def count(self, dealt):
        moved.append(sum(segment.num_rows for _, segment in dealt))
        append(self, dealt)

    monkeypatch.setattr(Buckets, "append", count)
    sweep(random_graph(2000, 8000), tmp_path, 1500, segment=100)
    with tuned(tile=1):
        assert edges_moved(2000, 8000, 1500) == pytest.approx(sum(moved), rel=0.15)


LARGE = GraphFacts(20_000_000, 60_000_000)


def planned(graph=LARGE, workers=None, **options):
    where = workers or Workers(task_threads=2)
    return plan(Situation(request_for(**options), graph, where, "numba"))


def test_auto_sweeps_if_scans_need_more_memory():
    scans = ScanMemory(LARGE, "scan", True, 1, 4, Workers(task_threads=2)).least_memory
    least = SweepMemory(LARGE, Workers(task_threads=2)).least_memory
    assert least < scans / 2
    assert planned(memory=scans).strategy == "scan"
    assert planned(memory=scans).least_memory == least
    for memory in (scans - 1, least):
        decided = planned(memory=memory)
        assert decided.strategy == "sweep"
        assert decided.memory <= memory
    with pytest.raises(MemoryBoundError, match="for strategy 'sweep' with 20,000,000 vertices"):
        planned(memory=least - 1)
    with pytest.raises(MemoryBoundError, match="for strategy 'scan' with 2,000"):
        planned(GraphFacts(2000, 60_000), memory=10**6)  # scans need less


def test_runs_that_cannot_sweep():
    for options in ({"partitions": 2}, {"workers": Workers("threads", 2, eager=False)}):
        with pytest.raises(MemoryBoundError, match="'scan'"):
            planned(memory=5 * 10**8, **options)
    with pytest.raises(OptionError, match="'sweep' has one partition, not 2"):
        planned(strategy="sweep", partitions=2)
    with pytest.raises(OptionError, match="'sweep' runs as one task; choose sched"):
        planned(strategy="sweep", workers=Workers("threads", 2, eager=False))
    own = algorithm("kruskal").named("own")
    with pytest.raises(OptionError, match="'sweep' does not run custom pipelines"):
        mstflow.minimum_spanning_forest(random_graph(9, 20), algorithm=own, strategy="sweep")


def test_the_disk_must_have_space(monkeypatch):
    graph = mstflow.EdgeList([0], [1], [1.0])
    usage = type("Usage", (), {"free": 10})
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage)
    with pytest.raises(OptionError, match="of disk space are needed for edges, but only 10 bytes"):
        mstflow.minimum_spanning_forest(graph, strategy="sweep")


@pytest.mark.parametrize("stale", ["bucket-0", "bucket-999", "forest-999"])
def test_buckets_of_a_killed_run_do_not_count_as_used(monkeypatch, tmp_path, stale):
    """The run was killed before it saved a state; it may have had more memory, and more files."""
    graph, size = random_graph(60, 300), 20_000

    def usage(folder):
        files = (path for path in tmp_path.rglob("*") if path.is_file())
        return type("Usage", (), {"free": size - sum(path.stat().st_size for path in files)})

    def stop(step, _done, _total):
        if step == "deal edges":
            (folder,) = (path.parent for path in tmp_path.rglob("bucket-0"))
            (folder / stale).write_bytes(bytes(size))
            raise InterruptedOnPurposeError

    monkeypatch.setattr("shutil.disk_usage", usage)
    options = {"strategy": "sweep", "checkpoint": tmp_path / "kept"}
    with pytest.raises(InterruptedOnPurposeError):
        mstflow.minimum_spanning_forest(graph, progress=stop, **options)
    forest = mstflow.minimum_spanning_forest(graph, **options)
    assert np.array_equal(forest.edge_ids, kruskal(graph))


def test_a_checkpoint_of_a_call(tmp_path):
    graph = random_graph(60, 300, 20)
    options = {"strategy": "sweep", "checkpoint": tmp_path / "kept"}
    for _ in range(2):
        forest = mstflow.minimum_spanning_forest(graph, **options)
        assert np.array_equal(forest.edge_ids, kruskal(graph))
    mstflow.verify(graph, forest)
    with pytest.raises(OptionError, match="maximum differ"):
        mstflow.minimum_spanning_forest(graph, maximum=True, **options)


# A forest that memory may not hold.


def chunks(graph):
    """Return the columns of a graph in chunks, which are read one by one."""
    columns = graph.u, graph.v, graph.weight
    return list(zip(*(np.array_split(column, 20) for column in columns), strict=True))


@pytest.fixture
def small_memory(monkeypatch):
    """Memory holds 64 edges."""
    monkeypatch.setattr(SweepMemory, "capacity", lambda *_: 64)
    with tuned(tile=1, block_edges=50):
        yield


@pytest.fixture
def graph_and_forest(small_memory, tmp_path, monkeypatch):
    """A graph, and its forest, whose ids do not fit in memory."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    graph = random_graph(300, 900, 50, np.float32)
    forest = mstflow.minimum_spanning_forest(chunks(graph), num_vertices=300, strategy="sweep")
    assert not os.listdir(scratch)  # the file of the ids has no name
    return graph, forest


def test_ids_that_exceed_memory_are_in_a_file(graph_and_forest):
    graph, forest = graph_and_forest
    assert is_mapped(forest.edge_ids)
    assert forest.edge_ids.dtype == np.int64
    assert not forest.edge_ids.flags.writeable
    assert np.array_equal(forest.edge_ids, kruskal(graph))
    release_pages(forest.edge_ids)
    release_pages(kruskal(graph))  # any other array stays as it is
    again = pickle.loads(pickle.dumps(forest.edge_ids))
    assert np.array_equal(again, kruskal(graph))
    assert not is_mapped(again)
    assert mstflow.verify(graph, forest).num_forest_edges == len(again)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_a_file_of_ids_is_removed_with_the_array(tmp_path):
    def is_open():
        return str(tmp_path) in Path("/proc/self/maps").read_text()

    numbers = np.arange(2**12)
    array = mapped([numbers[:9], numbers[9:]], len(numbers), np.int64, tmp_path)
    assert np.array_equal(array, numbers)
    assert is_open()
    assert not os.listdir(tmp_path)
    view = array[5:]
    del array
    assert np.array_equal(view, numbers[5:])
    assert is_open()
    del view
    assert not is_open()


@pytest.mark.parametrize("suffix", ["", ".npz", ".parquet", ".csv", ".gr", ".mtx"])
def test_a_forest_is_saved_in_blocks(suffix, graph_and_forest, tmp_path):
    graph, forest = graph_and_forest
    whole = mstflow.minimum_spanning_forest(graph)
    for name, saved in (("blocks", forest), ("whole", whole)):
        saved.save(tmp_path / f"{name}{suffix}")
    assert "_edge_columns" not in vars(forest)
    blocks, whole = (tmp_path / f"{name}{suffix}" for name in ("blocks", "whole"))
    if suffix in ("", ".npz", ".parquet"):
        assert set(mstflow.verify(graph, blocks).compared) == {"u", "v", "weight"}
    else:
        assert blocks.read_text() == whole.read_text()


def test_files_with_two_dtypes_of_ends(small_memory, tmp_path):
    """Ends of the second file do not fit in the dtype of the first."""
    graph = random_graph(300, 900, 50)
    first = EdgeList(graph.u[:9].astype("u1") // 2, graph.v[:9].astype("u1"), graph.weight[:9])
    second = EdgeList(graph.u, graph.v, graph.weight)
    parts = [
        save_columns(tmp_path / str(at), part.u, part.v, part.weight)
        for at, part in enumerate((first, second))
    ]
    forest = mstflow.minimum_spanning_forest(parts, strategy="sweep")
    forest.save(tmp_path / "forest")
    assert mstflow.verify(parts, tmp_path / "forest").compared == ("u", "v", "weight")


def test_named_vertices_are_saved_in_blocks(small_memory, tmp_path):
    graph = random_graph(300, 900, 50)
    table = tmp_path / "graph.csv"
    rows = zip(graph.u.tolist(), graph.v.tolist(), graph.weight.tolist(), strict=True)
    table.write_text("u,v,weight\n" + "".join(f"n{u},n{v},{w}\n" for u, v, w in rows))
    forest = mstflow.minimum_spanning_forest(table, ends=("u", "v"), strategy="sweep")
    forest.save(tmp_path / "forest.csv")
    assert mstflow.verify(table, tmp_path / "forest.csv", ends=("u", "v")).compared[-1] == "weight"


@pytest.mark.parametrize("dtype", ["i4", "f4"])
def test_the_weight_of_a_forest_is_summed_in_blocks(dtype, small_memory):
    graph = random_graph(60, 300, 20, dtype)
    forest = mstflow.minimum_spanning_forest(chunks(graph), num_vertices=60, strategy="sweep")
    assert forest.total_weight == graph.weight[kruskal(graph)].sum()
    assert "_edge_columns" not in vars(forest)
    assert np.array_equal(forest.weight, graph.weight[kruskal(graph)])


def test_arrays_over_the_vertices_need_memory(tmp_path, monkeypatch):
    graph, size = chunks(random_graph(300, 900)), 3 * 10**7
    forest = mstflow.minimum_spanning_forest(graph, num_vertices=size, strategy="sweep")
    monkeypatch.setattr("mstflow.doors.size_checks.available_bytes", lambda: 10**9)
    for name in ("u", "labels"):
        with pytest.raises(OutOfMemoryError, match="for 30,000,000 vertices"):
            getattr(forest, name)
    forest.save(tmp_path / "forest")
    assert forest.num_components == size - len(np.load(tmp_path / "forest" / "edge_id.npy"))


#: The system kills the process a few milliseconds of its processor time after a number of reports.
SOLVE = """
import itertools, signal, sys
import mstflow
from mstflow.pipeline.streaming.bounds import SweepMemory
from mstflow.runtime.sizes import tuned

graph, kept, output, last, seconds = sys.argv[1:]
reports = itertools.count(1)

def report(*step):
    print(*step, flush=True)
    if next(reports) == int(last):
        signal.setitimer(signal.ITIMER_PROF, float(seconds))

SweepMemory.capacity = lambda *_: 400
with tuned(tile=1):
    forest = mstflow.minimum_spanning_forest(
        graph, strategy="sweep", checkpoint=kept, progress=report
    )
forest.save(output)
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="Windows has no timers")
def test_a_sweep_that_is_killed_at_random_moments_resumes(tmp_path):
    graph, random = random_graph(2000, 6000, 50), np.random.default_rng(1)
    folder = save_columns(tmp_path / "graph", graph.u, graph.v, graph.weight)
    output = tmp_path / "forest.npz"
    command = [sys.executable, "-c", SOLVE, str(folder), str(tmp_path / "kept"), str(output)]
    removed = []
    for _ in range(6):
        kill = [str(random.integers(10, 50)), str(random.random() * 0.004)]
        done = subprocess.run([*command, *kill], stdout=subprocess.PIPE, text=True)
        steps = (line.rsplit(maxsplit=2) for line in done.stdout.splitlines())
        removed += [int(done) for step, done, _ in steps if step == "remove vertices"]
        if not done.returncode:  # a tick of the timer may be longer than the rest of the run
            break
        assert done.returncode == -signal.SIGPROF
    subprocess.run([*command, "0", "0"], check=True, stdout=subprocess.DEVNULL)
    assert len(removed) > 20
    assert removed == sorted(set(removed))  # each run continues where the last one was killed
    assert np.array_equal(np.load(output)["edge_id"], kruskal(graph))
