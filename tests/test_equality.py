"""Edge ids equal those of Kruskal in plain Python, however a graph is solved."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mstflow
from covering import covering
from graph_strategies import edge_lists, union_of_many
from mstflow.testing import EVERY_STAGE
from oracle import components, kruskal
from strategy_names import ANY_ALGORITHM, SINGLE

#: The default joins few edges directly; this makes small graphs pass the filter and rounds, too.
THROUGH_ALL = mstflow.algorithm("filter-boruvka").given(**EVERY_STAGE)
#: Strategies with several partitions.
SPLIT = [name for name in ANY_ALGORITHM if name not in SINGLE]
ALGORITHMS = {name: name for name in mstflow.algorithms()} | {"every stage": THROUGH_ALL}


@pytest.mark.parametrize("backend", mstflow.backends())
@pytest.mark.parametrize("name", ALGORITHMS)
@given(
    graph=edge_lists(),
    maximum=st.booleans(),
    split=st.tuples(st.sampled_from(SPLIT), st.sampled_from([1, 3, 8])),
    split_every=st.integers(2, 4),
)
def test_inline_equals_oracle(name, backend, graph, maximum, split, split_every):
    """Each graph is solved as a whole, and in the partitions that are drawn."""
    expected = kruskal(graph, maximum)
    for strategy, partitions in (("whole", 1), split):
        forest = mstflow.minimum_spanning_forest(
            graph,
            maximum=maximum,
            algorithm=ALGORITHMS[name],
            backend=backend,
            strategy=strategy,
            partitions=partitions,
            split_every=split_every,
        )
        assert forest.edge_ids.tolist() == expected.tolist(), (strategy, partitions)


@given(graph=edge_lists())
def test_results_derived_from_edge_ids(graph):
    forest = mstflow.minimum_spanning_forest(graph)
    assert forest.edge_ids.dtype == np.int64
    labels = components(graph)
    assert forest.labels.dtype == np.int64
    assert forest.labels.tolist() == labels.tolist()
    assert forest.num_components == len(set(labels.tolist()))
    for column in ("u", "v", "weight"):
        expected = getattr(graph, column)[forest.edge_ids]
        assert getattr(forest, column).tolist() == expected.tolist()
        assert getattr(forest, column).dtype == expected.dtype


DTYPES = dict(zip(SPLIT, itertools.cycle(["f8", "i8"])))


@pytest.mark.parametrize(
    ("name", "scheduler", "strategy", "partitions"),
    covering(list(ALGORITHMS), ["synchronous", "threads"], list(DTYPES), [3, 8]),
)
def test_threads_equal_oracle(name, scheduler, strategy, partitions, examples):
    """Eight partitions merge in two levels."""
    graph = union_of_many(examples, DTYPES[strategy])
    options = {"strategy": strategy, "partitions": partitions, "threads": 2}
    forest = mstflow.minimum_spanning_forest(
        graph, algorithm=ALGORITHMS[name], scheduler=scheduler, **options
    )
    assert forest.scheduler.split()[0] == scheduler
    assert forest.edge_ids.tolist() == kruskal(graph).tolist()


@pytest.mark.parametrize(
    ("name", "strategy", "partitions"),
    covering(["every stage", "boruvka-csr"], list(DTYPES), [3, 8]),
)
def test_processes_equal_oracle(name, strategy, partitions, examples, cluster):
    """The scheduler "processes" runs the same tasks, on a cluster that it starts and closes.

    These two algorithms contain most kinds of stages.
    """
    graph = union_of_many(examples, DTYPES[strategy])
    options = {"strategy": strategy, "partitions": partitions}
    forest = mstflow.minimum_spanning_forest(
        graph, algorithm=ALGORITHMS[name], scheduler=cluster, **options
    )
    assert forest.scheduler.split()[0] == "distributed"
    assert forest.edge_ids.tolist() == kruskal(graph).tolist()


@pytest.mark.parametrize("dtypes", ["i4 f4", "i8 f8", "u4 i8", "u8 u1", "i2 f2"])
@pytest.mark.parametrize("maximum", [False, True])
def test_backends_agree_on_graphs_that_threads_share(dtypes, maximum):
    ids, weights = dtypes.split()
    random = np.random.default_rng(5)
    u, v = random.integers(0, 20_000, (2, 200_000)).astype(ids)
    w = (random.random(len(u)) * 200).astype(weights)
    found = [
        mstflow.minimum_spanning_forest(
            (u, v, w), maximum=maximum, backend=backend, threads=threads
        ).edge_ids.tolist()
        for backend in mstflow.backends()
        for threads in ((1, 2, 5) if backend == "numba" else (1,))
    ]
    assert all(ids == found[0] for ids in found)


def test_new_york_on_every_scheduler(new_york, cluster):
    """The tests of `tests/test_real_graphs.py` run every algorithm."""
    expected = mstflow.minimum_spanning_forest(new_york).edge_ids
    for scheduler, strategy, partitions, algorithm in (
        ("inline", "iterate", 3, "boruvka-csr"),
        ("threads", "tree", 8, "filter-boruvka"),
        ("processes", "iterate", 3, "filter-boruvka"),
        (cluster, "tree", 8, "boruvka-csr"),
    ):
        forest = mstflow.minimum_spanning_forest(
            new_york,
            algorithm=algorithm,
            scheduler=scheduler,
            strategy=strategy,
            partitions=partitions,
        )
        assert np.array_equal(forest.edge_ids, expected), (scheduler, strategy)
