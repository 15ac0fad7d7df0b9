"""Numbers of threads: the same edge ids from all of them, whatever the order of their shares."""

import random

import numpy as np
import pytest

import mstflow
from graph_strategies import union_of_many
from mstflow.graphs.generate.families import FAMILIES
from mstflow.runtime.team import Team

pytestmark = pytest.mark.skipif("numba" not in mstflow.backends(), reason="needs numba")

ROUNDS = {"few": 0, "scattered": 0, "small": 0, "dense": 1.0}
PIPELINES = [
    mstflow.algorithm("filter-boruvka").given(**ROUNDS),
    mstflow.algorithm("filter-boruvka").given(small=0),
]
#: A team of 64 threads takes long to wake on few processors.
THREADS = {1: PIPELINES, 2: PIPELINES, 3: PIPELINES, 8: PIPELINES, 64: PIPELINES[:1]}


def graphs():
    """Yield graphs with ties, of several dtypes and families."""
    for dtype in ("?", "i8", "f4"):
        drawn = union_of_many(12, dtype)
        yield (drawn.u, drawn.v, drawn.weight), drawn.num_vertices
    for family, options in (
        ("grid", {"rows": 20, "columns": 20}),
        ("rmat", {"scale": 8, "weights": "int:1:9"}),
        ("random", {"vertices": 300, "edges": 2000, "weights": "float64"}),
    ):
        made = FAMILIES[family](**options)
        yield made.edges(0, made.num_edges), made.num_vertices


@pytest.fixture
def small_shares(monkeypatch):
    """Give a share to each thread, even for few elements."""
    monkeypatch.setattr("mstflow.runtime.team._SMALLEST_SHARE", 3)
    monkeypatch.setattr("mstflow.primitives.numba.arrays._SORTED_TOGETHER", 2)


def solve(columns, num_vertices, pipeline, threads):
    return mstflow.minimum_spanning_forest(
        columns, num_vertices=num_vertices, algorithm=pipeline, backend="numba", threads=threads
    ).edge_ids.tolist()


@pytest.mark.usefixtures("small_shares")
def test_numbers_of_threads_give_equal_ids():
    for columns, num_vertices in graphs():
        expected = mstflow.minimum_spanning_forest(
            columns, num_vertices=num_vertices, backend="numpy"
        ).edge_ids.tolist()
        for threads, pipelines in THREADS.items():
            for pipeline in pipelines:
                assert solve(columns, num_vertices, pipeline, threads) == expected


@pytest.mark.usefixtures("small_shares")
def test_shares_may_run_in_any_order(monkeypatch):
    """A share that reads what another share of its section writes would give other ids."""
    rng = random.Random(5)

    def call(_, function, arguments):
        tasks = list(enumerate(arguments))
        rng.shuffle(tasks)
        results = {place: function(*each) for place, each in tasks}
        return [results[place] for place in range(len(results))]

    every = list(graphs())
    expected = [solve(*graph, PIPELINES[0], 1) for graph in every]
    monkeypatch.setattr(Team, "call", call)
    for _ in range(3):
        for graph, ids in zip(every, expected, strict=True):
            assert np.array_equal(solve(*graph, PIPELINES[0], rng.choice((2, 3, 16))), ids)
            assert np.array_equal(solve(*graph, PIPELINES[1], rng.choice((2, 3, 16))), ids)
