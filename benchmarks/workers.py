"""One worker of a Dask cluster against several, each on a processor of its own.

    python workers.py GRAPH --workers 1 2 --partitions 4 --rounds 5 --output FILE

The clusters stand side by side and take turns; a first round, in which they load the kernels, does
not count. A rate of two workers is that of what they share: processors that are threads of one core
share its arithmetic, which `floor.py` tells.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from distributed import Client, LocalCluster
from machine import about

import mstflow

if TYPE_CHECKING:
    from collections.abc import Iterator


def stay(processor: int) -> None:
    """Keep all threads of this process on a processor."""
    for thread in os.listdir("/proc/self/task"):
        os.sched_setaffinity(int(thread), {processor})


@contextlib.contextmanager
def open_cluster(count: int) -> Iterator[Client]:
    """Yield a client of a new cluster with so many workers of one thread each."""
    cluster = LocalCluster(n_workers=count, threads_per_worker=1, dashboard_address=None)
    with cluster, Client(cluster, set_as_default=False) as client:
        for processor, worker in enumerate(client.scheduler_info()["workers"]):
            client.run(stay, processor % (os.cpu_count() or 1), workers=[worker])
        yield client


def main() -> None:
    """Let the clusters solve a graph in turns, compare the forests, keep the times."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    add("graph")
    add("--workers", nargs="+", type=int, default=[1, 2], metavar="W")
    add("--partitions", type=int, default=4, metavar="K")
    add("--strategy", default="two-scan", metavar="S")
    add("--rounds", type=int, default=5, metavar="K")
    add("--output", type=Path, required=True)
    options = parser.parse_args()
    record: dict[str, Any] = {"machine": about(), **vars(options), "seconds": {}}
    record |= {"graph": Path(options.graph).name, "output": options.output.name}
    expected = None
    with contextlib.ExitStack() as stack:
        clients = {w: stack.enter_context(open_cluster(w)) for w in options.workers}
        for round_ in range(options.rounds + 1):
            for workers, client in clients.items():
                started = time.perf_counter()
                forest = mstflow.minimum_spanning_forest(
                    options.graph,
                    scheduler=client,
                    strategy=options.strategy,
                    partitions=options.partitions,
                    progress=False,
                )
                seconds = time.perf_counter() - started
                expected = forest.edge_ids if expected is None else expected
                if not np.array_equal(forest.edge_ids, expected):
                    raise SystemExit(f"{workers} workers found another forest")
                if round_:
                    record["seconds"].setdefault(workers, []).append(seconds)
                    print(f"round {round_}, {workers} workers: {seconds:.2f} s")
    first, *others = record["seconds"].items()
    record["rates"] = {}
    for workers, seconds in others:
        ratio = statistics.median(a / b for a, b in zip(first[1], seconds, strict=True))
        record["rates"][workers] = ratio
        print(f"{workers} workers: {ratio:.2f} times the rate of {first[0]}")
    options.output.write_text(json.dumps(record, indent=1))


if __name__ == "__main__":
    main()
