"""Clusters of `distributed` on this machine."""

from contextlib import contextmanager

from distributed import Client, LocalCluster, Scheduler, SpecCluster, Worker


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
