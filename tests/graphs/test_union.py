"""minimum_spanning_forests: many graphs in one run."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mstflow
from graph_strategies import edge_lists
from mstflow.errors import GraphError, OptionError, OutOfMemoryError
from mstflow.graphs.union import unions_of


@given(st.lists(edge_lists(), max_size=5), st.booleans(), st.sampled_from(mstflow.backends()))
def test_forests_are_those_of_single_calls(many, maximum, backend):
    options = {"maximum": maximum, "backend": backend}
    found = mstflow.minimum_spanning_forests(many, **options)
    assert len(found) == len(many)
    for forest, graph in zip(found, many, strict=True):
        alone = mstflow.minimum_spanning_forest(graph, **options)
        assert forest.edge_ids.tolist() == alone.edge_ids.tolist()
        assert forest.num_vertices == alone.num_vertices
        assert forest.labels.tolist() == alone.labels.tolist()
        assert repr(forest.total_weight) == repr(alone.total_weight)


@pytest.mark.parametrize("weights", [np.int64, np.float32])
@pytest.mark.parametrize("ids", [np.uint8, np.int32, np.int64])
def test_plain_columns_are_adopted_together(ids, weights):
    rng = np.random.default_rng(2)
    many = [
        (*rng.integers(0, 20, (2, 30)).astype(ids), rng.integers(0, 5, 30).astype(weights))
        for _ in range(40)
    ]
    for forest, graph in zip(mstflow.minimum_spanning_forests(many), many, strict=True):
        alone = mstflow.minimum_spanning_forest(graph)
        assert forest.edge_ids.tolist() == alone.edge_ids.tolist()
        assert forest.num_vertices == alone.num_vertices
        assert forest.graph.u is graph[0]


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("weights", [np.int8, np.uint64, np.float32, np.float64])
def test_several_unions_of_small_graphs(monkeypatch, weights, threads):
    monkeypatch.setattr("mstflow.graphs.union.TOGETHER", 30)
    monkeypatch.setattr("mstflow.runtime.team._SMALLEST_SHARE", 1)
    rng = np.random.default_rng(4)
    many = [
        (*rng.integers(0, m // 3 + 1, (2, m)), rng.integers(0, 100, m).astype(weights))
        for m in (*range(1, 70), 3000)
    ]
    many[40] = mstflow.EdgeList(*many[40], num_vertices=200)
    found = mstflow.minimum_spanning_forests(many, threads=threads, backend="numba")
    for forest, graph in zip(found, many, strict=True):
        alone = mstflow.minimum_spanning_forest(graph, backend="numpy")
        assert forest.edge_ids.tolist() == alone.edge_ids.tolist()
        assert forest.num_vertices == alone.num_vertices


def test_weights_that_need_all_bits_to_be_sorted():
    """Most keys are equal in their top bits, so insertion would take too many moves."""
    rng = np.random.default_rng(5)
    weight = rng.random(2000)
    weight[::1000] = 1e300
    many = [(*rng.integers(0, 500, (2, 2000)), weight)] * 2
    for forest in mstflow.minimum_spanning_forests(many, backend="numba"):
        alone = mstflow.minimum_spanning_forest(many[0], backend="numpy")
        assert forest.edge_ids.tolist() == alone.edge_ids.tolist()


def test_distant_vertices():
    """The vertices of one graph are too many for the kernel of small graphs."""
    many = [GOOD, (np.array([0, 1, 7]), np.array([10**6, 10**6, 1]), np.array([2, 1, 3.0]))]
    first, second = mstflow.minimum_spanning_forests(many, backend="numba")
    assert (first.edge_ids.tolist(), second.edge_ids.tolist()) == ([0, 1], [0, 1, 2])


@pytest.mark.parametrize("convert", [tuple, lambda columns: mstflow.EdgeList(*columns)])
def test_graphs_of_many_vertices_are_in_several_unions(monkeypatch, convert):
    monkeypatch.setattr("mstflow.graphs.union._MOST_VERTICES", 60)
    rng = np.random.default_rng(6)
    many = [
        convert((*rng.integers(0, n, (2, 40)), rng.integers(0, 9, 40)))
        for n in (20, 20, 50, 10, 100, 200, 5, 5, 5)
    ]
    sizes = [union.graph.num_vertices for union in unions_of(many, "weight")]
    assert len(sizes) == 5
    for forest, graph in zip(mstflow.minimum_spanning_forests(many), many, strict=True):
        assert forest.edge_ids.tolist() == mstflow.minimum_spanning_forest(graph).edge_ids.tolist()


@pytest.mark.parametrize("backend", mstflow.backends())
@pytest.mark.parametrize("largest", [2**62 - 1, 2**63 - 3])
def test_numbers_of_vertices_do_not_overflow(largest, backend):
    graph = np.array([0, 1]), np.array([1, largest]), np.array([1, 2])
    with pytest.raises(OutOfMemoryError, match=f"vertex id {largest}"):
        mstflow.minimum_spanning_forests([graph] * 4, backend=backend)


@pytest.mark.parametrize("place", ["mstflow.pipeline.engine.execute", "mstflow.graphs.union.empty"])
def test_failed_allocations_name_the_graphs(monkeypatch, place):
    def fail(*_, **__):
        raise MemoryError("no space")

    monkeypatch.setattr("mstflow.graphs.union.TOGETHER", 3)
    monkeypatch.setattr(place, fail)
    with pytest.raises(OutOfMemoryError, match=r"^graphs 0 to 2: .*no space"):
        mstflow.minimum_spanning_forests([mstflow.EdgeList(*GOOD)] * 5)
    with pytest.raises(OutOfMemoryError, match=r"^graph 0: .*no space"):
        mstflow.minimum_spanning_forests([mstflow.EdgeList(*GOOD)])


def test_errors_in_later_unions(monkeypatch):
    monkeypatch.setattr("mstflow.graphs.union.TOGETHER", 2)
    with pytest.raises(GraphError, match="graph 3: edge 1: u is -1"):
        mstflow.minimum_spanning_forests([GOOD, GOOD, GOOD, (np.array([0, -1]), *GOOD[1:])])


GOOD = (np.array([0, 1]), np.array([1, 2]), np.array([0.5, 0.25]))


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ((np.array([0, -1]), *GOOD[1:]), "graph 1: edge 1: u is -1"),
        ((GOOD[0], np.array([1, -7]), GOOD[2]), "graph 1: edge 1: v is -7"),
        ((*GOOD[:2], np.array([0, np.nan])), "graph 1: edge 1: the weight is NaN"),
        ((*GOOD[:2], np.array([0.5])), "graph 1: columns differ in length"),
        ((np.array([0.5, 1]), *GOOD[1:]), "graph 1: u must hold integers"),
        ((GOOD[0], np.array([1, 2**63 - 1]), GOOD[2]), "graph 1: vertex id 9223372036854775807"),
        (([0, 1], [1, -2], [1, 2]), "graph 1: edge 1: v is -2"),
        (5, "graph 1: expected a graph"),
    ],
)
def test_errors_name_the_graph(bad, message):
    with pytest.raises(GraphError, match=message):
        mstflow.minimum_spanning_forests([GOOD, bad, GOOD])


@pytest.mark.parametrize("largest", [10**15, 2**62])
@pytest.mark.parametrize("ids", [np.int64, np.uint64])
def test_too_many_vertices(largest, ids):
    """The error names the graph and its own ids of edge and vertex, not those of the union."""
    bad = (np.array([0, 1], ids), np.array([1, largest], ids), GOOD[2])
    message = f"^graph 2: edge 1: vertex id {largest}: not enough memory for {largest + 1:,} vert"
    with pytest.raises(OutOfMemoryError, match=message):
        mstflow.minimum_spanning_forests([GOOD, GOOD, bad, bad, GOOD])


def test_lists_as_columns():
    many = [([0, 1], [1, 2], [0.5, 0.25])] * 2
    assert [len(forest.edge_ids) for forest in mstflow.minimum_spanning_forests(many)] == [2, 2]


def test_names_of_weights():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"u": [0, 0, 1], "v": [1, 1, 2], "a": [2, 1, 1], "b": [1, 2, 1]})
    for name, expected in (("a", [1, 2]), ("b", [0, 2]), (None, [0, 2])):
        forests = mstflow.minimum_spanning_forests([frame, frame], weight=name)
        assert [forest.edge_ids.tolist() for forest in forests] == [expected] * 2
    with pytest.raises(OptionError, match=r"graph 1: .*'c'"):
        mstflow.minimum_spanning_forests([frame.rename(columns={"a": "c"}), frame], weight="c")
