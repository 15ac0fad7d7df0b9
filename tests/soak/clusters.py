"""A cluster of two worker processes, which ends with the process that starts it."""

from __future__ import annotations

import contextlib
import functools
import logging
import warnings
from typing import Any


@functools.cache
def two_workers() -> Any:
    """Return a client of two workers, which come back unless they are killed while they start."""
    import dask
    from distributed import Client, LocalCluster

    warnings.filterwarnings("ignore", module="distributed")
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with dask.config.set({"distributed.scheduler.no-workers-timeout": "20s"}):
        cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    return Client(cluster, set_as_default=False)


def healthy_workers() -> Any:
    """Return a client of two workers; of a new cluster, if a killed one does not come back."""
    client = two_workers()
    try:
        client.wait_for_workers(2, timeout=5)
    except Exception:  # of any kind: what is left of a cluster may fail in many ways
        two_workers.cache_clear()
        with contextlib.suppress(Exception):
            client.cluster.close(timeout=5)
            client.close(timeout=5)
        client = two_workers()
    return client
