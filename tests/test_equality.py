"""Every algorithm, scheduler, strategy and partitioning returns the edge ids of the oracle."""

import dask
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mstflow
from graph_strategies import edge_lists, union_of_many
from mstflow.testing import EVERY_STAGE
from oracle import components, kruskal

#: The default joins few edges directly; this makes small graphs pass the filter and rounds, too.
THROUGH_ALL = mstflow.algorithm("filter-boruvka").given(**EVERY_STAGE)
SPLITS = [("whole", 1), *((s, k) for s in ("tree", "iterate") for k in (1, 3, 8))]


@pytest.fixture(params=[*mstflow.algorithms(), "filter-boruvka, every stage"], scope="module")
def algorithm(request):
    return THROUGH_ALL if request.param == "filter-boruvka, every stage" else request.param


@pytest.mark.parametrize("backend", mstflow.backends())
@given(graph=edge_lists(), maximum=st.booleans(), split_every=st.integers(2, 4))
def test_inline_equals_oracle(algorithm, backend, graph, maximum, split_every):
    expected = kruskal(graph, maximum)
    for strategy, partitions in SPLITS:
        forest = mstflow.minimum_spanning_forest(
            graph,
            maximum=maximum,
            algorithm=algorithm,
            backend=backend,
            strategy=strategy,
            partitions=partitions,
            split_every=split_every,
        )
        assert forest.edge_ids.tolist() == expected.tolist(), (strategy, partitions)


@given(graph=edge_lists(), maximum=st.booleans(), every_stage=st.booleans())
def test_backends_agree(graph, maximum, every_stage):
    found = [
        mstflow.minimum_spanning_forest(
            graph,
            maximum=maximum,
            algorithm=THROUGH_ALL if every_stage else "filter-boruvka",
            backend=backend,
        ).edge_ids.tolist()
        for backend in mstflow.backends()
    ]
    assert all(ids == found[0] for ids in found)


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


#: Two algorithms that contain most kinds of stages, for slow tests.
SOME = {"filter-boruvka, every stage": THROUGH_ALL, "boruvka-csr": "boruvka-csr"}


@pytest.mark.parametrize(("strategy", "dtype"), [("tree", "f8"), ("iterate", "i8")])
@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
def test_threads_equal_oracle(algorithm, scheduler, strategy, dtype, examples, request):
    check_on_dask(algorithm, scheduler, strategy, dtype, examples, request)


@pytest.mark.parametrize(("strategy", "dtype"), [("tree", "f8"), ("iterate", "i8")])
@pytest.mark.parametrize("name", SOME)
def test_processes_equal_oracle(name, strategy, dtype, examples, request):
    """The scheduler "processes" runs the same tasks, on a cluster that it starts and closes."""
    check_on_dask(SOME[name], "distributed", strategy, dtype, examples, request)


def check_on_dask(algorithm, scheduler, strategy, dtype, examples, request):
    graph = union_of_many(examples, dtype)
    expected = kruskal(graph)
    for partitions in (3, 8):  # eight merge in two levels
        forest = mstflow.minimum_spanning_forest(
            graph,
            algorithm=algorithm,
            scheduler=request.getfixturevalue("cluster")
            if scheduler == "distributed"
            else scheduler,
            strategy=strategy,
            partitions=partitions,
            threads=None if scheduler == "distributed" else 2,
        )
        assert forest.scheduler.split()[0] == scheduler
        assert forest.edge_ids.tolist() == expected.tolist()


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
        for threads in (1, 2, 5)
    ]
    assert all(ids == found[0] for ids in found)


@pytest.mark.parametrize("algorithm", ["filter-boruvka", "boruvka-csr"])
def test_new_york_on_every_scheduler(algorithm, new_york, cluster):
    expected = None
    for scheduler in ("inline", "threads", "processes", cluster):
        splits = ("iterate", 3), ("tree", 8), ("whole", 1)
        for strategy, partitions in splits[:1] if scheduler == "processes" else splits:
            forest = mstflow.minimum_spanning_forest(
                new_york,
                algorithm=algorithm,
                scheduler=scheduler,
                strategy=strategy,
                partitions=partitions,
            )
            if expected is None:
                expected = forest.edge_ids
                assert forest.total_weight == 261159288
            assert np.array_equal(forest.edge_ids, expected), (scheduler, strategy, partitions)


def test_other_names_of_a_cluster(cluster, new_york):
    address = cluster.scheduler.address
    by_address = mstflow.minimum_spanning_forest(new_york, scheduler=address)
    assert (by_address.scheduler, by_address.strategy, by_address.partitions) == (
        f"distributed ({address})", "tree", 2,
    )  # fmt: skip
    with cluster.as_current():
        by_dask = mstflow.minimum_spanning_forest(new_york, scheduler="dask", partitions=3)
    assert by_dask.scheduler == f"distributed ({address})"
    assert np.array_equal(by_address.edge_ids, by_dask.edge_ids)


@pytest.mark.parametrize(("name", "scheduler"), [(None, "threads"), ("sync", "synchronous")])
def test_dask_without_a_cluster_follows_its_configuration(new_york, name, scheduler):
    with dask.config.set({"scheduler": name} if name else {}):
        forest = mstflow.minimum_spanning_forest(new_york, scheduler="dask", partitions=2)
    assert forest.scheduler == scheduler
    assert forest.total_weight == 261159288
