"""Runs that are killed: a command that keeps a checkpoint, and the workers of a cluster."""

from __future__ import annotations

import contextlib
import functools
import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import mstflow
from mstflow.errors import MstflowError
from soak import oracle
from soak.case import Case, Command
from soak.clusters import healthy_workers
from strategy_names import BOUNDED, SINGLE, STREAMING

#: Unfinished work is saved every 20 seconds; here it is saved after every block.
EAGER = """
from mstflow.runtime.sizes import tuned
eager = tuned(seconds_unsaved=0.0)
eager.__enter__()
"""
#: Consecutive cases that share a graph, since the oracle takes longer than a run.
SHARED = 8


@dataclass(frozen=True)
class Large:
    """Columns of a graph, and the ids of its forest by the oracle."""

    columns: tuple[Any, Any, Any]
    num_vertices: int
    edge_ids: list[int]


@functools.lru_cache(4)
def large_graph(seed: int, number: int, num_edges: int = 150_000) -> Large:
    """Return a graph that takes a few tenths of a second to solve, and its forest."""
    rng = random.Random(f"large {seed} {number}")
    draw = np.random.default_rng(rng.getrandbits(64))
    n = rng.choice([300, 3_000, 30_000])
    u, v = draw.integers(0, n, (2, num_edges), dtype=np.int32)
    top = rng.choice([5, 1000, 2**31 - 1])
    weight = draw.integers(0, top, num_edges).astype(rng.choice(["i4", "f4", "f8"]))
    lists = u.tolist(), v.tolist(), weight.tolist()
    return Large((u, v, weight), n, oracle.solve(*lists, n, maximum=False).edge_ids)


def resume(case: Case) -> None:
    """Kill a command again and again, then let it end; its forest must be the oracle's."""
    rng, graph = case.rng, large_graph(case.seed, case.number // SHARED)
    parts = list(_folders(case.folder, graph, rng.choice([1, 8, 25])))
    strategy = rng.choice(STREAMING)
    kept, output = case.folder / "kept", case.folder / "forest.npz"
    arguments: list[Any] = ["solve", *parts, "--strategy", strategy]
    if strategy not in SINGLE:
        arguments += ["--partitions", rng.choice([2, 7, 30])]
    arguments += ["--backend", rng.choice(["auto", "numba"]), "--quiet"]
    arguments += ["--checkpoint", kept, "-o", output]
    is_eager, most = rng.random() < 0.7, rng.randint(1, 6)
    case.choices = {"arguments": arguments, "eager": is_eager, "most kills": most}
    for attempt in range(most + 1):
        before = _records(kept)
        command = Command(case, *arguments, first=EAGER if is_eager else "")
        if attempt < most:
            _wait_for_records(command, kept, len(before) + rng.randint(0, 3), rng)
        if attempt < most and command.runs():
            command.kill()
            case.counts["kills"] += 1
            case.counts["kills with records"] += bool(_records(kept))
            continue
        case.expect("success", (command.succeeds(), command.message()), (True, ""))
        break
    case.counts["resumed"] += attempt > 0
    case.counts["resumed with records"] += bool(before)
    after = _records(kept)
    case.counts["records taken up"] += sum(after.get(name) == time for name, time in before.items())
    case.expect("edge ids", np.load(output)["edge_id"].tolist(), graph.edge_ids)
    case.expect("drafts left", list(kept.glob("*.draft")), [])


def _folders(folder: Path, graph: Large, count: int) -> Iterator[Path]:
    """Write ranges of the edges to folders of columns."""
    for place, rows in enumerate(np.array_split(np.arange(len(graph.columns[0])), count)):
        path = folder / f"part{place}"
        write_folder(path, graph, rows)
        yield path


def write_folder(path: Path, graph: Large, rows: Any = slice(None)) -> None:
    """Write a range of the edges to a folder of columns."""
    path.mkdir()
    for name, column in zip("uvw", graph.columns, strict=True):
        np.save(path / f"{name}.npy", column[rows])
    (path / "n.txt").write_text(f"{graph.num_vertices}\n")


def _records(kept: Path) -> dict[str, int]:
    """Return the time at which each record was written."""
    return {path.name: path.stat().st_mtime_ns for path in kept.glob("*.npz")}


def _wait_for_records(command: Command, kept: Path, wanted: int, rng: random.Random) -> None:
    """Wait until there are enough records, the time is over, or the process has ended."""
    end = time.monotonic() + 5
    while command.runs() and time.monotonic() < end and len(_records(kept)) < wanted:
        time.sleep(0.001)
    time.sleep(rng.random() * 0.03)


# Workers.


def workers(case: Case) -> None:
    """Kill workers of a cluster during a run: it finds the right forest, or raises an error."""
    rng, graph = case.rng, large_graph(case.seed, case.number // SHARED)
    client = healthy_workers()
    options: dict[str, Any] = {
        "strategy": rng.choice(["auto", *BOUNDED]),
        "num_vertices": graph.num_vertices,
        "progress": False,
    }
    if options["strategy"] not in SINGLE:
        options["partitions"] = rng.choice([2, 5, 12])
    if rng.random() < 0.3 and options["strategy"] in STREAMING:
        options["checkpoint"] = str(case.folder / "kept")
    given = graph.columns if rng.random() < 0.5 else next(_folders(case.folder, graph, 1))
    moments = [rng.random() * 0.8 for _ in range(rng.choice([1, 1, 2, 4]))]
    case.choices = {**options, "is a file": given is not graph.columns, "moments": moments}
    killer = threading.Thread(target=_kill, args=(case, client.cluster, moments))
    killer.start()
    try:
        forest = mstflow.minimum_spanning_forest(given, scheduler=client, **options)
    except MstflowError as error:
        case.counts["errors"] += 1
        case.counts[f"error: {str(error).partition(':')[0]:.60}"] += 1
    else:
        case.expect("edge ids", forest.edge_ids.tolist(), graph.edge_ids)
        case.counts["forests"] += 1
    finally:
        killer.join()


def _kill(case: Case, cluster: Any, moments: list[float]) -> None:
    for moment in moments:
        time.sleep(moment)
        pids = [nanny.pid for nanny in cluster.workers.values() if nanny.pid]
        with contextlib.suppress(IndexError, ProcessLookupError):
            os.kill(case.rng.choice(pids), signal.SIGKILL)
            case.counts["kills"] += 1
