"""The strategies on a cluster of this machine: workers of one thread each solve a graph on disk."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence

from . import graphs as graph_list
from .measure import Benchmark, Row, in_turn, program
from .tables import Table, median

#: The options of each choice.
CHOICES = {
    "auto": {},
    "iterate, one partition": {"strategy": "iterate", "partitions": 1},
    "iterate": {"strategy": "iterate"},
    "iterate, 8 partitions": {"strategy": "iterate", "partitions": 8},
    "two-scan": {"strategy": "two-scan"},
    "exchange": {"strategy": "exchange"},
}
_PROGRAM = """
import json, sys, time
import mstflow
from distributed import Client, LocalCluster

def processor():
    return time.process_time() + sum(client.run(time.process_time).values())

folder, workers, options, repeats = sys.argv[1], *map(json.loads, sys.argv[2:])
with (
    LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0") as cluster,
    Client(cluster) as client,
):
    facts = []
    for _ in range(repeats + 1):
        used, start = processor(), time.perf_counter()
        mstflow.minimum_spanning_forest(folder, scheduler=client, progress=False, **options)
        facts.append((time.perf_counter() - start, processor() - used))
    (seconds, used), first = min(facts[1:]), facts[0][0]
    print(json.dumps({"seconds": seconds, "processor": used, "first": first}))
"""


def rows(
    graphs: Sequence[str],
    workers: Sequence[int] = (1, 2),
    choices: Sequence[str] = tuple(CHOICES),
    repeats: int = 2,
    limit: float = 60,
) -> Iterator[Row]:
    """Yield the seconds of the first call of new workers, and of the fastest of `repeats` others.

    `processor` is the time of client, scheduler and workers together in that call. Compiling is not
    included: the first round is not recorded.
    """
    calls = [
        (
            {"graph": graph, "workers": count, "choice": choice},
            program(
                _PROGRAM,
                graph_list.ensure(graph),
                count,
                json.dumps(CHOICES[choice]),
                repeats,
                limit=limit,
                touched=0,
            ),
        )
        for graph, count, choice in itertools.product(graphs, workers, choices)
    ]
    return in_turn(calls, 1, warm_ups=1)


_LINES = ("graph", "workers"), ("choice",)
BENCHMARK = Benchmark(
    "strategies on the workers of a cluster",
    rows,
    {
        "graphs": [
            "rmat:scale=23",
            "random:n=8388608,m=67108864",
            "grid:rows=3000,columns=3000",
            "rmat:scale=22",
            "rmat:scale=20",
            "random:n=1000000,m=32000000",
            "star:n=8000000",
        ]
    },
    {"graphs": ["rmat:scale=8"], "workers": [1], "choices": ["auto"]},
    {
        "workers": Table(*_LINES, {"": median()}),
        "workers-processor": Table(*_LINES, {"": median("processor")}),
    },
    usual=False,  # takes minutes
)
