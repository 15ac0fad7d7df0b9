"""minimum_spanning_forest: accepted forms of graphs, options, and errors."""

import io
import math
from fractions import Fraction

import dask
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import mstflow
from graph_strategies import WEIGHT_DTYPES
from mstflow import EdgeList, minimum_spanning_forest
from mstflow.errors import GraphError, MstflowError, OptionError, OutOfMemoryError
from mstflow.forest.edges import total
from processes import run_python

U, V, W = np.array([0, 1, 2, 0]), np.array([1, 2, 0, 3]), np.array([3.0, 1.0, 2.0, 5.0])


def ids(*args, **options):
    return minimum_spanning_forest(*args, **options).edge_ids.tolist()


def test_forms_of_a_graph(tmp_path):
    np.savez(tmp_path / "g.npz", u=U, v=V, w=W)
    path = tmp_path / "g.npz"
    for graph in (EdgeList(U, V, W), (U, V, W), [U.tolist(), V.tolist(), W.tolist()], path, [path]):
        assert ids(graph) == [1, 2, 3]
    assert ids((U, V)) == ids((U, V, W), weight=None) == [0, 1, 3]
    assert ids([path, str(path)]) == [1, 2, 3]  # the second copy's edges are ids 4 to 7
    assert minimum_spanning_forest((U, V, W), num_vertices=9).num_components == 6
    assert minimum_spanning_forest(EdgeList(U, V, W), num_vertices=9).num_components == 6


def test_loaded_files_count_as_a_graph_in_memory(tmp_path):
    np.savez(tmp_path / "g.npz", u=U, v=V, w=W)
    path = tmp_path / "g.npz"
    for graph, num_vertices in ((path, None), (path, 9), ([path, path], None)):
        forest = minimum_spanning_forest(
            graph, num_vertices=num_vertices, scheduler="synchronous", partitions=2
        )
        assert (forest.strategy, forest.edge_ids[:3].tolist()) == ("scan", [1, 2, 3])


@pytest.mark.parametrize(
    "graph", [([], []), (np.empty(0, "i4"), np.empty(0, "u8"), np.empty(0, "f2"))]
)
def test_no_edges(graph):
    empty = minimum_spanning_forest(graph)
    assert (empty.num_vertices, empty.num_components, empty.total_weight) == (0, 0, 0)
    alone = minimum_spanning_forest(graph, num_vertices=3)
    assert (alone.num_components, alone.labels.tolist()) == (3, [0, 1, 2])


def test_layouts_of_arrays():
    columns = np.stack([U, V, W.astype(np.int64)], axis=1)  # strided views
    assert ids((columns[:, 0], columns[:, 1], columns[:, 2])) == [1, 2, 3]
    swapped = [array.astype(array.dtype.newbyteorder()) for array in (U, V, W)]
    assert ids(tuple(swapped)) == [1, 2, 3]


@pytest.mark.parametrize(
    ("weight", "total"),
    [
        (np.array([True, True]), 2),
        (np.array([2**63 - 1] * 2), 2**64 - 2),
        (np.array([0.1] * 10), 1.0),
        (np.array([1e308, 1e308]), math.inf),
        (np.array([math.inf, 1.0]), math.inf),
        (np.array([-math.inf, 1.0, -math.inf]), -math.inf),
        (np.array([math.inf, -math.inf]), math.nan),
        (np.array([], dtype=np.float32), 0.0),
    ],
)
def test_total_weight(weight, total):
    """`test_total_weight_is_exact...` below tests finite weights of every dtype."""
    path = np.arange(len(weight))
    found = minimum_spanning_forest((path, path + 1, weight)).total_weight
    assert type(found) is type(total)
    assert found == total or (math.isnan(found) and math.isnan(total))


@pytest.mark.parametrize(
    ("graph", "options", "message"),
    [
        ((U, V[:3], W), {}, "u has 4, v has 3, weight has 4"),
        ((U, V, np.array([1, 2, np.nan, np.nan])), {}, "edge 2: the weight is NaN"),
        ((U, np.array([1, 2, -7, 3]), W), {}, "edge 2: v is -7"),
        ((U, V, W), {"num_vertices": 3}, "edge 3: joins 0 and 3, but there are 3 vertices"),
        ((U, V, W), {"num_vertices": -1}, "num_vertices must be"),
        ((U, V, W), {"num_vertices": 2.5}, "num_vertices must be"),
        ((U.astype(float), V, W), {}, "u must hold integers, not float64"),
        ((U, V > 1, W), {}, "v must hold integers, not bool"),
        ((U, V, W.astype(complex)), {}, "weight must be bool, integer or float"),
        ((U, V, W.astype(str)), {}, "weight must be bool, integer or float"),
        ((U.reshape(2, 2), V, W), {}, "u must be one-dimensional"),
        ((U, V, W.reshape(2, 2)), {}, "weight must be one-dimensional"),
        ((np.array([2**64 - 1], dtype="u8"), np.array([0])), {}, "is too large"),
        ((U, V, np.ma.array(W, mask=[1, 0, 0, 0])), {}, "weight must not be a masked array"),
        (([0, 1], [1, 2], [2**53 + 1, 0.5]), {}, "edge 0: weight is 9007199254740993, which is"),
        (([[0], [1, 2]], [1, 2]), {}, "u is not an array"),
        (EdgeList(U, V), {"num_vertices": 0}, "edge 0: joins 0 and 1, but there are 0 vertices$"),
        (EdgeList(U, V), {"num_vertices": 4.0}, "num_vertices must be"),
        ((U, V, W), {"num_vertices": 2**64}, "num_vertices must be"),
        ((U,), {}, "expected a graph: "),
        ({"u": U}, {}, "expected one column each for u and v"),
        (None, {}, "expected a graph: .* found NoneType"),
        ("no/such/file.gr", {}, "no/such/file.gr"),
    ],
)
def test_bad_graphs(graph, options, message):
    with pytest.raises(GraphError, match=message):
        minimum_spanning_forest(graph, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"algorithm": ["kruskal"]}, r"\['kruskal'\] is not known"),
        ({"algorithm": "dijkstra"}, "'dijkstra' is not known; choose from: auto, boruvka-csr"),
        ({"backend": "abacus"}, "'abacus' is not available; choose from: auto, numpy"),
        ({"scheduler": "carrier pigeon"}, "'carrier pigeon' is not known"),
        ({"scheduler": None}, "None is not known"),
        ({"strategy": "fold", "partitions": 2}, "'fold' has one partition, not 2"),
        ({"strategy": "whole", "memory": "1GB"}, "'whole' holds all edges"),
        ({"strategy": "whole", "checkpoint": "here"}, "'whole' does not support checkpoint="),
        ({"strategy": "whole", "partitions": 2}, "'whole' has one partition, not 2"),
        ({"partitions": 0}, "partitions must be an integer of at least 1"),
        ({"partitions": 2.0}, "partitions must be"),
        ({"threads": True}, "threads must be"),
        ({"maximum": "no"}, "maximum must be True or False, not 'no'"),
        ({"maximum": 1}, "maximum must be True or False, not 1"),
        ({"split_every": None}, "split_every must be"),
        ({"split_every": 1}, "split_every must be an integer of at least 2"),
        ({"memory": "2 gallons"}, "'2 gallons'"),
        ({"memory": 0}, "a size like '2GB', not 0"),
        ({"memory": "1MB"}, "memory=1 MB is too small; .* 40.01 MB for strategy 'scan'"),
        ({"weight": "length"}, "no weights called 'length'"),
        ({"algorithm": mstflow.Pipeline("none")}, "no stage of pipeline 'none' writes 'forest'"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(OptionError, match=message) as raised:
        minimum_spanning_forest((U, V, W), **options)
    assert isinstance(raised.value, MstflowError)


@pytest.mark.parametrize("columns", [(U, V, W), ([], [])], ids=["edges", "no edges"])
@pytest.mark.parametrize("options", [{}, {"scheduler": "synchronous", "partitions": 3}])
def test_auto_keeps_a_checkpoint_of_a_graph_in_memory(columns, options, tmp_path):
    found = minimum_spanning_forest(columns, checkpoint=tmp_path / "kept", **options)
    assert found.report.plan.strategy == "scan"
    assert any((tmp_path / "kept").iterdir())
    assert (found.edge_ids == minimum_spanning_forest(columns).edge_ids).all()


def test_too_little_memory():
    graph = EdgeList(np.array([0, 1]), np.array([1, 10**18]))
    message = "not enough memory for 1,000,000,000,000,000,001 vertices and 2 edges .* renumber"
    for call in (minimum_spanning_forest, mstflow.mutual_reachability):
        with pytest.raises(OutOfMemoryError, match=message):
            call(graph)
    with pytest.raises(OutOfMemoryError, match=message):
        mstflow.verify(graph, [0, 1])
    assert issubclass(OutOfMemoryError, MemoryError)


def test_names_of_the_package_are_imported_lazily():
    assert {*mstflow.__all__} <= {*dir(mstflow)}
    for name in mstflow.__all__:
        assert getattr(mstflow, name) is not None
    with pytest.raises(AttributeError, match="module 'mstflow' has no attribute 'forrest'"):
        mstflow.forrest  # noqa: B018
    program = "import sys, mstflow; print('numpy' in sys.modules)"
    assert run_python("-c", program).stdout == "False\n"


def test_unreachable_scheduler():
    import distributed  # noqa: F401  # sets its defaults before `quick` saves them

    quick = dask.config.set({"distributed.comm.timeouts.connect": "200ms"})
    with quick, pytest.raises(OptionError, match="no scheduler answers at tcp://"):
        minimum_spanning_forest((U, V, W), scheduler="tcp://127.0.0.1:9")


@pytest.mark.skipif("numba" not in mstflow.backends(), reason="without kernels")
def test_auto_loads_kernels_after_many_graphs():
    """A process of its own, because this one has loaded the kernels."""
    minimum_spanning_forest((U, V, W), backend="numba")  # now they are in the cache
    code = """
import sys, mstflow
from mstflow.primitives import array_module, resolve_backend
from mstflow.runtime.sizes import tuned
with tuned(kernels_loaded_from=400_000, calls=0):
    print(*(resolve_backend("auto", 100_000) for _ in range(4)))
array_module("numba")
print(*(resolve_backend("auto", size) for size in (29_999, 30_000)))
"""
    printed = run_python("-c", code, check=True).stdout
    assert printed.split() == ["numpy", "numpy", "numpy", "numba", "numpy", "numba"]


def test_repr_of_a_forest():
    text = repr(minimum_spanning_forest((U, V, W)))
    assert text == "<Forest: 3 edges on 4 vertices, 1 component, total weight 8.0>"
    text = repr(minimum_spanning_forest(([], []), num_vertices=1))
    assert text == "<Forest: 0 edges on 1 vertex, 1 component, total weight 0>"


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        ("", "a path is empty"),
        (
            (U.astype(float), V, W),
            r"must hold integers, not float64; convert it by u.astype\(int",
        ),
        ((U.astype(str), V, W), "u must hold integers, not .*; to use names, pass ends="),
        (io.StringIO("0 1 2"), "expected a graph: .*; found StringIO"),
    ],
)
def test_messages_say_what_to_do(graph, message):
    with pytest.raises(ValueError, match=message):
        minimum_spanning_forest(graph)


@given(
    st.sampled_from(WEIGHT_DTYPES).flatmap(
        lambda dtype: arrays.arrays(
            dtype,
            st.integers(0, 20),
            elements=arrays.from_dtype(np.dtype(dtype), allow_nan=False, allow_infinity=False),
        )
    )
)
def test_total_weight_is_exact_for_integers_and_correctly_rounded_for_floats(weights):
    exact = sum(map(Fraction, weights.tolist()), Fraction())
    try:
        rounded = float(exact)
    except OverflowError:
        rounded = math.inf if exact > 0 else -math.inf
    assert total(weights) == (rounded if weights.dtype.kind == "f" else exact)


def test_total_weight_of_several_blocks():
    count = 2**21 + 3
    assert total(np.full(count, -0.1)) == float(-count * Fraction(0.1))
    assert total(np.full(count, 2**64 - 1, np.uint64)) == count * (2**64 - 1)
