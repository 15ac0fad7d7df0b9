"""Processes that share one folder of compiled kernels, empty or damaged: all answers are right."""

from __future__ import annotations

import functools
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from soak import inputs, oracle
from soak.case import Case, Command
from soak.graphs import random_graph

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

ALGORITHMS = ["auto", "boruvka-edgelist", "boruvka-csr", "kruskal", "kruskal-helpers", "prim"]


def run(case: Case) -> None:
    """Solve in several processes at once, with a cache that is empty, or that was damaged."""
    rng = case.rng
    kernels = case.folder / "cache"
    algorithm = rng.choice(ALGORITHMS)
    harm = rng.choice(["none", *_HARMS])
    case.choices = {"algorithm": algorithm, "harm": harm}
    case.counts[f"cache: {'empty' if harm == 'none' else harm}"] += 1
    if harm == "none":
        kernels.mkdir()
    else:
        shutil.copytree(_compiled(algorithm), kernels)
        entries = sorted(path for path in kernels.rglob("*") if path.is_file())
        case.counts["entries"] += len(entries)
        _HARMS[harm](entries, rng)
    graphs = [_graph(rng) for _ in range(rng.choice([2, 3]))]
    commands = [
        _start(case, graph, place, algorithm, kernels) for place, graph in enumerate(graphs)
    ]
    for place, (graph, command) in enumerate(zip(graphs, commands, strict=True)):
        case.expect("success", (command.succeeds(), command.message()), (True, ""))
        columns = (graph.column(place) for place in range(3))
        answer = oracle.solve(*columns, graph.num_vertices, maximum=False)
        found = np.load(case.folder / f"{place}.npz")["edge_id"].tolist()
        case.expect(f"edge ids of process {place}", found, answer.edge_ids)
        case.counts["processes"] += 1


def _graph(rng: random.Random) -> inputs.Graph:
    """Draw a graph of common dtypes: kernels are compiled for each."""
    from dataclasses import replace

    graph = random_graph(rng)
    while graph.weight_dtype not in ("i4", "f8") or graph.num_vertices < 5:
        graph = random_graph(rng)
    return replace(graph, id_dtypes=("i8", "i8"))


def _start(case: Case, graph: inputs.Graph, place: int, algorithm: str, kernels: Path) -> Command:
    folder = case.folder / f"graph{place}"
    inputs.write_npy(folder, graph, case.rng)
    arguments = ["solve", folder, "--backend", "numba", "--algorithm", algorithm, "--quiet"]
    output = case.folder / f"{place}.npz"
    return Command(case, *arguments, "-o", output, name=str(place), XDG_CACHE_HOME=str(kernels))


@functools.cache
def _compiled(algorithm: str) -> Path:
    """Return a folder of the kernels that an algorithm needs, compiled once by this process."""
    kernels = Path(tempfile.mkdtemp(prefix="soak-kernels-"))
    case = Case("compiled", 0, 0)
    for place, dtype in enumerate(("i4", "f8")):
        graph = inputs.Graph(3, (inputs.Edge(0, 1, 2), inputs.Edge(1, 2, 1)), weight_dtype=dtype)
        case.expect("success", _start(case, graph, place, algorithm, kernels).succeeds(), True)
    case.close()
    return kernels


# Kinds of damage: functions of the files of a cache, and random numbers.


def _some(entries: list[Path], rng: random.Random) -> list[Path]:
    return rng.sample(entries, rng.randint(1, len(entries)))


def _flip(entries: list[Path], rng: random.Random) -> None:
    for path in _some(entries, rng):
        data = bytearray(path.read_bytes())
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        path.write_bytes(data)


def _truncate(entries: list[Path], rng: random.Random) -> None:
    for path in _some(entries, rng):
        os.truncate(path, rng.choice([0, 32, rng.randrange(path.stat().st_size)]))


def _swap(entries: list[Path], rng: random.Random) -> None:
    chosen = _some(entries, rng)
    contents = [path.read_bytes() for path in chosen]
    rng.shuffle(contents)
    for path, content in zip(chosen, contents, strict=True):
        path.write_bytes(content)


def _forge(entries: list[Path], rng: random.Random) -> None:
    """Keep the first bytes of each entry, and replace the others by random bytes."""
    for path in _some(entries, rng):
        data = path.read_bytes()
        path.write_bytes(data[:32] + rng.randbytes(len(data) - 32))


def _open(entries: list[Path], rng: random.Random) -> None:
    """Let others write to entries, which must not be loaded then."""
    for path in _some(entries, rng):
        path.chmod(0o666)


def _forbid(entries: list[Path], rng: random.Random) -> None:
    for folder in {path.parent for path in entries}:
        folder.chmod(0o500)


def _block(entries: list[Path], rng: random.Random) -> None:
    """Replace an entry by a folder."""
    for path in _some(entries, rng):
        path.unlink()
        path.mkdir()


_HARMS: dict[str, Callable[[list[Path], random.Random], None]] = {
    "flipped": _flip,
    "truncated": _truncate,
    "swapped": _swap,
    "forged": _forge,
    "writable by others": _open,
    "read-only": _forbid,
    "folders": _block,
}
