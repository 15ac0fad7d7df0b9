"""Codes that find forests, compared on named graphs: each solve is a fresh process.

`python -m benchmarks.codes CODE FOLDER` solves one graph and prints time, memory and answer as a
line of JSON. Preparing a code imports it and loads its kernels, and is not timed. The
timed solve includes the construction of the graph of the code from the columns.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import shlex
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mstflow.errors import MstflowError, OptionError
from mstflow.pipeline.catalogue.algorithms import NAMES

from . import graphs as graph_list
from .graphs import GRAPHS, Graph, parse_options
from .measure import Benchmark, Facts, Row, in_turn, run, touch_memory
from .memory import memory, reset_peak
from .tables import Table, milliseconds, peak, ratio

#: The most edges of codes that make Python objects of all edges, and so need minutes and gigabytes.
MOST_EDGES = {"networkx": 1_000_000, "igraph": 20_000_000}
WARM_UP_EDGES = 1_000
#: A shorter solve is repeated, because a single one mostly measures cold caches.
SHORT_SECONDS, REPEATS = 0.02, 20
#: Options of `minimum_spanning_forest`; other options are values of the algorithm.
CALL_OPTIONS = {"backend", "strategy", "partitions", "scheduler", "memory", "split_every"}
#: A code prepared for a graph: a function that is timed, and one that returns its answer.
Prepared = tuple[Callable[[], Any], Callable[[Any], Facts]]


def compare(
    graphs: Sequence[str],
    codes: Sequence[str],
    threads: Sequence[int] = (1,),
    rounds: int = 5,
    budget: float | None = None,
    limit: float | None = None,
    external: Mapping[str, str] | None = None,
    run: Callable[..., Facts] = run,
) -> Iterator[Row]:
    """Measure all codes on all graphs in turn.

    The first code is the reference of ratios. Each process is pinned to a number of processors from
    `threads`; codes that use one thread are only measured with the first number. After `budget`
    seconds of solving, the measurement of a code on a graph ends; a process is killed after `limit`
    seconds. `external` has commands of other programs by name.
    """
    commands = {code: [sys.executable, "-m", "benchmarks.codes", code] for code in codes}
    commands |= {name: shlex.split(command) for name, command in (external or {}).items()}
    cases = []
    for graph in graphs:
        folder = graph_list.ensure(graph)
        description, _ = GRAPHS.get(graph, ("", ""))
        sizes = {"description": description, **graph_list.describe(folder)}
        for count, (code, command) in itertools.product(threads, commands.items()):
            if count == threads[0] or code not in codes or uses_threads(code):
                names = {"graph": graph_list.title(graph), **sizes, "code": code, "threads": count}
                cases.append((names, partial(run, [*command, str(folder)], count, limit)))
    return in_turn(cases, rounds, budget)


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


def main(code: str, folder: str) -> None:
    """Print the measurement of a solve, or the error."""
    threads = int(os.environ.get("MST_THREADS", "1"))
    try:
        prepared = prepare(code, Path(folder), threads)
        touch_memory()
        facts = solve_one(*prepared)
    except ModuleNotFoundError as error:
        facts = {"error": f"{error.name} is not installed"}
    except MstflowError as error:
        facts = {"error": str(error)}
    print(json.dumps(facts))


def solve_one(solve: Callable[[], Any], answer: Callable[[Any], Facts]) -> Facts:
    """Solve once, or several times if one solve is short; `seconds` is the median."""
    reset_peak()  # which may be that of loading
    before = memory("VmRSS")
    seconds, forest = _timed(solve)
    facts = {"peak": memory("VmHWM") - before, **answer(forest)}
    if seconds < SHORT_SECONDS:
        seconds = statistics.median(_timed(solve)[0] for _ in range(REPEATS))
    return {"seconds": seconds, **facts}


def prepare(code: str, folder: Path, threads: int) -> Prepared:
    """Prepare a code for the graph in a folder; only mstflow uses several threads."""
    name, graph = name_of(code), graph_list.load(folder)
    if name == "mstflow":
        return _mstflow(code, graph, threads)
    if len(graph.u) > MOST_EDGES.get(name, len(graph.u)):
        message = f"{name} is not measured on more than {MOST_EDGES[name]:,} edges"
        raise OptionError(message)
    return CODES[name](graph)


def _mstflow(code: str, graph: Graph, threads: int) -> Prepared:
    """Prepare mstflow: run every stage once, on a small graph of the same dtypes and density."""
    import mstflow
    from mstflow.primitives import backends
    from mstflow.testing import EVERY_STAGE

    options = parse_options(code.partition(":")[2])
    options.pop("threads", None)
    name = options.pop("algorithm", "auto")
    call = {name: options.pop(name) for name in CALL_OPTIONS & options.keys()}
    solve: Callable[..., mstflow.Forest] = partial(
        mstflow.minimum_spanning_forest, threads=threads, progress=False, **call
    )
    names = ["filter-kruskal", "filter-boruvka"] if name == "auto" else [name]
    algorithms = [mstflow.algorithm(each) for each in names]
    measured = algorithms[0].given(**options) if options else name  # "auto" chooses

    u, v, w = (column[:WARM_UP_EDGES] for column in graph[:3])
    few = max(1, len(u) * graph.n // max(len(graph.u), 1))
    usable = [each for each in ("numpy", "numba") if each in backends()]  # choices of "auto"
    warmed_up = [call["backend"]] if "backend" in call else usable
    for backend, pipeline in itertools.product(warmed_up, algorithms):
        values = {key: value for key, value in EVERY_STAGE.items() if key in pipeline.values}
        pipeline = pipeline.given(**values)
        solve((u % few, v % few, w), num_vertices=few, algorithm=pipeline, backend=backend)

    def answer(forest: mstflow.Forest) -> Facts:
        solver = f"{forest.algorithm}, {forest.backend}"
        return {**_answer(graph, forest.edge_ids), "solver": solver}

    return partial(solve, graph[:3], num_vertices=graph.n, algorithm=measured), answer


def _scipy(graph: Graph) -> Prepared:
    """Prepare scipy, which adds parallel edges and drops edges of weight zero."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import minimum_spanning_tree

    def solve() -> Any:
        matrix = coo_array((graph.w, (graph.u, graph.v)), (graph.n, graph.n)).tocsr()
        return minimum_spanning_tree(matrix)

    return solve, lambda tree: {"found": int(tree.nnz), "weight": _total(tree.data)}


def _igraph(graph: Graph) -> Prepared:
    import igraph

    def solve() -> NDArray[np.int64]:
        # Lists of Python numbers are faster: igraph reads arrays item by item.
        ends = list(zip(graph.u.tolist(), graph.v.tolist(), strict=True))
        whole = igraph.Graph(n=graph.n, edges=ends)
        edge_ids = whole.spanning_tree(weights=graph.w.tolist(), return_tree=False)
        return np.array(edge_ids, dtype=np.int64)

    return solve, partial(_answer, graph)


def _networkx(graph: Graph) -> Prepared:
    import networkx

    def solve() -> list[Any]:
        whole = networkx.MultiGraph()
        whole.add_nodes_from(range(graph.n))
        columns = (column.tolist() for column in graph[:3])
        whole.add_weighted_edges_from(zip(*columns, strict=True))
        return list(networkx.minimum_spanning_edges(whole, keys=False))

    def answer(edges: list[Any]) -> Facts:
        total = sum(float(attributes["weight"]) for _, _, attributes in edges)
        return {"found": len(edges), "weight": total}

    return solve, answer


CODES: dict[str, Callable[..., Prepared]] = {
    "mstflow": _mstflow,
    "scipy": _scipy,
    "igraph": _igraph,
    "networkx": _networkx,
}


def _answer(graph: Graph, ids: NDArray[np.int64]) -> Facts:
    digest = hashlib.blake2b(np.sort(ids).astype("<i8").tobytes(), digest_size=8).hexdigest()
    return {"found": len(ids), "weight": _total(graph.w[ids]), "checksum": digest}


def _total(weights: NDArray[Any]) -> float:
    """Sum weights without overflow of their dtype."""
    return float(weights.sum(dtype=np.float64 if weights.dtype.kind == "f" else np.int64))


def _timed(solve: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    forest = solve()
    return time.perf_counter() - start, forest


def _compiled(algorithm: str) -> str:
    """Return the code that runs an algorithm on compiled kernels."""
    sequential = ",threads=1" if algorithm in ("filter-kruskal", "kruskal", "prim") else ""
    return f"mstflow:algorithm={algorithm},backend=numba{sequential}"


TINY = {"graphs": ["tiny"], "threads": [1], "rounds": 1}
SHARED = {"threads": [1, 2], "rounds": 3}
TIMES = {"ms": milliseconds(), "bytes per edge": peak("edges")}
README_GRAPHS = ("E", "G", "R", "N")
LINES, COLUMNS = ("graph", "description", "edges"), ("code", "threads")
RATIOS = Table(
    ("graph", "edges"), COLUMNS, {"ms": milliseconds(), "ratio": ratio()}, against=("threads",)
)

BENCHMARKS = {
    "codes": Benchmark(
        "mstflow, scipy, igraph and networkx on the named graphs",
        compare,
        {
            **SHARED,
            "graphs": ["E", "Ei", "E64", "E64i", "G", "G64", "Gs", "R", "C", "K", "N"],
            "codes": ["mstflow", "scipy", "igraph", "networkx"],
            "budget": 5,
        },
        TINY,
        {
            "codes": Table(LINES, COLUMNS, TIMES),
            "codes-readme": Table(
                LINES,
                COLUMNS,
                {"ms": milliseconds()},
                lambda row: row["graph"] in README_GRAPHS,
            ),
        },
    ),
    "algorithms": Benchmark(
        "all algorithms on E, with weights of 32 and 64 bits",
        compare,
        {**SHARED, "graphs": ["E", "E64"], "codes": [*map(_compiled, NAMES)], "budget": 20},
        TINY,
        {"algorithms": Table(("code",), ("graph", "threads"), TIMES)},
    ),
}

if __name__ == "__main__":
    main(*sys.argv[1:])
