"""Files that change while a command reads them: the forest of one version, or an error."""

from __future__ import annotations

import functools
import os
import random
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from soak import oracle
from soak.case import Case, Command, WrongError
from soak.kills import SHARED, Large, large_graph, write_folder
from strategy_names import ANY_GRAPH, SINGLE, UNBOUNDED

#: Files change within this number of seconds after a command has loaded its libraries.
LONGEST = 0.8
#: Python that a command runs first.
BEGUN = "import mstflow.commands.solve, pyarrow.csv, pyarrow.parquet; open({!r}, 'w').close()"


def run(case: Case) -> None:
    """Change a file at a random moment of a run."""
    rng, old = case.rng, large_graph(case.seed, case.number // SHARED)
    suffix = rng.choice(list(_WRITERS))
    place, new = _changed(case.seed, case.number // SHARED)
    change = rng.choice(list(_CHANGES))
    strategy, moment = rng.choice(["auto", *ANY_GRAPH]), rng.random() ** 2 * LONGEST
    path, other = case.folder / f"graph{suffix}", case.folder / f"other{suffix}"
    _WRITERS[suffix](path, old)
    _WRITERS[suffix](other, new)
    target, source = (path, other)
    if not suffix:
        target, source = path / f"{'uvw'[place]}.npy", other / f"{'uvw'[place]}.npy"
    output = case.folder / "forest.npz"
    arguments = ["solve", path, "--strategy", strategy, "--quiet", "-o", output]
    if strategy not in SINGLE:
        arguments += ["--partitions", rng.choice([1, 3, 10])]
    if strategy not in UNBOUNDED and rng.random() < 0.3:
        arguments += ["--memory", "2GB"]
    case.choices = {"arguments": arguments, "change": change, "moment": moment, "file": target.name}
    case.counts.update([f"change: {change}", f"format: {suffix or 'folder'}"])
    begun = case.folder / "begun"
    command = Command(case, *arguments, first=BEGUN.format(str(begun)))
    while command.runs() and not begun.exists():
        time.sleep(0.001)
    time.sleep(moment)
    case.counts["changed in mid-run"] += command.runs()
    _CHANGES[change](target, source, rng)
    if not command.succeeds():
        case.counts["refusals"] += 1
        return
    found = np.load(output)
    contents = {"old": old, "new": new}
    if change == "removed" and target.name == "w.npy":  # a folder without it has no weights
        contents["unweighted"] = _solved(old, (*old.columns[:2], np.ones(len(old.columns[0]))))
    for name, graph in contents.items():
        if found["edge_id"].tolist() == graph.edge_ids:
            case.counts[f"forest of the {name} content"] += 1
            for key, column in zip(("u", "v", "weight"), graph.columns, strict=True):
                expected = column[graph.edge_ids].tolist()
                case.expect(f"{key} of the {name} content", found[key].tolist(), expected)
            return
    message = f"the forest is of neither content; {len(found['edge_id'])} edges"
    raise WrongError(message)


@functools.lru_cache(4)
def _changed(seed: int, number: int) -> tuple[int, Large]:
    """Return the column of a graph that changes, and the changed graph."""
    graph = large_graph(seed, number)
    rng = random.Random(f"changed {seed} {number}")
    place = rng.randrange(3)
    columns = list(graph.columns)
    columns[place] = np.random.default_rng(rng.getrandbits(64)).permutation(columns[place])
    return place, _solved(graph, tuple(columns))


def _solved(graph: Large, columns: tuple[Any, ...]) -> Large:
    """Return a graph with other columns, and its forest."""
    answer = oracle.solve(*(c.tolist() for c in columns), graph.num_vertices, maximum=False)
    return replace(graph, columns=columns, edge_ids=answer.edge_ids)


# Formats. All state the number of vertices, so only edges can differ.


def _table(graph: Large) -> Any:
    import pyarrow

    table = pyarrow.table(dict(zip(("u", "v", "weight"), graph.columns, strict=True)))
    return table.replace_schema_metadata({"num_vertices": str(graph.num_vertices)})


def _write_parquet(path: Path, graph: Large) -> None:
    from pyarrow import parquet

    parquet.write_table(_table(graph), path, row_group_size=20_000)


def _write_arrow(path: Path, graph: Large) -> None:
    import pyarrow

    table = _table(graph)
    with pyarrow.ipc.new_file(str(path), table.schema) as file:
        file.write_table(table)


def _write_npz(path: Path, graph: Large) -> None:
    names = dict(zip(("u", "v", "weight"), graph.columns, strict=True))
    np.savez(path, **names, n=graph.num_vertices)


def _write_gr(path: Path, graph: Large) -> None:
    rows = zip(*(column.tolist() for column in graph.columns), strict=True)
    lines = [f"p sp {graph.num_vertices} {len(graph.columns[0])}\n"]
    path.write_text("".join(lines + [f"a {u + 1} {v + 1} {w}\n" for u, v, w in rows]))


_WRITERS: dict[str, Callable[[Path, Large], None]] = {
    "": write_folder,
    ".parquet": _write_parquet,
    ".arrow": _write_arrow,
    ".npz": _write_npz,
    ".gr": _write_gr,
}


# Changes: functions of the file, one with the new content, and random numbers.


def _replace(target: Path, source: Path, rng: Any) -> None:
    source.replace(target)


def _replace_in_its_time(target: Path, source: Path, rng: Any) -> None:
    """Replace a file by one with the same times, like a copy that preserves times."""
    status = target.stat()
    os.utime(source, ns=(status.st_atime_ns, status.st_mtime_ns))
    source.replace(target)


def _overwrite(target: Path, source: Path, rng: Any) -> None:
    data = source.read_bytes()
    with target.open("r+b") as file:
        file.write(data)
        file.truncate()


def _truncate(target: Path, source: Path, rng: Any) -> None:
    os.truncate(target, int(target.stat().st_size * rng.random()))


def _rewrite(target: Path, source: Path, rng: Any) -> None:
    """Truncate to nothing, then write, as most programs save."""
    data = source.read_bytes()
    with target.open("wb") as file:
        time.sleep(rng.random() * 0.1)
        file.write(data)


def _remove(target: Path, source: Path, rng: Any) -> None:
    target.unlink()


def _append(target: Path, source: Path, rng: Any) -> None:
    with target.open("ab") as file:
        file.write(source.read_bytes()[: rng.randint(1, 10**5)])


_CHANGES = {
    "replaced": _replace,
    "replaced, times kept": _replace_in_its_time,
    "overwritten": _overwrite,
    "truncated": _truncate,
    "rewritten": _rewrite,
    "removed": _remove,
    "appended to": _append,
}
