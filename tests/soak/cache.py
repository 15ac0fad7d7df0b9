"""Processes that share one empty folder of compiled kernels: all answers are right."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np

from soak import inputs, oracle
from soak.case import Case, Command
from soak.graphs import random_graph

ALGORITHMS = ["auto", "boruvka-edgelist", "boruvka-csr", "kruskal", "kruskal-helpers", "prim"]


def run(case: Case) -> None:
    """Solve in several processes at once, with a cache that is empty."""
    rng = case.rng
    kernels = case.folder / "cache"
    algorithm = rng.choice(ALGORITHMS)
    case.choices = {"algorithm": algorithm}
    case.counts["cache: empty"] += 1
    kernels.mkdir()
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
    return Command(case, *arguments, "-o", output, name=str(place), NUMBA_CACHE_DIR=str(kernels))
