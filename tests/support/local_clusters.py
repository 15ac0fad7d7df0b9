"""Clusters of `distributed` on this machine."""

import threading
from contextlib import contextmanager

from distributed import Client, LocalCluster, Scheduler, SpecCluster, Worker

from waiting import wait_until


@contextmanager
def local_workers(count):
    """Start a cluster of worker processes with one thread each; yield its client."""
    with (
        LocalCluster(n_workers=count, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


@contextmanager
def workers_with_backends(*backends):
    """Start a cluster of one worker for each backend, in this process; yield its client."""
    workers = {
        name: {"cls": Worker, "options": {"nthreads": 1, "resources": {name: 1}}}
        for name in backends
    }
    scheduler = {"cls": Scheduler, "options": {"dashboard_address": ":0"}}
    with (
        SpecCluster(workers, scheduler) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


def count_actors(dask_worker):
    return len(dask_worker.state.actors)


def count_ranks():
    return sum(thread.name == "mstflow rank" for thread in threading.enumerate())


def check_clean(client):
    """Check that the cluster soon has no tasks and no actors, and that the ranks have ended."""

    def left():
        tasks = client.run_on_scheduler(lambda dask_scheduler: list(map(str, dask_scheduler.tasks)))
        actors = client.run(count_actors, on_error="ignore")
        running = client.run(count_ranks, on_error="ignore")
        return tasks + [each for each in (*actors.items(), *running.items()) if each[1]]

    wait_until(lambda: not left(), left)
