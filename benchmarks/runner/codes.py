"""The codes that are compared, each from NumPy columns to a forest.

Preparing a code imports it and loads its kernels, and is not timed. The timed solve includes the
construction of the graph of the code from the columns.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mstflow.errors import OptionError

from ..graphs import Graph, load, parse_options

#: The most edges of codes that make Python objects of all edges, and so need minutes and gigabytes.
MOST_EDGES = {"networkx": 1_000_000, "igraph": 20_000_000}
WARM_UP_EDGES = 1_000
#: Options of `minimum_spanning_forest`; other options are values of the algorithm.
CALL_OPTIONS = {"backend", "strategy", "partitions", "scheduler", "memory", "split_every"}


class Answer(NamedTuple):
    """A forest that a code found.

    `ids` are ascending edge ids, or None if the code does not define them. `solver` is the
    algorithm and the backend that mstflow chose. `stages` has the seconds of its stages.
    """

    edges: int
    weight: float | None
    ids: NDArray[np.int64] | None = None
    solver: str = ""
    stages: dict[str, float] | None = None


@dataclass(frozen=True)
class Prepared:
    """A code prepared for one graph: `solve` is timed, `answer` converts its result."""

    solve: Callable[[], Any]
    answer: Callable[[Any], Answer]


def name_of(code: str) -> str:
    """Return the name of a code without its options; raise OptionError if it is unknown."""
    name, colon, _ = code.partition(":")
    if name not in CODES or (colon and name != "mstflow"):
        known = ", ".join([*CODES, "mstflow:OPTION=VALUE,..."])
        message = f"code {code!r} is not known; choose from: {known}"
        raise OptionError(message)
    return name


def uses_threads(code: str) -> bool:
    """Return whether a code uses more than one thread; `mstflow:threads=1` does not."""
    options = parse_options(code.partition(":")[2])
    return name_of(code) == "mstflow" and options.get("threads") != 1


def prepare(code: str, folder: Path, threads: int, on_disk: bool = False) -> Prepared:
    """Prepare a code for the graph in a folder.

    Only mstflow uses several threads, and can leave the columns on disk.
    """
    name = name_of(code)
    if name == "mstflow":
        return _mstflow(code, folder, threads, on_disk)
    if on_disk:
        message = f"{name} cannot solve a graph on disk"
        raise OptionError(message)
    graph = load(folder)
    if len(graph.u) > MOST_EDGES.get(name, len(graph.u)):
        message = f"{name} is not measured on more than {MOST_EDGES[name]:,} edges"
        raise OptionError(message)
    return CODES[name](graph)


def _mstflow(code: str, folder: Path, threads: int, on_disk: bool) -> Prepared:
    """Prepare mstflow: run every stage once, on a small graph of the same dtypes and density."""
    import mstflow
    from mstflow.primitives import backends
    from mstflow.testing import EVERY_STAGE

    options = parse_options(code.partition(":")[2])
    options.pop("threads", None)
    name = options.pop("algorithm", "auto")
    call = {name: options.pop(name) for name in CALL_OPTIONS & options.keys()}
    call |= {"threads": threads, "progress": False}
    if call.get("scheduler") == "distributed":
        call["scheduler"] = _cluster(threads)

    names = ["filter-kruskal", "filter-boruvka"] if name == "auto" else [name]
    algorithms = [mstflow.algorithm(each) for each in names]
    measured = algorithms[0].given(**options) if options else name  # "auto" chooses

    def solve(graph: Any, vertices: int | None, algorithm: Any, **changed: Any) -> mstflow.Forest:
        arguments = {"num_vertices": vertices, "algorithm": algorithm, **call, **changed}
        return mstflow.minimum_spanning_forest(graph, **arguments)

    graph = load(folder, mapped=on_disk)
    u, v, w = (column[:WARM_UP_EDGES] for column in graph[:3])
    few = max(1, len(u) * graph.n // max(len(graph.u), 1))
    usable = [each for each in ("numpy", "numba") if each in backends()]  # choices of "auto"
    warmed_up = [call["backend"]] if "backend" in call else usable
    for backend, pipeline in itertools.product(warmed_up, algorithms):
        values = {key: value for key, value in EVERY_STAGE.items() if key in pipeline.values}
        solve((u % few, v % few, w), few, pipeline.given(**values), backend=backend)
    columns, vertices = (folder, None) if on_disk else (graph[:3], graph.n)

    def answer(forest: mstflow.Forest) -> Answer:
        ids, stages = forest.edge_ids, dict(forest.report.seconds)
        solver = f"{forest.algorithm}, {forest.backend}"
        weight = None if on_disk else _total(graph.w[ids])  # mapped pages count as memory
        return Answer(len(ids), weight, ids, solver, stages)

    return Prepared(lambda: solve(columns, vertices, measured), answer)


def _cluster(workers: int) -> Any:
    """Start a cluster of workers with one thread each, which ends with this process."""
    from distributed import Client, LocalCluster

    cluster = LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None)
    return Client(cluster)


def _scipy(graph: Graph) -> Prepared:
    """Prepare scipy, which adds parallel edges and drops edges of weight zero."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import minimum_spanning_tree

    def solve() -> Any:
        matrix = coo_array((graph.w, (graph.u, graph.v)), (graph.n, graph.n)).tocsr()
        return minimum_spanning_tree(matrix)

    return Prepared(solve, lambda tree: Answer(tree.nnz, _total(tree.data)))


def _scipy_exact(graph: Graph) -> Prepared:
    """Prepare scipy on ranks of weights, so that zeros, ties and parallel edges are right.

    scipy runs Kruskal's algorithm on the stored entries, so parallel edges may remain separate. A
    matrix that claims to have the canonical format is not summed.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import minimum_spanning_tree

    def solve() -> NDArray[np.int64]:
        order = np.argsort(graph.w, kind="stable")
        rank = np.empty(len(order))  # the dtype that scipy works in
        rank[order] = np.arange(1, len(order) + 1)
        matrix = coo_array((rank, (graph.u, graph.v)), (graph.n, graph.n))
        matrix.has_canonical_format = True
        tree = minimum_spanning_tree(matrix.tocsr(), overwrite=True)
        return np.sort(order[tree.data.astype(np.int64) - 1])

    return Prepared(solve, lambda ids: Answer(len(ids), _total(graph.w[ids]), ids))


def _igraph(graph: Graph) -> Prepared:
    import igraph

    def solve() -> NDArray[np.int64]:
        # Lists of Python numbers are faster: igraph reads arrays item by item.
        ends = list(zip(graph.u.tolist(), graph.v.tolist(), strict=True))
        whole = igraph.Graph(n=graph.n, edges=ends)
        edge_ids = whole.spanning_tree(weights=graph.w.tolist(), return_tree=False)
        return np.array(edge_ids, dtype=np.int64)

    return Prepared(solve, lambda ids: Answer(len(ids), _total(graph.w[ids])))


def _networkx(graph: Graph) -> Prepared:
    import networkx

    def solve() -> list[Any]:
        whole = networkx.MultiGraph()
        whole.add_nodes_from(range(graph.n))
        columns = (column.tolist() for column in graph[:3])
        whole.add_weighted_edges_from(zip(*columns, strict=True))
        return list(networkx.minimum_spanning_edges(whole, keys=False))

    def answer(edges: list[Any]) -> Answer:
        return Answer(len(edges), sum(float(attributes["weight"]) for _, _, attributes in edges))

    return Prepared(solve, answer)


def _total(weights: NDArray[Any]) -> float:
    """Sum weights without overflow of their dtype."""
    return float(weights.sum(dtype=np.float64 if weights.dtype.kind == "f" else np.int64))


CODES: dict[str, Callable[..., Prepared]] = {
    "mstflow": _mstflow,
    "scipy": _scipy,
    "scipy-exact": _scipy_exact,
    "igraph": _igraph,
    "networkx": _networkx,
}
