"""Schedulers: arrays stay on the workers, errors name the cause, and no files or results remain."""

import contextlib
import gc
import itertools
import multiprocessing
import multiprocessing.spawn
import os
import re
import sys
import threading
import time
import types
import weakref
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import resource_tracker

import dask
import numpy as np
import pytest
from distributed import Future

import mstflow
from graph_files import save_columns
from local_clusters import workers_with_backends
from mstflow import EdgeList, Loop, Pipeline, stage
from mstflow.errors import OptionError, PipelineError, WorkerError
from mstflow.graphs.source import EdgeSource
from mstflow.pipeline.schedulers.dask_schedulers import Cluster, LocalDask
from mstflow.pipeline.schedulers.opening import open_scheduler
from mstflow.pipeline.schedulers.processes import local_cluster
from mstflow.pipeline.schedulers.scheduler import Inline, worker_backend
from mstflow.primitives import Backend
from mstflow.runtime.scratch import LOCK, scratch_folder
from mstflow.stages.fields import Chosen, Count, Edges, Verdict
from processes import run_python
from scanning import scan
from waiting import PATIENCE, wait_until

RANDOM = np.random.default_rng(5)
GRAPH = (*RANDOM.integers(0, 3000, (2, 20000)), RANDOM.random(20000))


@stage(writes="forest", combine="concatenation")
def fail(edges: Edges) -> Chosen:
    raise RuntimeError("broken on purpose")


@pytest.mark.parametrize("scheduler", ["threads", "distributed"])
def test_only_verdicts_are_fetched_between_rounds(scheduler, request, monkeypatch):
    fetched = []

    def spy(gather):
        def called(self, *arguments):
            results = gather(self, *arguments)
            values = [value for result in results for value in result]
            fetched.append(sum(getattr(value, "nbytes", 0) for value in values))
            return results

        return called

    for scheduler_class in (LocalDask, Cluster):
        monkeypatch.setattr(scheduler_class, "gather", spy(scheduler_class.gather))
    where = request.getfixturevalue("cluster") if scheduler == "distributed" else scheduler
    forest = mstflow.minimum_spanning_forest(
        GRAPH, algorithm="boruvka-edgelist", scheduler=where, strategy="iterate", partitions=3
    )
    rounds = len(forest.report.rounds)
    assert len(fetched) == rounds + 1  # before each round, and the result
    assert max(fetched[:-1]) == 0
    assert fetched[-1] <= forest.edge_ids.nbytes


@pytest.mark.parametrize(
    ("scheduler", "strategy"),
    [*itertools.product(["inline", "threads", "distributed"], ["tree", "iterate"]),
     ("processes", "tree")],
)  # fmt: skip
def test_no_files_or_results_remain(scheduler, strategy, request, tmp_path):
    where = request.getfixturevalue("cluster") if scheduler == "distributed" else scheduler
    options = {"scheduler": where, "strategy": strategy, "partitions": 3}
    known = set(where.futures) if scheduler == "distributed" else set()  # of earlier tests
    with dask.config.set({"temporary-directory": str(tmp_path)}):
        mstflow.minimum_spanning_forest(GRAPH, **options)
        with pytest.raises(PipelineError, match=r"stage 'fail' failed on edges: \(u: .*on purpose"):
            mstflow.minimum_spanning_forest(GRAPH, algorithm=Pipeline("p", fail), **options)
    assert list(tmp_path.iterdir()) == []
    if scheduler == "distributed":
        # A client releases results in another thread.
        wait_until(lambda: known.issuperset(where.futures), lambda: set(where.futures) - known)


@stage(writes="forest", combine="concatenation")
def fail_with_a_lock(edges: Edges) -> Chosen:
    error = RuntimeError("held a lock")
    error.lock = threading.Lock()
    raise error


@stage(writes="forest", combine="concatenation")
def end_the_process(edges: Edges) -> Chosen:
    os._exit(3)


def test_errors_reach_the_caller_complete():
    pipeline = Pipeline("p", fail_with_a_lock)
    with pytest.raises(PipelineError, match=r"stage 'fail_with_a_lock' failed .* held a lock"):
        mstflow.minimum_spanning_forest(GRAPH, algorithm=pipeline, scheduler="processes", threads=1)


def test_tasks_that_workers_cannot_load_are_errors(cluster, monkeypatch):
    module = types.ModuleType("only_here")
    monkeypatch.setitem(sys.modules, "only_here", module)
    exec("class Secret: pass", vars(module))
    secret = module.Secret

    @stage(writes="forest", combine="concatenation")
    def need_the_secret(edges: Edges) -> Chosen:
        return secret

    pipeline = Pipeline("p", need_the_secret)
    with pytest.raises(WorkerError, match=r"a worker cannot load the task .*No module named"):
        mstflow.minimum_spanning_forest(
            GRAPH, algorithm=pipeline, scheduler=cluster, partitions=2, threads=1
        )


def test_a_dead_worker_is_an_error():
    pipeline = Pipeline("p", end_the_process)
    with pytest.raises(WorkerError, match="a worker died"):
        mstflow.minimum_spanning_forest(GRAPH, algorithm=pipeline, scheduler="processes", threads=1)


def test_a_cluster_whose_workers_have_all_ended_is_an_error(tmp_path):
    with contextlib.ExitStack() as stack:
        client = local_cluster(1, str(tmp_path), stack, no_workers_seconds=1)
        client.cluster.scale(0)
        wait_until(lambda: not client.nthreads())
        with pytest.raises(WorkerError, match=r"^all workers have ended: .* after 1"):
            mstflow.minimum_spanning_forest(GRAPH, scheduler=client, partitions=2)


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
    done = run_python("-c", program)
    assert (done.stdout, done.stderr) == ("4\n", "")


def test_progress_of_concurrent_solves():
    def solve(_):
        seen = []
        mstflow.minimum_spanning_forest(
            GRAPH, scheduler="threads", partitions=5, progress=lambda *step: seen.append(step[1:])
        )
        return seen

    with ThreadPoolExecutor(4) as pool:
        runs = list(map(tuple, pool.map(solve, range(8))))
    assert set(runs) == {runs[0]}
    tasks = [done for done, _ in runs[0][:-1]]  # the last says that all is done
    assert tasks == list(range(1, len(tasks) + 1))


def test_progress_of_a_tree_on_a_cluster(cluster):
    seen = []
    mstflow.minimum_spanning_forest(
        GRAPH,
        scheduler=cluster,
        strategy="tree",
        partitions=3,
        progress=lambda *step: seen.append(step),
    )
    tasks = [step for step in seen if step[0] != "done"]
    assert [done for _, done, _ in tasks] == list(range(1, len(tasks) + 1))
    names = [name for name, *_ in tasks]
    assert (names.count("scan_partition"), names.count("merge_forests")) == (3, 1)


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
    assert sorted(step for step, *_ in seen[:-1]) == sorted(calls)  # as they end
    done = [done for _, done, _ in seen]
    assert done == sorted(done)


@pytest.mark.parametrize("address", ["tcp://", "foo://x", "tcp://host"])
def test_invalid_addresses(address):
    with pytest.raises(OptionError, match="is not the address of a scheduler"):
        mstflow.minimum_spanning_forest(GRAPH, scheduler=address)


def test_a_scratch_folder_that_cannot_be_created(tmp_path):
    missing = dask.config.set({"temporary-directory": str(tmp_path / "missing")})
    with missing, pytest.raises(OptionError, match="cannot create a temporary folder in"):
        mstflow.minimum_spanning_forest(GRAPH, scheduler="processes")


def test_inputs_may_be_read_only_memory_maps(tmp_path):
    graph = mstflow.read(save_columns(tmp_path, *GRAPH))
    assert not graph.u.flags.writeable
    expected = mstflow.minimum_spanning_forest(GRAPH).edge_ids
    for scheduler in ("inline", "threads", "processes"):
        forest = mstflow.minimum_spanning_forest(graph, scheduler=scheduler, partitions=2)
        assert np.array_equal(forest.edge_ids, expected)


def test_workers_may_have_different_backends():
    names, given = ["numba", "numpy"], Backend("numpy", 3)
    with workers_with_backends(*names) as client:
        found = [
            client.submit(worker_backend, given, workers=[name], pure=False).result()
            for name in names
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
def test_failed_tasks_are_retried(strategy, cluster, tmp_path):
    mark = tmp_path / "it failed once"

    @stage(writes="whole_edges")
    def fail_once(whole_edges: Edges) -> Edges:
        if not mark.exists():
            mark.touch()
            raise OSError("the network is down")
        return whole_edges

    pipeline = mstflow.algorithm("kruskal").insert_before("join_by_weight", fail_once)
    options = {"algorithm": pipeline, "scheduler": cluster, "strategy": strategy, "partitions": 3}
    with pytest.raises(PipelineError, match="the network is down"):
        mstflow.minimum_spanning_forest(GRAPH, **options)
    mark.unlink()
    with dask.annotate(retries=3):
        forest = mstflow.minimum_spanning_forest(GRAPH, **options)
    assert mark.exists()
    assert np.array_equal(forest.edge_ids, mstflow.minimum_spanning_forest(GRAPH).edge_ids)


class Recorder(Inline):
    """An inline scheduler that keeps the names of the tasks, and lets `before` see each."""

    def __init__(self, before=lambda task: None, after=lambda task, result: None):
        super().__init__()
        self.before, self.after = before, after

    def submit(self, function, *handles, **options):
        self.before(function)
        result = super().submit(function, *handles, **options)
        self.after(function, result)
        return result


def test_merges_come_before_later_leaves():
    waiting, most = 0, 0

    def count(task):
        nonlocal waiting, most
        if task.stage.name in ("scan_partition", "merge_forests"):
            waiting += 1 - len(task.fields.get("parts", ()))
            most = max(most, waiting)

    mstflow.minimum_spanning_forest(
        GRAPH, scheduler=Recorder(count), strategy="tree", partitions=27, split_every=3
    )
    assert waiting == 1
    assert most <= 3 * (3 - 1) + 1  # two wait at each of three levels, and one is new


def test_fields_that_no_later_stage_needs_are_dropped_at_once():
    light, left = [], []

    def before(task):
        if task.stage.name == "relabel_edges" and "labels" in task.stage.reads:
            left.extend(edges() for edges in light)

    def after(task, result):
        if task.stage.name == "select_light_edges":
            light.extend(map(weakref.ref, result[0]))

    gc.disable()  # which would find what only refers to itself, but later
    try:
        mstflow.minimum_spanning_forest(
            GRAPH,
            algorithm=mstflow.algorithm("filter-boruvka").given(small=0),
            scheduler=Recorder(before, after),
        )
    finally:
        gc.enable()
    assert left
    assert all(edges is None for edges in left)


def test_a_full_disk_is_an_error_that_names_the_file(tmp_path):
    columns = np.random.default_rng(0).permuted(np.tile(np.arange(40_000), (3, 1)), axis=1)
    folder, scratch = save_columns(tmp_path / "graph", *columns), tmp_path / "scratch"
    scratch.mkdir()
    program = f"""
import resource
import dask, mstflow
graph = mstflow.read({str(folder)!r})
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))  # of the workers, too
dask.config.set({{"temporary-directory": {str(scratch)!r}}})
try:
    mstflow.minimum_spanning_forest(graph, scheduler="processes", partitions=2, threads=1)
except mstflow.errors.MstflowError as error:
    print(error)
"""
    printed = run_python("-c", program, check=True).stdout
    reason = f"{re.escape(str(scratch))}.*input-0-0: (File too large|.* requested and .*)"
    assert re.match(reason, printed), printed
    assert list(scratch.iterdir()) == []


@stage(writes="i")
def begin() -> Count:
    return 0


@stage(writes="i")
def go_on(i: Count) -> Count:
    return i + 1


@stage(writes="sum", combine="sum")
def count_in_partitions(edges: Edges, i: Count) -> Count:
    return i


@stage(writes="is_last")
def is_last(i: Count) -> Verdict:
    return i >= 25


def test_reports_have_every_task(cluster):
    steps = begin, Loop(go_on, count_in_partitions, until=is_last)
    options = {"scheduler": cluster, "partitions": 40}
    _, report = Pipeline("p", *steps, result=("i",)).run(GRAPH, **options)
    assert len(report.calls) > 1000  # a cluster keeps a limited number of events of each topic
    assert report.final["i"] == 25
    assert report.final["sum"] == 40 * 25


def solve_on_the_cluster_of_this_task():
    from distributed import get_client

    client = get_client()
    forest = mstflow.minimum_spanning_forest(GRAPH, scheduler="dask", partitions=3)
    return client.scheduler.address in forest.report.plan.scheduler, forest.edge_ids


def test_runs_within_all_threads_of_a_cluster_end(cluster):
    expected = mstflow.minimum_spanning_forest(GRAPH).edge_ids
    runs = [
        cluster.submit(solve_on_the_cluster_of_this_task, pure=False)
        for _ in range(sum(cluster.nthreads().values()))
    ]
    for run in runs:
        is_on_cluster, edge_ids = run.result(PATIENCE)
        assert is_on_cluster
        assert np.array_equal(edge_ids, expected)


def test_a_result_that_another_thread_deletes_is_not_waited_for(cluster, monkeypatch):
    is_released, is_gathered = threading.Event(), threading.Event()
    release = Future.release

    def release_slowly(future):
        release(future)
        if threading.current_thread() is deleting:
            is_released.set()
            assert is_gathered.wait(PATIENCE)

    with open_scheduler(cluster, None) as scheduler:
        handles = [scheduler.submit(int, key="deleted")]
        deleting = threading.Thread(target=handles.clear)
        monkeypatch.setattr(Future, "release", release_slowly)
        deleting.start()
        assert is_released.wait(PATIENCE)
        time.sleep(0.1)  # the client's loop cancels the released future
        kept = scheduler.submit(int, key="kept")
        try:
            assert scheduler.gather([kept]) == [0]
        finally:
            is_gathered.set()
            deleting.join()


def without_times(report):
    """Return the counts of a report, without the milliseconds of reading, which differ."""
    return [
        {name: count for name, count in counts.items() if name != "read_ms"}
        for counts in (*report.counts.values(), report.final)
    ]


@pytest.mark.parametrize("scheduler", ["threads", "distributed"])
def test_an_open_scheduler_serves_several_runs(scheduler, request, monkeypatch):
    """Dask returns the result of an earlier task that is alive and has the same key."""
    where = request.getfixturevalue("cluster") if scheduler == "distributed" else scheduler
    opened = LocalDask if scheduler == "threads" else Cluster
    alive, submit = [], opened.submit

    def submit_and_keep(self, *arguments, **options):
        alive.append(submit(self, *arguments, **options))
        return alive[-1]

    monkeypatch.setattr(opened, "submit", submit_and_keep)
    u, v, weight = GRAPH
    with open_scheduler(where, None) as scheduler:
        for graph in (EdgeList(u, v, weight), EdgeList(v, u // 2, weight[::-1].copy())):
            source, options = EdgeSource.of(graph), {"capacity": 9000, "can_rescan": False}
            for strategy in ("scan", "iterate"):
                options["strategy"] = strategy
                expected, known = scan(source, [8000], **options)
                found, report = scan(source, [8000], scheduler=scheduler, **options)
                assert np.array_equal(found, expected)
                assert without_times(report) == without_times(known)
                assert [call[:3] for call in report.calls] == [call[:3] for call in known.calls]
    names = {handle.result.key.partition("-")[0] for handle in alive}
    assert {"scan_partition", "load_forest"} < names  # dashboards group tasks by their stages


def test_a_daemonic_process_cannot_start_processes(monkeypatch):
    monkeypatch.setitem(multiprocessing.current_process()._config, "daemon", True)
    with pytest.raises(OptionError, match=r"in a daemonic process.*; choose 'inline' or 'threads'"):
        mstflow.minimum_spanning_forest(GRAPH, scheduler="processes")


KILLED_RUN = """
import os, signal, sys
import mstflow
def kill(step, done, total):
    os.kill(os.getpid(), signal.SIGKILL)
if __name__ == "__main__":
    mstflow.minimum_spanning_forest(([0], [1]), scheduler="processes", threads=1, progress=kill)
"""


def test_the_folder_of_a_killed_run_is_removed_by_the_next(tmp_path):
    pytest.importorskip("fcntl")
    run_python("-c", KILLED_RUN, variables={"DASK_TEMPORARY_DIRECTORY": str(tmp_path)})
    (left,) = tmp_path.iterdir()
    with scratch_folder(str(tmp_path)) as folder:
        assert [str(path) for path in tmp_path.iterdir()] == [folder]
        assert folder != str(left)


def test_folders_that_may_be_in_use_are_kept(tmp_path):
    with scratch_folder(str(tmp_path)) as folder:
        own = os.path.basename(folder).rpartition("-")[0]
        (tmp_path / f"{own}-unlocked").mkdir()
        (tmp_path / "mstflow-another_host-x").mkdir()
        (tmp_path / "mstflow-another_host-x" / LOCK).touch()
        locked = f"""
from mstflow.runtime.scratch import scratch_folder
with scratch_folder({str(tmp_path)!r}):
    pass
"""
        run_python("-c", locked, check=True)
        assert len(list(tmp_path.iterdir())) == 3
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("program", ["exit 3", "exec sleep 60"])
def test_worker_processes_that_do_not_start_are_an_error(tmp_path, monkeypatch, program):
    resource_tracker.ensure_running()  # before its executable is replaced, too
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n{program}\n")
    python.chmod(0o755)
    monkeypatch.setattr(multiprocessing.spawn, "_python_exe", os.fsencode(python))
    message = r"1 worker processes did not start within 1 s .*; choose scheduler 'threads' or"
    with contextlib.ExitStack() as stack, pytest.raises(WorkerError, match=message):
        local_cluster(1, str(tmp_path), stack, start_seconds=1)


REFUSED = """
import sys
import mstflow
if __name__ == "__main__":
    graph = [0, 1], [1, 2], [1.0, 2.0]
    try:
        mstflow.minimum_spanning_forest(graph, scheduler="processes", threads=2, memory=1)
    except mstflow.errors.MemoryBoundError:
        assert "distributed" not in sys.modules
    else:
        raise AssertionError
"""


def test_a_refused_run_starts_no_workers(tmp_path):
    (tmp_path / "program.py").write_text(REFUSED)
    done = run_python(tmp_path / "program.py")
    assert (done.returncode, done.stderr) == (0, "")


UNGUARDED = """
import mstflow
print("start", flush=True)
if mstflow.__name__ != "__main__":
    mstflow.minimum_spanning_forest(([0], [1], [1.0]), scheduler="processes", threads=2)
"""


def test_a_program_without_a_guard_gets_one_error(tmp_path):
    (tmp_path / "program.py").write_text(UNGUARDED)
    done = run_python(tmp_path / "program.py")
    assert done.returncode == 1
    assert done.stderr.count("Traceback") == 1
    message = r"WorkerError: worker processes import .* below `if __name__ == \"__main__\":`$"
    assert re.match(message, done.stderr.splitlines()[-1].removeprefix("mstflow.errors."))


def test_a_program_with_a_guard_may_start_workers_in_a_process(tmp_path):
    program = """
import multiprocessing, mstflow

def solve(queue):
    forest = mstflow.minimum_spanning_forest(([0], [1], [1.0]), scheduler="processes", threads=1)
    queue.put(forest.total_weight)

if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=solve, args=(queue,))
    process.start()
    print(queue.get(timeout=600))
    process.join()
"""
    (tmp_path / "program.py").write_text(program)
    done = run_python(tmp_path / "program.py")
    assert (done.returncode, done.stdout, done.stderr) == (0, "1.0\n", "")


def test_a_cluster_that_does_not_close_in_time_loses_no_result(monkeypatch):
    from distributed import LocalCluster

    close = LocalCluster.close

    def close_late(self, timeout=None):
        close(self, timeout)
        raise TimeoutError

    monkeypatch.setattr(LocalCluster, "close", close_late)
    forest = mstflow.minimum_spanning_forest(GRAPH, scheduler="processes", threads=1)
    assert forest.edge_ids.tolist() == mstflow.minimum_spanning_forest(GRAPH).edge_ids.tolist()


def test_other_names_of_a_cluster(cluster, new_york):
    address = cluster.scheduler.address
    by_address = mstflow.minimum_spanning_forest(new_york, scheduler=address)
    assert (by_address.scheduler, by_address.strategy, by_address.partitions) == (
        f"distributed ({address})", "whole", 1,
    )  # fmt: skip
    with cluster.as_current():
        by_dask = mstflow.minimum_spanning_forest(new_york, scheduler="dask", partitions=3)
    assert by_dask.scheduler == f"distributed ({address})"
    assert np.array_equal(by_address.edge_ids, by_dask.edge_ids)


@pytest.mark.parametrize(("name", "scheduler"), [(None, "threads"), ("sync", "synchronous")])
def test_dask_without_a_cluster_follows_its_configuration(new_york, name, scheduler):
    with dask.config.set({"scheduler": name} if name else {}):
        forest = mstflow.minimum_spanning_forest(new_york, scheduler="dask", partitions=2)
    assert forest.scheduler.split()[0] == scheduler
    assert forest.total_weight == 261159288
