"""All ways to one forest: strategies, partitions, schedulers and formats; edge ids are compared.

    python ways.py GRAPH GRAPH.parquet --partitions 1 8 64 --output FILE

Each is a process of its own. "distributed" is a cluster of two workers of one thread, `--limit`
bytes each, which "iterate" must be told, since it holds all edges otherwise. What the record has
already is not run again.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import logging
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from machine import about

import mstflow

STRATEGIES = "two-scan", "tree", "fold", "iterate"
SCHEDULERS = "inline", "threads", "processes", "distributed"


def solve(graph: str, strategy: str, partitions: int, scheduler: str, limit: str) -> dict[str, Any]:
    """Return the time and the digest of the edge ids."""
    options: dict[str, Any] = {"strategy": strategy, "partitions": partitions, "progress": False}
    if scheduler != "distributed":
        return _solved(graph, scheduler, options)
    from distributed import Client, LocalCluster

    logging.getLogger("distributed").setLevel(logging.ERROR)
    if strategy == "iterate":
        options["memory"] = limit
    workers = LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit=limit, dashboard_address=None
    )
    with workers, Client(workers) as client:
        return _solved(graph, client, options)


def _solved(graph: str, scheduler: Any, options: dict[str, Any]) -> dict[str, Any]:
    started = time.perf_counter()
    forest = mstflow.minimum_spanning_forest(graph, scheduler=scheduler, **options)
    seconds = time.perf_counter() - started
    return {"seconds": seconds, "forest": hashlib.sha256(forest.edge_ids.tobytes()).hexdigest()}


def main() -> None:
    """Solve in all ways that the record does not have, and tell how many forests there are."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    add("graphs", nargs="+")
    add("--strategies", nargs="+", choices=STRATEGIES, default=STRATEGIES)
    add("--partitions", nargs="+", type=int, default=[1, 8, 64], metavar="K")
    add("--schedulers", nargs="+", choices=SCHEDULERS, default=SCHEDULERS)
    add("--limit", default="1.5GB", metavar="SIZE")
    add("--output", type=Path)
    add("--alone", action="store_true", help="solve in one way, and print it")
    options = parser.parse_args()
    asked = options.graphs, options.strategies, options.partitions, options.schedulers
    if options.alone:
        print(json.dumps(solve(*(each[0] for each in asked), options.limit)))
        return
    if not options.output:
        parser.error("--output is needed")
    record: dict[str, Any] = {"machine": about(), "limit": options.limit, "runs": []}
    if options.output.exists():
        record = json.loads(options.output.read_text())
    known = {tuple(run["asked"]) for run in record["runs"]}
    for graph, strategy, partitions, scheduler in itertools.product(*asked):
        way = (Path(graph).name, strategy, partitions, scheduler)
        if way in known or (strategy == "fold" and partitions > 1):
            continue
        choice = ["--strategies", strategy, "--partitions", str(partitions)]
        choice += ["--schedulers", scheduler, "--limit", options.limit, "--alone"]
        command = [sys.executable, __file__, graph, *choice]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        found = {"error": done.stderr.strip().splitlines()[-1:]}
        if not done.returncode:
            found = json.loads(done.stdout.splitlines()[-1])
        record["runs"].append({"asked": way, **found})
        print(*way, found.get("error") or f"{found['seconds']:.1f} s {found['forest'][:12]}")
        options.output.write_text(json.dumps(record, indent=1))
    forests = {run.get("forest") for run in record["runs"]}
    print(f"{len(record['runs'])} runs, {len(forests)} forest" + "s" * (len(forests) > 1))


if __name__ == "__main__":
    main()
