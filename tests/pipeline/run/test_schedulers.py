"""What schedulers promise beside the answer: arrays stay with them, and nothing is left behind."""

import gc
import os
import re
import subprocess
import sys
import threading
import types
import weakref
from concurrent.futures import ThreadPoolExecutor

import dask
import numpy as np
import pytest

import mstflow
from mstflow import Pipeline, stage
from mstflow.errors import OptionError, PipelineError, WorkerError
from mstflow.pipeline.run import flow as run
from mstflow.pipeline.run import scratch
from mstflow.pipeline.run.dask_scheduler import Dask
from mstflow.pipeline.run.workers import worker_backend
from mstflow.pipeline.streaming import scans
from mstflow.primitives import Backend, array_module
from mstflow.stages.fields import EdgeFlags, EdgeIndex, Keys
from mstflow.stages.fragments import list_forest, start_forest

NUMPY = array_module("numpy")
RANDOM = np.random.default_rng(5)
GRAPH = (*RANDOM.integers(0, 3000, (2, 20000)), RANDOM.random(20000))


@stage(writes="bad", over="edges")
def fail(u: EdgeIndex) -> EdgeFlags:
    raise RuntimeError("broken on purpose")


@pytest.mark.parametrize("scheduler", ["threads", "processes", "distributed"])
def test_only_scalars_come_back_between_rounds(scheduler, request, monkeypatch):
    fetched = []
    fetch = Dask.fetch

    def spy(self, *arguments):
        values = fetch(self, *arguments)
        fetched.append(sum(getattr(value, "nbytes", 0) for value in values))
        return values

    monkeypatch.setattr(Dask, "fetch", spy)
    where = request.getfixturevalue("cluster") if scheduler == "distributed" else scheduler
    forest = mstflow.minimum_spanning_forest(
        GRAPH, algorithm="boruvka-edgelist", scheduler=where, strategy="iterate", partitions=3
    )
    rounds = len(forest.report.rounds)
    assert len(fetched) == rounds + 2  # before each round, at the end, and the result
    assert max(fetched[:-1]) < 100
    assert fetched[-1] == forest.edge_ids.nbytes


@pytest.mark.parametrize("scheduler", ["inline", "threads", "processes", "distributed"])
@pytest.mark.parametrize("strategy", ["tree", "iterate"])
def test_nothing_is_left_behind(scheduler, strategy, request, tmp_path):
    where = request.getfixturevalue("cluster") if scheduler == "distributed" else scheduler
    options = {"scheduler": where, "strategy": strategy, "partitions": 3}
    with dask.config.set({"temporary-directory": str(tmp_path)}):
        mstflow.minimum_spanning_forest(GRAPH, **options)
        with pytest.raises(PipelineError, match=r"stage 'fail' failed on u.*broken on purpose"):
            mstflow.minimum_spanning_forest(
                GRAPH, algorithm=Pipeline("p", fail, start_forest, list_forest), **options
            )
    assert list(tmp_path.iterdir()) == []


def test_scratch_files_of_past_rounds_are_removed(tmp_path):
    old, new = (scratch.store(np.arange(3), str(tmp_path), NUMPY) for _ in range(2))
    scratch.keep_only(str(tmp_path), [new, 7])
    assert scratch.load(new, NUMPY).tolist() == [0, 1, 2]
    with pytest.raises(WorkerError, match="must share the caller's file system"):
        scratch.load(old, NUMPY)


@stage(writes="bad", over="edges")
def fail_with_a_lock(u: EdgeIndex) -> EdgeFlags:
    error = RuntimeError("held a lock")
    error.lock = threading.Lock()
    raise error


@stage(writes="bad", over="edges")
def end_the_process(u: EdgeIndex) -> EdgeFlags:
    os._exit(3)


def test_errors_reach_the_caller_whole():
    pipeline = Pipeline("p", fail_with_a_lock, start_forest, list_forest)
    with pytest.raises(PipelineError, match=r"stage 'fail_with_a_lock' failed .* held a lock"):
        mstflow.minimum_spanning_forest(GRAPH, algorithm=pipeline, scheduler="processes", threads=1)


@pytest.mark.parametrize("scheduler", ["processes", "distributed"])
def test_what_workers_cannot_load_is_told(scheduler, request, monkeypatch):
    where = request.getfixturevalue("cluster") if scheduler == "distributed" else scheduler
    module = types.ModuleType("only_here")
    monkeypatch.setitem(sys.modules, "only_here", module)
    exec("class Secret: pass", vars(module))
    secret = module.Secret

    @stage(writes="bad", over="edges")
    def need_the_secret(u: EdgeIndex) -> EdgeFlags:
        return secret

    pipeline = Pipeline("p", need_the_secret, start_forest, list_forest)
    with pytest.raises(WorkerError, match=r"a worker cannot load the task .*No module named"):
        mstflow.minimum_spanning_forest(
            GRAPH, algorithm=pipeline, scheduler=where, partitions=2, threads=1
        )


def test_a_dead_worker_is_told():
    pipeline = Pipeline("p", end_the_process, start_forest, list_forest)
    with pytest.raises(WorkerError, match="a worker died"):
        mstflow.minimum_spanning_forest(GRAPH, algorithm=pipeline, scheduler="processes", threads=1)


def test_stages_of_a_script_reach_other_processes():
    program = """
import mstflow
from mstflow.stages.fields import Count, Verdict

@mstflow.stage(writes="few")
def few(num_vertices: Count, num_edges: Count) -> Verdict:
    return num_vertices <= 2 or num_edges == 0

pipeline = mstflow.algorithm("boruvka-edgelist").replace("no_edges_left", few)
graph = ([0, 1, 2, 3], [1, 2, 3, 4])
print(len(mstflow.minimum_spanning_forest(
    graph, algorithm=pipeline, scheduler="processes", partitions=2, threads=1).edge_ids))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("4\n", "")


def test_progress_of_solves_side_by_side():
    def solve(_):
        seen = []
        mstflow.minimum_spanning_forest(
            GRAPH, scheduler="threads", partitions=5, progress=lambda *step: seen.append(step[1:])
        )
        return seen

    with ThreadPoolExecutor(4) as pool:
        assert set(map(tuple, pool.map(solve, range(8)))) == {tuple((i, 7) for i in range(1, 8))}


def test_progress_of_a_tree_on_a_cluster(cluster):
    seen = []
    mstflow.minimum_spanning_forest(
        GRAPH, scheduler=cluster, partitions=3, progress=lambda *step: seen.append(step)
    )
    assert seen[0][0] == "write edges"  # into files that workers see
    assert [step[1:] for step in seen[1:]] == [(i, 4) for i in range(1, 5)]
    assert seen[-1][0] == "merge_forests"


def test_progress_of_rounds_on_a_cluster(cluster):
    seen = []
    report = mstflow.minimum_spanning_forest(
        GRAPH,
        scheduler=cluster,
        strategy="iterate",
        partitions=3,
        progress=lambda *step: seen.append(step),
    ).report
    calls = [f"round {call.round}: {call.stage}" for call in report.calls]
    assert sorted(step for step, *_ in seen[1:-1]) == sorted(calls)  # as they end
    done = [done for _, done, _ in seen[1:]]
    assert done == sorted(done)


@pytest.mark.parametrize("address", ["tcp://", "foo://x", "tcp://host"])
def test_addresses_that_are_none(address):
    with pytest.raises(OptionError, match="is no address of a scheduler"):
        mstflow.minimum_spanning_forest(GRAPH, scheduler=address)


def test_a_scratch_folder_that_cannot_be(tmp_path):
    missing = dask.config.set({"temporary-directory": str(tmp_path / "missing")})
    with missing, pytest.raises(OptionError, match="no scratch folder can be made in"):
        mstflow.minimum_spanning_forest(GRAPH, scheduler="processes")


def test_inputs_may_be_read_only_memory_maps(tmp_path):
    for name, column in zip("uvw", GRAPH, strict=True):
        np.save(tmp_path / f"{name}.npy", column)
    graph = mstflow.read(tmp_path)
    assert not graph.u.flags.writeable
    expected = mstflow.minimum_spanning_forest(GRAPH).edge_ids
    for scheduler in ("inline", "threads", "processes"):
        forest = mstflow.minimum_spanning_forest(graph, scheduler=scheduler, partitions=2)
        assert np.array_equal(forest.edge_ids, expected)


def test_workers_may_have_different_backends():
    from distributed import Client, Scheduler, SpecCluster, Worker

    workers = {
        name: {"cls": Worker, "options": {"nthreads": 1, "resources": {name: 1}}}
        for name in ("numba", "numpy")
    }
    scheduler = {"cls": Scheduler, "options": {"dashboard_address": ":0"}}
    given = Backend("numpy", 3)
    with (
        SpecCluster(workers, scheduler) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        found = [
            client.submit(worker_backend, given, workers=[name], pure=False).result()
            for name in workers
        ]
        assert found == [Backend("numba", 3), given] != [given, given]
        expected = mstflow.minimum_spanning_forest(GRAPH)
        for strategy in ("tree", "two-scan", "iterate"):
            forest = mstflow.minimum_spanning_forest(
                GRAPH, scheduler=client, strategy=strategy, partitions=6
            )
            assert np.array_equal(forest.edge_ids, expected.edge_ids)
    assert worker_backend(given) == given


@pytest.mark.parametrize("strategy", ["tree", "iterate"])
def test_tasks_are_tried_again(strategy, cluster, tmp_path):
    mark = tmp_path / "it failed once"

    @stage(writes="whole_key")
    def fail_once(whole_key: Keys) -> Keys:
        if not mark.exists():
            mark.touch()
            raise OSError("the network is down")
        return whole_key

    pipeline = mstflow.algorithm("kruskal").insert_before("join_by_weight", fail_once)
    options = {"algorithm": pipeline, "scheduler": cluster, "strategy": strategy, "partitions": 3}
    with pytest.raises(PipelineError, match="the network is down"):
        mstflow.minimum_spanning_forest(GRAPH, **options)
    mark.unlink()
    with dask.annotate(retries=3):
        forest = mstflow.minimum_spanning_forest(GRAPH, **options)
    assert mark.exists()
    assert np.array_equal(forest.edge_ids, mstflow.minimum_spanning_forest(GRAPH).edge_ids)


def test_merges_come_before_later_leaves(monkeypatch):
    waiting, most = 0, 0

    def spy(function, change):
        def called(*arguments, **options):
            nonlocal waiting, most
            waiting += change(arguments)
            most = max(most, waiting)
            return function(*arguments, **options)

        return called

    monkeypatch.setattr(scans, "scan_part", spy(scans.scan_part, lambda _: 1))
    merged = spy(scans.merge_forests, lambda arguments: 1 - len(arguments[3:]))
    monkeypatch.setattr(scans, "merge_forests", merged)
    mstflow.minimum_spanning_forest(
        GRAPH, scheduler="synchronous", strategy="tree", partitions=27, split_every=3
    )
    assert waiting == 1
    assert most <= 3 * (3 - 1) + 1  # two wait at each of three levels, and one is new


def test_what_no_later_stage_needs_is_let_go_at_once(monkeypatch):
    light, left, call_stage = [], [], run.call_stage

    def spy(stage, *arguments):
        if stage.name == "select_joining_edges":
            left.extend(edges() for edges in light)
        written = call_stage(stage, *arguments)
        if stage.name == "select_light_edges":
            light.extend(map(weakref.ref, written[:4]))
        return written

    monkeypatch.setattr(run, "call_stage", spy)
    gc.disable()  # which would find what only refers to itself, but later
    try:
        mstflow.minimum_spanning_forest(
            GRAPH, algorithm=mstflow.algorithm("filter-boruvka").given(small=0)
        )
    finally:
        gc.enable()
    assert left
    assert all(edges is None for edges in left)


@pytest.mark.parametrize(
    ("graph", "told"),
    [("folder", "a scratch file cannot be written in {}.*"), ("columns", "{}.*input-0: ")],
)
def test_a_full_disk_is_told(graph, told, tmp_path):
    folder, scratch_folder = tmp_path / "graph", tmp_path / "scratch"
    scratch_folder.mkdir()
    folder.mkdir()
    for name in "uvw":
        np.save(folder / f"{name}.npy", np.random.default_rng(ord(name)).permutation(40_000))
    program = f"""
import resource
import dask, mstflow
graph = {str(folder)!r} if {graph == "folder"} else mstflow.read({str(folder)!r})
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))  # of the workers, too
dask.config.set({{"temporary-directory": {str(scratch_folder)!r}}})
try:
    mstflow.minimum_spanning_forest(graph, scheduler="processes", partitions=2, threads=1)
except mstflow.errors.MstflowError as error:
    print(error)
"""
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    reason = told.format(re.escape(str(scratch_folder))) + "(File too large|.* requested and .*)"
    assert re.match(reason, run.stdout), run.stdout
    assert list(scratch_folder.iterdir()) == []
