"""Any number of threads returns the same edge ids, in any order of their shares."""

import random

import numpy as np
import pytest

import mstflow
from graph_strategies import FAMILY_SIZES, WEIGHT_DTYPES, union_of_many
from mstflow.doors.generated.families import FAMILIES
from mstflow.runtime.sizes import tuned
from mstflow.runtime.team import Team
from mstflow.testing import EVERY_STAGE

pytestmark = pytest.mark.skipif("numba" not in mstflow.backends(), reason="needs numba")

PIPELINES = [
    mstflow.algorithm(name).given(**EVERY_STAGE) for name in ("filter-boruvka", "filter-kruskal")
]
#: A team of 64 threads takes long to wake on few processors.
THREADS = {1: PIPELINES, 2: PIPELINES, 3: PIPELINES, 8: PIPELINES, 64: PIPELINES[:1]}


def graphs():
    """Yield unions of graphs with weights of each dtype, and each family with and without ties."""
    for dtype in WEIGHT_DTYPES:
        drawn = union_of_many(12, dtype)
        yield (drawn.u, drawn.v, drawn.weight), drawn.num_vertices
    for family, make in FAMILIES.items():
        for weights in ("int:1:9", "float64"):
            made = make(**FAMILY_SIZES[family], weights=weights)
            yield made.edges(0, made.num_edges), made.num_vertices


@pytest.fixture
def small_shares():
    """Give a share to each thread, even for few elements."""
    with tuned(smallest_share=3, sorted_together=2, lowered_together=20, run=8):
        yield


def solve(columns, num_vertices, pipeline, threads):
    return mstflow.minimum_spanning_forest(
        columns, num_vertices=num_vertices, algorithm=pipeline, backend="numba", threads=threads
    ).edge_ids.tolist()


@pytest.mark.usefixtures("small_shares")
@pytest.mark.parametrize("threads", THREADS)
def test_numbers_of_threads_give_equal_ids(request, threads):
    for columns, num_vertices in graphs():
        expected = mstflow.minimum_spanning_forest(
            columns, num_vertices=num_vertices, backend="numpy"
        ).edge_ids.tolist()
        for pipeline in THREADS[threads] * request.config.getoption("--runs"):
            assert solve(columns, num_vertices, pipeline, threads) == expected


@pytest.mark.usefixtures("small_shares")
def test_shares_may_run_in_any_order(monkeypatch):
    """A share that reads what another share of its call writes would give other ids."""
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
