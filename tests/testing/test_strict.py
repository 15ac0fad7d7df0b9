"""Every algorithm, strategy and scheduler on the strict array module, and its refusals."""

import numpy as np
import pytest

import mstflow
from covering import covering
from mstflow.errors import OptionError
from mstflow.testing import EVERY_STAGE, StrictArrays
from oracle import kruskal
from strategy_names import ANY_ALGORITHM, ANY_GRAPH, SINGLE

STRICT = StrictArrays()
RANDOM = np.random.default_rng(6)
GRAPH = mstflow.EdgeList(*RANDOM.integers(0, 40, (2, 200)), RANDOM.integers(-3, 4, 200) / 2)


def through_all(name):
    pipeline = mstflow.algorithm(name)
    return pipeline.given(**{k: v for k, v in EVERY_STAGE.items() if k in pipeline.values})


@pytest.mark.parametrize("name", mstflow.algorithms())
@pytest.mark.parametrize("strategy", ANY_ALGORITHM)
def test_algorithms_and_strategies(name, strategy):
    partitions = 1 if strategy in SINGLE else 3
    forest = mstflow.minimum_spanning_forest(
        GRAPH,
        algorithm=through_all(name),
        backend=STRICT,
        strategy=strategy,
        partitions=partitions,
    )
    assert forest.edge_ids.tolist() == kruskal(GRAPH).tolist()
    assert forest.backend == "strict"


@pytest.mark.parametrize("strategy", ANY_GRAPH)
def test_the_default_with_every_strategy(strategy):
    forest = mstflow.minimum_spanning_forest(GRAPH, backend=STRICT, strategy=strategy)
    assert forest.edge_ids.tolist() == kruskal(GRAPH).tolist()
    assert forest.labels.tolist() == mstflow.minimum_spanning_forest(GRAPH).labels.tolist()


def test_tiles():
    grid = mstflow.grid(RANDOM.random((30, 40), "f4"))
    forest = mstflow.minimum_spanning_forest(grid, backend=STRICT, strategy="tiles", partitions=3)
    expected = mstflow.minimum_spanning_forest(grid, strategy="whole")
    assert forest.edge_ids.tolist() == expected.edge_ids.tolist()
    assert forest.strategy == "tiles"


@pytest.mark.parametrize(
    ("name", "scheduler"),
    [
        ("filter-boruvka", "processes"),
        *covering(
            ["karger-klein-tarjan", "filter-boruvka", "filter-kruskal"], ["synchronous", "threads"]
        ),
    ],
)
def test_schedulers(name, scheduler):
    forest = mstflow.minimum_spanning_forest(
        GRAPH, algorithm=through_all(name), backend=STRICT, scheduler=scheduler, partitions=3
    )
    assert forest.edge_ids.tolist() == kruskal(GRAPH).tolist()


@pytest.mark.parametrize("strategy", ["iterate", "tree"])
def test_a_cluster(cluster, strategy):
    """The workers get the module itself."""
    forest = mstflow.minimum_spanning_forest(
        GRAPH,
        algorithm=through_all("karger-klein-tarjan"),
        backend=STRICT,
        scheduler=cluster,
        strategy=strategy,
        partitions=3,
    )
    assert forest.edge_ids.tolist() == kruskal(GRAPH).tolist()


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda a: np.flatnonzero(a), "passed to NumPy"),
        (lambda a: a + np.arange(3), "the other operand is a ndarray"),
        (lambda a: a.__setitem__(0, 1), "cannot be changed"),
        (lambda a: [*a], "use tolist"),
        (lambda a: bool(a), "use ops.count or len"),
        (lambda a: a[a], "use ops.gather"),
        (lambda a: a.astype("int8"), "no 'astype'"),
        (lambda a: STRICT.sort(np.arange(3)), "convert it with ops.asarray"),
    ],
)
def test_refusals(use, message):
    with pytest.raises((TypeError, AttributeError), match=message):
        use(STRICT.arange(3, "int32"))


def test_other_objects_are_no_backends():
    with pytest.raises(OptionError, match="or pass an array module"):
        mstflow.minimum_spanning_forest(GRAPH, backend=np)
