"""Clusters that fail or do not start: lost schedulers, other versions, and what a run waits for."""

import asyncio
import contextlib
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import dask
import numpy as np
import pytest
from distributed import Client, LocalCluster

import mstflow
from local_clusters import local_workers
from mstflow import stage
from mstflow.errors import GraphError, OptionError, WorkerError
from mstflow.pipeline.schedulers.dask_schedulers import Cluster
from mstflow.stages.fields import Edges
from processes import run_python
from waiting import PATIENCE, wait_until

RANDOM = np.random.default_rng(6)
GRAPH = (*RANDOM.integers(0, 300, (2, 3000)), RANDOM.random(3000))
EXPECTED = mstflow.minimum_spanning_forest(GRAPH).edge_ids


class InterruptedOnPurposeError(Exception):
    pass


@stage(writes="whole_edges")
def sleep(whole_edges: Edges) -> Edges:
    import time

    time.sleep(600)
    return whole_edges


SLEEPING = mstflow.algorithm("kruskal").insert_before("join_by_weight", sleep)


def after_start(client, function):
    """Call a function in a thread when a task of the client is running."""

    def call():
        wait_until(lambda: any(client.processing().values()))
        function()

    thread = threading.Thread(target=call)
    thread.start()
    return thread


def connected(file):
    """Return a client that gives a lost scheduler up after a few seconds."""
    while True:
        with contextlib.suppress(OSError):  # a scheduler may take longer to answer at first
            return Client(scheduler_file=file, set_as_default=False, timeout="5s")


@pytest.mark.parametrize("lost", ["client", "scheduler"])
def test_a_lost_scheduler_is_not_a_lost_worker(tmp_path, lost):
    file = ["--scheduler-file", str(tmp_path / "scheduler.json")]
    python = [sys.executable, "-m"]
    scheduler = [*python, "distributed.cli.dask_scheduler", *file, "--port", "0", "--no-dashboard"]
    worker = [*python, "distributed.cli.dask_worker", *file, "--nthreads", "1", "--no-nanny"]
    with contextlib.ExitStack() as stack:
        processes = [stack.enter_context(subprocess.Popen(each)) for each in (scheduler, worker)]
        for process in processes:
            stack.callback(process.kill)
        client = connected(file[1])
        client.wait_for_workers(1, PATIENCE)
        thread = after_start(client, client.close if lost == "client" else processes[0].kill)
        with pytest.raises(WorkerError, match="the client was closed, or lost its scheduler"):
            mstflow.minimum_spanning_forest(GRAPH, algorithm=SLEEPING, scheduler=client)
        thread.join()
        client.close()
        with pytest.raises(OptionError, match="the client is closed, not running"):
            mstflow.minimum_spanning_forest(GRAPH, scheduler=client)


def test_a_worker_that_dies_while_it_receives_arrays():
    with local_workers(1) as client:
        scheduler = Cluster(lambda: client, "a cluster")
        client.cluster.scale(0)
        wait_until(lambda: not client.nthreads())
        with (
            dask.config.set({"distributed.comm.timeouts.connect": "1s"}),
            pytest.raises(WorkerError, match="a worker died while it received data"),
        ):
            scheduler.send(GRAPH[0])


def test_an_asynchronous_client_is_refused():
    async def call():
        async with (
            LocalCluster(n_workers=0, asynchronous=True, dashboard_address=":0") as cluster,
            Client(cluster, asynchronous=True, set_as_default=False) as client,
        ):
            mstflow.minimum_spanning_forest(GRAPH, scheduler=client)

    with pytest.raises(OptionError, match="the client is asynchronous"):
        asyncio.run(call())


def set_version(version):
    import mstflow

    mstflow.__version__ = version


def test_another_version_on_a_worker_is_refused():
    message = rf"a worker has mstflow 0\.0\.9, but the caller has {mstflow.__version__}; .*tcp"
    with local_workers(1) as client:
        client.run(set_version, "0.0.9")
        with pytest.raises(WorkerError, match=message):
            mstflow.minimum_spanning_forest(GRAPH, scheduler=client)
        client.run(set_version, mstflow.__version__)
        forest = mstflow.minimum_spanning_forest(GRAPH, scheduler=client)
        assert np.array_equal(forest.edge_ids, EXPECTED)


def own_topics(client):
    """Return the topics of a scheduler that are not its own, such as those of stolen tasks."""
    return {topic for topic in client.get_events() if "mstflow" in topic}


def test_runs_leave_no_topics(cluster):
    mstflow.minimum_spanning_forest(GRAPH, scheduler=cluster)
    topics = own_topics(cluster)
    for strategy in ("tree", "iterate", "two-scan"):
        forest = mstflow.minimum_spanning_forest(GRAPH, scheduler=cluster, strategy=strategy)
        assert len(forest.report.calls) > 2
    assert own_topics(cluster) == topics


def test_reports_of_runs_at_once_are_their_own(cluster):
    def solve(partitions):
        forest = mstflow.minimum_spanning_forest(
            GRAPH, scheduler=cluster, strategy="tree", partitions=partitions
        )
        calls = [call for call in forest.report.calls if call.stage == "scan_partition"]
        return partitions, len(calls)

    with ThreadPoolExecutor(4) as pool:
        assert all(count == expected for expected, count in pool.map(solve, (2, 3, 5, 7)))


def stop_at(text):
    """Return a listener that stops the call when a step has this text."""

    def listen(step, _done, _total):
        if text in step:
            raise InterruptedOnPurposeError

    return listen


def test_progress_says_which_resources_no_worker_has(cluster):
    listener = stop_at("wait for a worker with the resources {'tricorder': 1}")
    with dask.annotate(resources={"tricorder": 1}), pytest.raises(InterruptedOnPurposeError):
        mstflow.minimum_spanning_forest(GRAPH, scheduler=cluster, progress=listener)


def test_progress_says_that_there_is_no_worker():
    listener = stop_at("wait for a worker: the cluster has none")
    with local_workers(0) as client, pytest.raises(InterruptedOnPurposeError):
        mstflow.minimum_spanning_forest(GRAPH, scheduler=client, progress=listener)


def test_progress_says_which_address_does_not_answer():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        listener = stop_at(f"connect to {address}")
        with pytest.raises(InterruptedOnPurposeError):
            mstflow.minimum_spanning_forest(GRAPH, scheduler=address, progress=listener)


SOLVE_AT = """
import sys
import mstflow
progress = {"silent": False, "shown": lambda *_: None}[sys.argv[2]]
mstflow.minimum_spanning_forest(([0], [1], [2]), scheduler=sys.argv[1], progress=progress)
"""


@pytest.mark.parametrize("progress", ["silent", "shown"])
def test_another_server_is_not_a_scheduler(progress):
    """In a process of its own: `distributed` leaves a client open that gets such an answer.

    If the client is collected while another one starts, both wait for ever.
    """

    def answer():
        with contextlib.suppress(OSError):  # the server is closed
            while True:
                with server.accept()[0] as connection:
                    connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n" * 9)

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=answer, daemon=True).start()
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        variables = {"DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "2s"}
        done = run_python("-c", SOLVE_AT, address, progress, variables=variables)
        assert f"OptionError: no scheduler answers at {address}" in done.stderr


@pytest.mark.parametrize("options", [{}, {"num_vertices": 300}])
def test_a_generator_of_delayed_chunks_names_the_list(options):
    chunks = (dask.delayed(tuple)(GRAPH) for _ in range(2))
    with pytest.raises(GraphError, match=r"list\(\.\.\.\)"):
        mstflow.minimum_spanning_forest(chunks, **options)
