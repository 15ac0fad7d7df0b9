"""The strategy "exchange" with ranks in other processes: results, failures, what they leave."""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import pytest
from distributed import Client, LocalCluster

import mstflow
from exchange_graphs import GRAPHS
from graph_files import save_columns
from local_clusters import check_clean, count_ranks, local_workers, workers_with_backends
from mstflow.errors import GraphError, WorkerError
from mstflow.graphs.source import EdgeSource
from mstflow.pipeline.ranks.actors import run_actors
from mstflow.pipeline.schedulers.dask_schedulers import Cluster
from mstflow.progress import set_listener
from mstflow.runtime.sizes import tuned
from oracle import kruskal
from waiting import PATIENCE, wait_until


class InterruptedOnPurposeError(Exception):
    pass


def solve(graph, **options):
    """Solve with rounds to the end, which are for large graphs otherwise."""
    with tuned(joined_by_one_rank=0):
        return mstflow.minimum_spanning_forest(graph, strategy="exchange", **options)


@pytest.mark.parametrize("name", GRAPHS)
def test_cluster_equals_oracle(cluster, name):
    for ranks in (1, 2, 3, 4, 8) if name == "equal weights" else (2, 3):
        forest = solve(GRAPHS[name], partitions=ranks, scheduler=cluster, maximum=ranks == 3)
        assert forest.edge_ids.tolist() == kruskal(GRAPHS[name], ranks == 3).tolist()
    check_clean(cluster)


def test_processes():
    for graph in (GRAPHS["skewed"], replace(EdgeSource.of(GRAPHS["random"]), first_id=2**33)):
        first = getattr(graph, "first_id", 0)
        forest = solve(graph, scheduler="processes", threads=2, partitions=3)
        expected = kruskal(GRAPHS["random" if first else "skewed"])
        assert (forest.edge_ids - first).tolist() == expected.tolist()


def test_workers_with_different_backends():
    with workers_with_backends(*mstflow.backends()) as client:
        for name in ("skewed", "grid"):
            forest = solve(GRAPHS[name], scheduler=client, partitions=4)
            assert forest.edge_ids.tolist() == kruskal(GRAPHS[name]).tolist()


def test_workers_that_are_threads():
    with (
        LocalCluster(n_workers=2, processes=False, dashboard_address=":0") as local,
        Client(local, set_as_default=False) as client,
    ):
        for name in ("skewed", "grid"):
            forest = solve(GRAPHS[name], scheduler=client, partitions=3)
            assert forest.edge_ids.tolist() == kruskal(GRAPHS[name]).tolist()


def test_files_and_chunks(cluster, tmp_path):
    from dask import delayed

    graph = GRAPHS["dense grid"]
    columns = graph.u, graph.v, graph.weight
    save_columns(tmp_path / "graph", *columns)
    half = len(graph.u) // 2
    chunks = [
        delayed(tuple)([c[:half] for c in columns]),
        delayed(tuple)([c[half:] for c in columns]),
    ]
    for given in (tmp_path / "graph", chunks):
        forest = solve(given, num_vertices=graph.num_vertices, scheduler=cluster, partitions=2)
        assert forest.edge_ids.tolist() == kruskal(graph).tolist()


def test_report_equals_that_of_threads(cluster):
    here = solve(GRAPHS["skewed"], partitions=4, scheduler="threads").report
    there = solve(GRAPHS["skewed"], partitions=4, scheduler=cluster).report
    assert there.final == here.final

    def calls(report):
        return [(call.round, call.stage, call.part) for call in report.calls if call.part]

    assert calls(there) == [each for each in calls(here) if "_of_" not in each[1]]


def keep_exchanging(count, steps, pause, exchange):
    for step in range(steps):
        time.sleep(pause)
        assert exchange([step] * count) == [step] * count


forever = partial(keep_exchanging, 2, 10**9, 0)


def end(exchange):
    exchange([0, 0])
    os._exit(3)


def fail(exchange):
    exchange([0, 0])
    raise GraphError("edge 7 is wrong")


def together(client, *functions):
    return run_actors(
        Cluster(lambda: client, "a cluster"), "pair", functions, [()] * len(functions)
    )


def send_an_object(count, exchange):
    """Return, for each rank, its process, and whether this rank received the object it sent."""
    sent = [count]
    received = exchange([sent] * count)
    places = exchange([(os.getpid(), id(sent))] * count)
    return [
        (process, process == os.getpid() and id(value) == place)
        for value, (process, place) in zip(received, places, strict=True)
    ]


def test_ranks_of_a_worker_exchange_by_reference(cluster):
    results = together(cluster, *[partial(send_an_object, 5)] * 5)
    processes = [process for process, _ in results[0]]
    assert len(set(processes)) == len(cluster.nthreads())
    for own, result in zip(processes, results, strict=True):
        assert result == [(process, process == own) for process in processes]


def test_a_late_rank_gets_all_values():
    """Workers in one process receive the objects that were sent, which senders clear."""
    with (
        LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as local,
        Client(local, set_as_default=False) as client,
    ):
        together(client, *(partial(keep_exchanging, 3, 20, pause) for pause in (0, 0, 0.01)))


def test_a_lost_worker_ends_the_call():
    with local_workers(2) as client:
        with pytest.raises(WorkerError, match=r"a worker died: .*rank"):
            together(client, forever, end)
        client.wait_for_workers(2, PATIENCE)
        check_clean(client)
        forest = solve(GRAPHS["star"], scheduler=client)
        assert forest.edge_ids.tolist() == kruskal(GRAPHS["star"]).tolist()


def test_the_error_of_a_rank_stops_all(cluster):
    for functions in ((forever, fail), (fail, forever)):
        with pytest.raises(GraphError, match="edge 7 is wrong"):
            together(cluster, *functions)
        check_clean(cluster)


class UnloadableError(Exception):
    def __init__(self, number, text):
        super().__init__(f"{text} {number}")


def fail_by(error, exchange):
    exchange([0, 0])
    raise error()


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (partial(UnloadableError, 7, "edge"), "UnloadableError: edge 7"),
        (partial(StopIteration, 7), "StopIteration: 7"),
        (partial(SystemExit, 7), "SystemExit: 7"),
    ],
)
def test_an_error_that_cannot_be_sent_ends_the_call(cluster, error, message):
    with pytest.raises(WorkerError, match=message):
        together(cluster, forever, partial(fail_by, error))
    check_clean(cluster)


@pytest.mark.parametrize("error", [OSError(28, "no space"), RuntimeError("late"), KeyError(7)])
def test_the_error_of_a_rank_is_not_a_lost_worker(cluster, error):
    for functions in (
        (forever, partial(fail_by, lambda: error)),
        (partial(fail_by, lambda: error), forever),
    ):
        with pytest.raises(type(error)) as caught:
            together(cluster, *functions)
        assert type(caught.value) is type(error)
    check_clean(cluster)


def interrupt(step, _done, _total):
    if step == "a step of a rank":
        raise InterruptedOnPurposeError


def test_an_interrupted_call_leaves_nothing(cluster):
    scheduler = Cluster(lambda: cluster, "a cluster")
    log = scheduler.log_progress

    def report(exchange):
        log("a step of a rank", 1, 2)
        forever(exchange)

    with set_listener(interrupt), pytest.raises(InterruptedOnPurposeError):
        run_actors(scheduler, "pair", [report, forever], [(), ()])
    check_clean(cluster)


def test_ranks_end_after_their_client(cluster):
    with (
        Client(cluster.scheduler.address, set_as_default=False) as own,
        ThreadPoolExecutor(1) as pool,
    ):
        call = pool.submit(together, own, forever, forever)
        wait_until(lambda: "stay-" in str(cluster.processing()))  # the call waits for its ranks
        own.close()
        with pytest.raises(WorkerError):
            call.result(PATIENCE)
    check_clean(cluster)


def test_dask_closes_no_worker_with_ranks():
    with local_workers(2) as client, ThreadPoolExecutor(1) as pool:
        call = pool.submit(together, client, *[partial(keep_exchanging, 2, 20, 0.2)] * 2)
        while sum(client.run(count_ranks).values()) < 2:
            time.sleep(0.1)
        client.cluster.adapt(minimum=1, maximum=2, interval="50ms", wait_count=2)
        call.result(60)
        check_clean(client)


def test_ranks_wait_for_free_workers(cluster, tmp_path):
    file, steps = tmp_path / "the ranks wait", []

    def listen(step, _done, _total):
        steps.append(step)
        file.touch()

    busy = [cluster.submit(wait_until, file.exists, pure=False) for _ in range(2)]
    forest = solve(GRAPHS["star"], scheduler=cluster, progress=listen)
    assert forest.edge_ids.tolist() == kruskal(GRAPHS["star"]).tolist()
    assert steps[0] == "wait until workers have started all ranks"
    assert all(future.done() for future in busy)
