"""Clusters without a shared folder, without workers at first, and with too little memory."""

import mmap
import os
import shutil
import subprocess
import sys
from collections import Counter

import dask
import numpy as np
import pandas
import pytest
from dask import dataframe

import mstflow
from graph_files import save_columns
from local_clusters import local_workers
from mstflow import stage
from mstflow.doors.file_checks import FileState, check_state, with_sample
from mstflow.errors import FileFormatError, GraphError, OptionError, WorkerError
from mstflow.pipeline.catalogue.names import request_for
from mstflow.pipeline.planning.plan import plan
from mstflow.pipeline.planning.situation import Situation
from mstflow.pipeline.schedulers.scheduler import Workers
from mstflow.pipeline.streaming.facts import GraphFacts
from mstflow.runtime import memory
from mstflow.stages.fields import Edges
from waiting import PATIENCE, wait_until

RANDOM = np.random.default_rng(8)
N, M = 900, 9000
GRAPH = (*RANDOM.integers(0, N, (2, M)), RANDOM.random(M))
EXPECTED = mstflow.minimum_spanning_forest(GRAPH, num_vertices=N).edge_ids


@pytest.fixture(scope="module")
def isolated(tmp_path_factory):
    """Yield a client of one worker in its own mount namespace, and three folders.

    The worker has a copy of the first folder, and sees the second one empty. It shares the third.
    """
    base = tmp_path_factory.mktemp("isolated")
    folders = copied, hidden, shared = [base / name for name in ("copied", "hidden", "shared")]
    for folder in folders:
        folder.mkdir()
    graph = save_columns(copied / "graph", *GRAPH)
    shutil.copytree(graph, base / "copy")  # with the times
    mounts = f"mount --bind {base / 'copy'} {graph} && mount -t tmpfs none {hidden}"
    space = ["unshare", "--mount", "--map-root-user", "sh", "-c"]
    if shutil.which("unshare") is None or subprocess.run([*space, mounts], check=False).returncode:
        pytest.skip("needs unprivileged mount namespaces")
    with local_workers(0) as client:
        worker = f"{sys.executable} -m distributed.cli.dask_worker {client.scheduler.address}"
        worker += " --nthreads 1 --no-nanny --no-dashboard"
        process = subprocess.Popen([*space, f"{mounts} && exec {worker}"], cwd=shared)
        try:
            client.wait_for_workers(1, PATIENCE)
            yield client, copied / "graph", hidden, shared
        finally:
            process.terminate()
            process.wait()


@pytest.mark.parametrize("strategy", ["two-scan", "iterate"])
def test_a_copy_of_a_file_is_the_file(isolated, strategy):
    client, graph, *_ = isolated
    forest = mstflow.minimum_spanning_forest(
        graph, scheduler=client, partitions=3, strategy=strategy
    )
    assert np.array_equal(forest.edge_ids, EXPECTED)


@pytest.mark.parametrize("strategy", ["tree", "two-scan", "iterate"])
def test_arrays_need_no_common_folder(isolated, strategy):
    client, _, hidden, _ = isolated
    with dask.config.set({"temporary-directory": str(hidden)}):
        forest = mstflow.minimum_spanning_forest(
            GRAPH, num_vertices=N, scheduler=client, partitions=3, strategy=strategy
        )
    assert np.array_equal(forest.edge_ids, EXPECTED)


def test_hidden_files_are_named_with_what_to_share(isolated):
    client, _, hidden, _ = isolated
    graph = save_columns(hidden / "graph", *GRAPH)
    message = r"u\.npy: No such file.* \(on worker tcp.*; all workers must see .* a shared folder"
    with pytest.raises(FileFormatError, match=message):
        mstflow.minimum_spanning_forest(graph, scheduler=client, strategy="tree")


def test_a_checkpoint_is_probed_before_the_first_scan(isolated):
    client, graph, hidden, shared = isolated
    options = {"scheduler": client, "strategy": "tree", "partitions": 3}
    tasks = len(client.get_task_stream())
    with pytest.raises(OptionError, match=r"cannot use the checkpoint: No such .* \(on worker tcp"):
        mstflow.minimum_spanning_forest(graph, checkpoint=hidden / "kept", **options)
    assert len(client.get_task_stream()) == tasks
    kept = shared / "kept"
    for _ in range(2):
        forest = mstflow.minimum_spanning_forest(graph, checkpoint=kept, **options)
        assert np.array_equal(forest.edge_ids, EXPECTED)


@pytest.mark.parametrize("harm", ["size", "time", "bytes"])
def test_another_file_on_another_host_is_refused(tmp_path, harm):
    path = tmp_path / "file"
    path.write_bytes(bytes(5000))
    known = with_sample(path, FileState.of(path))._replace(host="another", inode=1, changed_ns=1)
    check_state(path, known)
    path.write_bytes(bytes(4999 if harm == "size" else 5000) if harm != "bytes" else b"x" * 5000)
    if harm != "time":
        os.utime(path, ns=(known.modified_ns, known.modified_ns))
    else:
        os.utime(path, (1, 1))
    message = "has (4,999 bytes instead|another modification time|other bytes)|changed while"
    with pytest.raises(FileFormatError, match=message):
        check_state(path, known)
    known = with_sample(path, FileState.of(path))._replace(host="a third", sample="of other bytes")
    with pytest.raises(FileFormatError, match="has other bytes; use a shared folder, or copies"):
        check_state(path, known)


def test_a_plan_waits_for_the_first_worker():
    with local_workers(0) as client:
        client.cluster.adapt(minimum=0, maximum=2, interval="100ms", wait_count=6000)
        forest = mstflow.minimum_spanning_forest(GRAPH, num_vertices=N, scheduler=client)
        assert forest.report.plan.memory is None or forest.partitions >= 1
        assert client.nthreads()
        assert np.array_equal(forest.edge_ids, EXPECTED)


@stage(writes="whole_edges")
def die(whole_edges: Edges) -> Edges:
    os._exit(3)


def test_arrays_that_a_dead_worker_had_are_lost():
    dying = mstflow.algorithm("kruskal").insert_before("join_by_weight", die)
    with (
        local_workers(2) as client,
        pytest.raises(WorkerError, match=r"results were lost: a worker died that had edges of the"),
    ):
        mstflow.minimum_spanning_forest(
            GRAPH, algorithm=dying, scheduler=client, strategy="iterate", partitions=4
        )


def plan_on_workers(worker_memory, **options):
    graph = GraphFacts(20_000_000, 80_000_000, is_in_memory=True)
    workers = Workers("distributed", 4, 1, True, False, worker_memory)
    return plan(Situation(request_for("filter-kruskal", **options), graph, workers, "numba"))


def test_plans_fit_the_workers():
    chosen = plan_on_workers(10**12)
    assert str(chosen).startswith("iterate: the workers can hold all edges, on distributed")
    assert chosen.partitions == 4
    assert plan_on_workers(10**12, checkpoint="kept").strategy == "scan"
    changed = plan_on_workers(3 * 10**9)
    assert changed.strategy == "scan"
    assert changed.rescans
    assert changed.memory <= 2_400_000_000
    with pytest.raises(
        WorkerError, match=r"'scan' needs .* GB, but the smallest worker has 800 MB"
    ):
        plan_on_workers(10**9, strategy="tree")
    roomy = plan_on_workers(10**10, strategy="iterate")
    assert not roomy.holds_forests
    with pytest.raises(WorkerError, match=r"'iterate' needs .* GB, but the smallest worker has"):
        plan_on_workers(18 * 10**8, strategy="iterate")
    lowered = plan_on_workers(3 * 10**9, strategy="two-scan", memory="9GB")
    assert "memory= is lowered to 2.4 GB" in lowered.reason
    assert lowered.memory <= 2_400_000_000


def test_a_checkpoint_keeps_its_partitions(cluster, tmp_path):
    graph = save_columns(tmp_path / "graph", *GRAPH)
    options = {"strategy": "tree", "checkpoint": tmp_path / "kept"}
    mstflow.minimum_spanning_forest(graph, partitions=5, **options)
    forest = mstflow.minimum_spanning_forest(graph, scheduler=cluster, **options)
    assert forest.partitions == 5
    with pytest.raises(OptionError, match="of another run: partitions differ"):
        mstflow.minimum_spanning_forest(graph, partitions=3, **options)


@pytest.mark.parametrize("kind", ["strings", "integers"])
@pytest.mark.parametrize("form", ["delayed", "a table", "persisted"])
def test_workers_number_names(cluster, kind, form, tmp_path):
    u, v, weight = GRAPH
    names = np.array([f"n{i}" * (i % 4) + f"é{i}" for i in range(N)], object)
    left, right = (names[u], names[v]) if kind == "strings" else (u * 10**15 - 7, v * 10**15 - 7)
    table = pandas.DataFrame({"l": left, "r": right, "weight": weight})
    expected = mstflow.minimum_spanning_forest(table, ends=("l", "r"))
    pids = tmp_path / "pids"
    pids.mkdir()

    def piece(start):
        (pids / f"{os.getpid()}-{start}").touch()
        return table[start : start + 2000]

    chunks = [dask.delayed(piece)(start) for start in range(0, M + 2000, 2000)]  # the last is empty
    if form == "persisted":
        chunks = cluster.persist(chunks)
    graph = dataframe.from_delayed(chunks, meta=table[:0]) if form == "a table" else chunks
    forest = mstflow.minimum_spanning_forest(graph, ends=("l", "r"), scheduler=cluster)
    assert np.array_equal(forest.edge_ids, expected.edge_ids)
    assert forest.names.values.equals(expected.names.values)
    assert forest.total_weight == expected.total_weight
    assert not list(pids.glob(f"{os.getpid()}-*"))


def test_names_of_two_kinds_are_refused_by_workers(cluster):
    chunks = [pandas.DataFrame({"l": [a], "r": [b]}) for a, b in ((1, 2), ("a", "b"), (None, 1))]
    for at, message in ((1, "all be strings or all integers"), (2, "^chunk 1: edge 0: column 'l'")):
        graph = [dask.delayed(chunks[0]), dask.delayed(chunks[at])]
        with pytest.raises(GraphError, match=message):
            mstflow.minimum_spanning_forest(graph, ends=("l", "r"), scheduler=cluster)


@pytest.mark.parametrize("strategy", ["two-scan", "tree"])
def test_total_weight_computes_no_chunk_again(cluster, strategy, tmp_path):
    log = tmp_path / "log"

    def piece(start):
        with log.open("a") as file:
            file.write(".")
        return tuple(column[start : start + 3000] for column in GRAPH)

    chunks = [dask.delayed(piece)(start) for start in range(0, M, 3000)]
    options = {"scheduler": cluster, "strategy": strategy, "num_vertices": N}
    forest = mstflow.minimum_spanning_forest(chunks, **options)
    computed = len(log.read_text())
    assert forest.total_weight == mstflow.minimum_spanning_forest(GRAPH).total_weight
    assert np.array_equal(forest.weight, GRAPH[2][EXPECTED])
    assert len(log.read_text()) == computed
    assert np.array_equal(forest.u, GRAPH[0][EXPECTED])
    assert "persist them first" in str(forest.report.plan)
    persisted = cluster.persist(chunks)
    known = mstflow.minimum_spanning_forest(persisted, **options)
    assert "persist" not in str(known.report.plan)
    assert len(log.read_text()) == computed + 2 * len(chunks)


def test_idle_workers_share_the_scans():
    """Dask, which steals tasks from a slow worker, could repair an unequal share."""
    no_stealing = dask.config.set({"distributed.scheduler.work-stealing": False})
    with no_stealing, local_workers(3) as client:
        recorded = len(client.get_task_stream())  # records tasks from now on
        options = {"scheduler": client, "strategy": "two-scan", "partitions": 6}
        for _ in range(3):
            mstflow.minimum_spanning_forest(GRAPH, num_vertices=N, **options)
            # By position, because the workers' clocks differ from the client's.
            tasks = client.get_task_stream()[recorded:]
            recorded += len(tasks)
            scans = [each["worker"] for each in tasks if each["key"].startswith("scan_partition")]
            assert list(Counter(scans).values()) == [4, 4, 4]


def kept_bytes():
    """Return the bytes that this process keeps for the next task."""
    pool = memory.pool()
    return pool.kept if pool.mapping is not None else 0


@pytest.mark.skipif(not hasattr(mmap, "MADV_FREE"), reason="the system takes no idle memory")
@pytest.mark.parametrize("strategy", ["iterate", "exchange"])
def test_a_worker_keeps_freed_memory_for_its_next_task(strategy, tmp_path):
    ends = RANDOM.integers(0, 2**16, (2, 2**20), np.int32)
    graph = save_columns(tmp_path / "graph", *ends, ends[0].astype(np.float32))
    with local_workers(1) as client:
        for _ in range(3):
            mstflow.minimum_spanning_forest(
                graph, scheduler=client, strategy=strategy, num_vertices=2**16
            )
        (kept,) = client.run(kept_bytes).values()
    assert kept >= 2**22


def test_a_run_that_has_lost_all_workers_ends(tmp_path):
    @stage(writes="edges")
    def die_together(edges: Edges) -> Edges:
        (tmp_path / str(os.getpid())).touch()
        wait_until(lambda: len(list(tmp_path.iterdir())) >= 2)
        os._exit(3)

    dying = mstflow.algorithm("kruskal").insert_before("concatenate_edges", die_together)
    graph = save_columns(tmp_path.parent / "graph", *GRAPH)
    with local_workers(2) as client, pytest.raises(WorkerError, match="a worker died"):
        mstflow.minimum_spanning_forest(
            graph, algorithm=dying, scheduler=client, strategy="iterate", partitions=2
        )
