"""minimum_spanning_forests: many small graphs in one run."""

import copy
import dataclasses
import pickle

import numpy as np
import pandas
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mstflow
from graph_strategies import edge_lists
from mstflow.errors import GraphError, OptionError, OutOfMemoryError
from mstflow.graphs.disjoint_union import SMALL, batches, small_graph
from mstflow.graphs.source import EdgeSource

GOOD = (np.array([0, 1]), np.array([1, 2]), np.array([0.5, 0.25]))


@pytest.mark.parametrize("weights", ["i1", "i8", "u8", "f4", "f8"])
@pytest.mark.parametrize("ids", ["u1", "i4", "i8"])
def test_graphs_of_many_sizes(ids, weights):
    """Sparse and dense graphs, with few and many equal weights, in one run."""
    rng = np.random.default_rng(4)
    many = [
        (*rng.integers(0, min(m // 3 + 1, 250), (2, m)).astype(ids), weight.astype(weights))
        for m in (*range(1, 70), 1900)
        for weight in (rng.integers(0, 3, m), rng.integers(0, 100, m))
    ]
    found = mstflow.minimum_spanning_forests(many, threads=2, backend="numba")
    for forest, graph in zip(found, many, strict=True):
        alone = mstflow.minimum_spanning_forest(graph, backend="numpy")
        assert forest.edge_ids.tolist() == alone.edge_ids.tolist()
        assert forest.num_vertices == alone.num_vertices
        assert forest.graph.u is graph[0]


def test_batches():
    """A batch doubles until it is large, so an iterator is not read far ahead."""
    assert [*map(len, batches([GOOD] * 100, most_graphs=30))] == [30, 30, 30, 10]
    assert [*map(len, batches([GOOD] * 20, most_edges=4))] == [4] * 5
    assert [*batches([])] == []
    graphs = iter(range(20))  # of unknown size
    assert next(batches(graphs, most_edges=SMALL)) == [0, 1]
    assert next(graphs) == 2


def test_weights_that_differ_in_their_lowest_bits():
    rng = np.random.default_rng(6)
    weight = rng.integers(0, 2**16, 500).astype(np.uint64)
    weight[0] = 2**64 - 1
    few = (rng.random(500) * 2**-30).astype(np.float64) + 1
    for values in (weight, few, -few, np.nextafter(few, 2)):
        graph = (*rng.integers(0, 200, (2, 500)), values)
        for maximum in (False, True):
            found = mstflow.minimum_spanning_forests([graph] * 2, backend="numba", maximum=maximum)
            alone = mstflow.minimum_spanning_forest(graph, backend="numpy", maximum=maximum)
            for forest in found:
                assert forest.edge_ids.tolist() == alone.edge_ids.tolist()


@pytest.mark.parametrize("backend", mstflow.backends())
@pytest.mark.parametrize("largest", [2**62 - 1, 2**63 - 3])
def test_numbers_of_vertices_do_not_overflow(largest, backend):
    graph = np.array([0, 1]), np.array([1, largest]), np.array([1, 2])
    with pytest.raises(OutOfMemoryError, match=f"vertex id {largest}"):
        mstflow.minimum_spanning_forests([graph] * 4, backend=backend)


def test_graphs_of_many_vertices_are_solved_alone():
    graph = mstflow.EdgeList(*GOOD, num_vertices=SMALL + 1)
    assert small_graph(graph, "weight") is None
    forests = mstflow.minimum_spanning_forests([graph, GOOD])
    assert [len(forest.edge_ids) for forest in forests] == [2, 2]


@pytest.mark.parametrize("bad", [(), (5,), (5, 6, 7), None, "missing.gr", {}])
def test_batches_accept_invalid_graphs(bad):
    with pytest.raises(mstflow.errors.MstflowError, match="graph 1: "):
        mstflow.minimum_spanning_forests([GOOD, bad])


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_a_forest_of_columns_is_a_forest(backend):
    forest, other = mstflow.minimum_spanning_forests([GOOD] * 2, backend=backend)
    assert isinstance(forest, mstflow.Forest)
    again = pickle.loads(pickle.dumps(forest))
    assert again.weight.tolist() == copy.copy(forest).weight.tolist() == [0.5, 0.25]
    assert forest.graph is forest.graph
    assert forest.graph.u is GOOD[0]
    assert dataclasses.replace(other, maximum=True).num_vertices == 3
    assert (forest.known, forest.names, repr(forest)) == ((), None, repr(other))


def test_failed_allocations_name_the_graph():
    def forest(ops, edges):
        raise MemoryError("no space")

    failing = mstflow.Pipeline("failing", mstflow.stage(writes="forest")(forest))
    with pytest.raises(OutOfMemoryError, match=r"^graph 0: .*no space"):
        mstflow.minimum_spanning_forests([GOOD] * 3, algorithm=failing)


def test_errors_in_later_runs():
    """A run takes 1,024 graphs."""
    many = [*[GOOD] * 1025, (np.array([0, -1]), *GOOD[1:])]
    with pytest.raises(GraphError, match="graph 1025: edge 1: u is -1"):
        mstflow.minimum_spanning_forests(many)


@given(
    st.lists(st.tuples(edge_lists(), st.booleans()), max_size=5),
    st.booleans(),
    st.sampled_from(mstflow.backends()),
    st.sampled_from([1, 2, 3]),
)
def test_forests_are_those_of_single_calls(many, maximum, backend, threads):
    """Graphs of any dtype in one run, some of them as columns or without contiguous memory."""
    given = [
        (graph.u, graph.v, np.repeat(graph.weight, 2)[::2]) if is_plain else graph
        for graph, is_plain in many
    ]
    options = {"backend": backend, "maximum": maximum, "threads": threads}
    plain = [columns for columns in given if type(columns) is tuple]
    for graphs in (plain, given * 2):
        found = mstflow.minimum_spanning_forests(graphs, **options)
        for forest, graph in zip(found, graphs, strict=True):
            alone = mstflow.minimum_spanning_forest(graph, backend="numpy", maximum=maximum)
            assert forest.edge_ids.tolist() == alone.edge_ids.tolist()
            assert forest.num_vertices == alone.num_vertices
            assert forest.labels.tolist() == alone.labels.tolist()
            assert repr(forest.total_weight) == repr(alone.total_weight)


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_unusual_graphs_are_solved_alone(backend):
    """Large graphs, files, sources and iterables are solved by a run of their own."""
    rng = np.random.default_rng(7)
    large = (*rng.integers(0, 100, (2, 2**16 + 1)), rng.random(2**16 + 1))
    sparse = mstflow.EdgeList(*GOOD, num_vertices=10**6)
    source = EdgeSource.of(mstflow.EdgeList(*GOOD))
    read_only = tuple(column.copy() for column in GOOD)
    for column in read_only:
        column.flags.writeable = False
    lists = tuple(column.tolist() for column in GOOD)
    graphs = [large, GOOD, sparse, source, [GOOD, GOOD], read_only, (*GOOD[:2],), lists]
    found = mstflow.minimum_spanning_forests(graphs, backend=backend)
    for forest, graph in zip(found, graphs, strict=True):
        alone = mstflow.minimum_spanning_forest(graph, backend="numpy")
        assert forest.edge_ids.tolist() == alone.edge_ids.tolist()
        assert forest.num_vertices == alone.num_vertices
    assert mstflow.minimum_spanning_forests([read_only] * 3)[2].edge_ids.tolist() == [0, 1]


@pytest.mark.parametrize("backend", mstflow.backends())
def test_a_forest_does_not_keep_memory_for_all_edges(backend):
    rng = np.random.default_rng(7)
    many = [(*rng.integers(0, 9, (2, 2000)), rng.random(2000)) for _ in range(100)]
    kept = mstflow.minimum_spanning_forests(many, backend=backend)[3].edge_ids
    assert (kept if kept.base is None else kept.base).nbytes < 100 * 9 * 8


@pytest.mark.parametrize("weight", [2.0, np.nan])
def test_streams_are_read_once(weight):
    m = 70_000  # not a small graph
    weights = np.append(np.ones(m - 1), weight)
    table = pa.table({"u": np.arange(m), "v": np.arange(1, m + 1), "weight": weights})
    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches())
    if weight == 2:
        (forest,) = mstflow.minimum_spanning_forests([reader])
        assert len(forest.edge_ids) == m
    else:
        with pytest.raises(GraphError, match=f"graph 0: edge {m - 1}: the weight is NaN"):
            mstflow.minimum_spanning_forests([reader])


def test_forests_that_are_found_together_share_a_report():
    first, second = mstflow.minimum_spanning_forests([GOOD] * 2, backend="numba")
    assert first.report is second.report
    assert (first.algorithm, first.backend) == ("filter-kruskal", "numba")


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ((np.array([0, -1]), *GOOD[1:]), "graph 1: edge 1: u is -1"),
        ((GOOD[0], np.array([1, -7]), GOOD[2]), "graph 1: edge 1: v is -7"),
        ((*GOOD[:2], np.array([0, np.nan])), "graph 1: edge 1: the weight is NaN"),
        ((*GOOD[:2], np.array([0.5])), "graph 1: columns differ in length"),
        ((np.array([0.5, 1]), *GOOD[1:]), "graph 1: edge 0: u is 0.5"),
        ((GOOD[0], np.array([1, 2**63 - 1]), GOOD[2]), "graph 1: vertex id 9223372036854775807"),
        (([0, 1], [1, -2], [1, 2]), "graph 1: edge 1: v is -2"),
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


def test_names_of_weights():
    frame = pandas.DataFrame({"u": [0, 0, 1], "v": [1, 1, 2], "a": [2, 1, 1], "b": [1, 2, 1]})
    for name, expected in (("a", [1, 2]), ("b", [0, 2]), (None, [0, 2])):
        forests = mstflow.minimum_spanning_forests([frame, frame], weight=name)
        assert [forest.edge_ids.tolist() for forest in forests] == [expected] * 2
    with pytest.raises(OptionError, match=r"graph 1: .*'c'"):
        mstflow.minimum_spanning_forests([frame.rename(columns={"a": "c"}), frame], weight="c")
