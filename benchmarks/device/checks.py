"""Checks of a GPU: forests compared with NumPy's, and the tests of primitives, also sanitized."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
import traceback
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import mstflow
from mstflow.primitives import resolve_backend
from mstflow.runtime.device import host_array

from .. import graphs as graph_list
from ..graphs import ROOT, Graph
from ..measure import Row
from ..primitives import solver
from .gpu import on_device

GRAPHS = (
    "random:n=20000,m=80000",
    "random:n=500,m=80000",
    "rmat:scale=12",
    "grid:rows=150,columns=150,keep=0.65,shuffle_vertices=True,shuffle_edges=True",
    "connected-caveman:cliques=100,size=30",
    "caveman:cliques=100,size=30",
    "circulant:n=10000,degree=5",
    "hypercube:dimension=12",
    "chain:n=50000",
    "star:n=50000",
    "complete:n=400",
)
WEIGHTS = ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8")
#: Graphs that are also solved with every strategy of streaming.
STREAMED = ("random:n=200000,m=3000000", "rmat:scale=18", "grid:rows=1000,columns=1000,keep=0.65")
STRATEGIES: tuple[dict[str, Any], ...] = (
    {"strategy": "fold"},
    {"strategy": "tree", "partitions": 5},
    {"strategy": "two-scan", "partitions": 1},
    {"strategy": "two-scan", "partitions": 5},
    {"strategy": "iterate", "partitions": 5},
    {"strategy": "whole", "maximum": True},
)
#: The tools of compute-sanitizer.
TOOLS = ("memcheck", "initcheck", "racecheck")
TESTS = ["-v", "--no-shrink", "-p", "no:cacheprovider", "-p", "no:benchmark"]
TESTS += ["tests/primitives/test_conformance.py"]
_OUTCOME = re.compile(r"::(\S+)\s+(PASSED|FAILED|ERROR)|(PASSED|FAILED|ERROR)\s+\S+::(\S+)")
#: Lines by which pytest reports a failed test, and the sanitizer an access or a hazard.
_FAULT = re.compile(r"E   .*|========= (?:Invalid|Uninit|Error|Warning|Program hit|.*hazard).*")


def forests(
    graphs: Sequence[str] = GRAPHS,
    weights: Sequence[str] = WEIGHTS,
    streamed: Sequence[str] = STREAMED,
    real: Sequence[str] = ("N",),
) -> Iterator[Row]:
    """Yield a comparison for each graph and algorithm, dtype or strategy.

    The graphs `real` are solved by the default alone. If a solve fails, the row has the error.
    """
    resolve_backend("cupy", 0)
    for name in graphs:
        graph = graph_list.load_named(name)
        for algorithm in mstflow.algorithms():
            if algorithm != "prim":  # it processes one edge after another
                yield {"graph": name, **_compare(graph, algorithm)}
        for dtype, ids in itertools.product(weights, (np.int32, np.int64)):
            # Random order with many ties, zeros and negative weights.
            drawn = np.random.default_rng(len(graph.u)).integers(-50, 50, len(graph.u))
            weight = (abs(drawn) if dtype[0] in "?u" else drawn).astype(dtype)
            tied = Graph(graph.u.astype(ids), graph.v.astype(ids), weight, graph.n)
            names = {"graph": name, "weights": dtype, "ids": np.dtype(ids).name}
            yield {**names, **_compare(tied, "filter-boruvka")}
    for name in real:
        yield {"graph": name, **_compare(graph_list.load_named(name), "auto")}
    for name in streamed:
        graph = graph_list.load_named(name)
        mixed = graph._replace(u=graph.u.astype(np.int64))
        for options in STRATEGIES:
            yield {"graph": name, **options, **_compare(mixed, "auto", **options)}


def _compare(graph: Graph, algorithm: str, **options: Any) -> Row:
    """Solve a graph with NumPy, and on the GPU from columns of the host and of the device."""
    row = {"algorithm": algorithm, "edges": len(graph.u)}
    maximum = options.get("maximum", False)
    expected = solver(graph, backend="numpy", maximum=maximum)().edge_ids
    try:
        from_host = solver(graph, backend="cupy", algorithm=algorithm, **options)().edge_ids
        from_device = solver(on_device(graph), algorithm=algorithm, **options)().edge_ids
        found = map(host_array, (from_host, from_device))
        is_equal = all(np.array_equal(expected, edge_ids) for edge_ids in found)
        return {**row, "is_equal": is_equal}
    except Exception as error:  # of any library
        message = traceback.format_exception_only(error)[-1].strip()
        return {**row, "is_equal": False, "error": message}


def primitives(
    options: Sequence[str] = (), command: Sequence[str] = (), selection: str = "cupy"
) -> Iterator[Row]:
    """Yield the outcome of each test of a primitive, and each fault.

    `options` are those of pytest, `command` is a program that runs it, such as
    ``compute-sanitizer``, and `selection` is pytest's expression of names of tests (``-k``).
    """
    pytest = [sys.executable, "-m", "pytest", *TESTS, *options, "-k", selection]
    with subprocess.Popen(
        [*command, *pytest], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout
        for line in process.stdout:
            print(line, end="", flush=True)
            if match := _OUTCOME.search(line):
                test, outcome = filter(None, match.groups() if match[1] else match.groups()[::-1])
                yield {"test": test, "outcome": outcome}
            elif _FAULT.match(line):
                yield {"fault": line.strip()}
    if process.returncode:
        message = f"{[*command, 'pytest'][0]} ended with status {process.returncode}"
        raise RuntimeError(message)
