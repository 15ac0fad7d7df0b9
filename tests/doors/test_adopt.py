"""Graphs of other libraries keep their edges, vertices, weights and order."""

from __future__ import annotations

import decimal
import importlib
import uuid
from pathlib import Path

import dask
import duckdb
import igraph
import networkx
import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest
from dask import array as dask_array
from dask import bag, dataframe
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet
from scipy import sparse

import mstflow
from graph_strategies import edge_lists
from mstflow import EdgeList, minimum_spanning_forest
from mstflow.doors.read import edge_list
from mstflow.doors.size_checks import warn_if_sparse
from mstflow.errors import GraphError, OptionError
from mstflow.graphs.source import EdgeSource
from processes import run_python

SPARSE_DTYPES = ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8")


def same(found, graph):
    """Check that two edge lists are equal, edge for edge."""
    assert found.num_vertices == graph.num_vertices
    for name in ("u", "v", "weight"):
        assert getattr(found, name).tolist() == getattr(graph, name).tolist()


def names_of(graph):
    return {"u": graph.u, "v": graph.v, "weight": graph.weight}


@given(edge_lists(weight_dtypes=SPARSE_DTYPES), st.sampled_from(["array", "matrix"]))
def test_scipy_coo(graph, kind):
    shape = (graph.num_vertices, graph.num_vertices)
    if not graph.num_vertices:
        return
    places = (graph.u.astype(np.int32), graph.v.astype(np.int32))
    matrix = getattr(sparse, f"coo_{kind}")((graph.weight, places), shape=shape)
    same(edge_list(matrix), graph)
    assert edge_list(matrix).weight.dtype == graph.weight.dtype
    assert set(edge_list(matrix, weight=None).weight.tolist()) <= {1}


@pytest.mark.parametrize("form", ["csr", "csc"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_scipy_compressed_keeps_stored_entries(form, kind):
    # Row (or column) 0: places 2, 1, 1, not sorted, one twice, one a zero; row 1: its loop.
    data, index, start = np.array([0.0, 5.0, -1.0, 7.0]), [2, 1, 1, 1], [0, 3, 4, 4]
    matrix = getattr(sparse, f"{form}_{kind}")((data, index, start), shape=(3, 3))
    found = edge_list(matrix)
    ends = (found.u, found.v) if form == "csr" else (found.v, found.u)
    assert [end.tolist() for end in ends] == [[0, 0, 0, 1], [2, 1, 1, 1]]
    assert found.weight.tolist() == data.tolist()
    assert minimum_spanning_forest(matrix).edge_ids.tolist() == [0, 2]


def test_scipy_forms_without_an_order():
    for form in ("dok", "lil", "dia", "bsr"):
        with pytest.raises(
            GraphError,
            match=rf"expected a COO, CSR or CSC matrix, found {form}; (pass|set a =) matrix",
        ):
            edge_list(sparse.eye_array(3, format=form))
    with pytest.raises(GraphError, match=r"expected a square matrix, found shape \(2, 3\)"):
        edge_list(sparse.coo_array((2, 3)))
    with pytest.raises(OptionError, match="no weights called 'length'; it has: 'weight'"):
        edge_list(sparse.eye_array(3, format="csr"), weight="length")
    with pytest.raises(GraphError, match="weight must be bool, integer or float"):
        edge_list(sparse.eye_array(3, format="csr", dtype=complex))


@given(edge_lists(), st.sampled_from(["MultiGraph", "MultiDiGraph"]))
def test_networkx_multigraphs(graph, kind):
    nodes = [f"vertex {i}" for i in reversed(range(graph.num_vertices))]
    made = getattr(networkx, kind)()
    made.add_nodes_from(nodes)
    for u, v, weight in zip(graph.u, graph.v, graph.weight.tolist(), strict=True):
        made.add_edge(nodes[u], nodes[v], length=weight)
    found = edge_list(made, weight="length")
    edges = list(made.edges(keys=True, data="length"))
    place = {node: i for i, node in enumerate(nodes)}
    expected = [(place[u], place[v], weight) for u, v, _, weight in edges]
    columns = (found.u.tolist(), found.v.tolist(), found.weight.tolist())
    assert list(zip(*columns, strict=True)) == expected
    assert found.num_vertices == graph.num_vertices


def test_networkx_graphs():
    made = networkx.DiGraph()
    made.add_nodes_from("dcba")
    made.add_edge("a", "b", weight=2.5)
    made.add_edge("b", "a")
    made.add_edge("d", "d", length=7)
    found = edge_list(made)  # in the order of made.edges: from d, then from b, then from a
    assert (found.u.tolist(), found.v.tolist()) == ([0, 2, 3], [0, 3, 2])
    assert found.weight.tolist() == [1, 1, 2.5]
    assert edge_list(made, weight="length").weight.tolist() == [7, 1, 1]
    assert list(found.names) == list("dcba")
    with pytest.raises(GraphError, match="4 names for 9 vertices; leave out num_vertices="):
        edge_list(made, num_vertices=9)
    with pytest.raises(OptionError, match="attribute 'cost'; attributes found: 'length', 'w"):
        edge_list(made, weight="cost")
    made.add_edge("a", "c", weight=2**53 + 1)
    with pytest.raises(GraphError, match="weight is 9007199254740993, which is not exact"):
        edge_list(made)
    assert edge_list(networkx.Graph(), weight="cost").num_edges == 0


@given(edge_lists(), st.booleans())
def test_igraph(graph, directed):
    ends = list(zip(graph.u.tolist(), graph.v.tolist(), strict=True))
    made = igraph.Graph(n=graph.num_vertices, edges=ends, directed=directed)
    assert edge_list(made).weight.tolist() == [1] * graph.num_edges
    made.es["length"] = graph.weight.tolist()
    found = edge_list(made, weight="length")
    expected = [ends[edge.index] if directed else edge.tuple for edge in made.es]
    assert list(zip(found.u.tolist(), found.v.tolist(), strict=True)) == expected
    assert (found.weight.tolist(), found.num_vertices) == (
        graph.weight.tolist(),
        graph.num_vertices,
    )
    with pytest.raises(OptionError, match="attribute 'cost'; attributes found: 'length'"):
        edge_list(made, weight="cost")


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
@given(graph=edge_lists())
def test_tables(library, graph):
    package = importlib.import_module(library)
    make = package.table if library == "pyarrow" else package.DataFrame
    found = edge_list(make(names_of(graph)), num_vertices=graph.num_vertices)
    same(found, graph)
    widens = library == "polars" and not hasattr(package, "Float16")  # added in a later version
    is_widened = widens and graph.weight.dtype == "f2"
    assert found.weight.dtype == ("f4" if is_widened else graph.weight.dtype)


def test_dask_data_frames_without_weights():
    frame = pandas.DataFrame({"u": [0, 1], "v": [1, 2], "length": [3.0, 1.0]})
    with pytest.raises(GraphError, match="no column 'weight' for the weights; found u, v, length"):
        minimum_spanning_forest(dataframe.from_pandas(frame, npartitions=2))


def decimals(weights, digits, places):
    """Return the table of a path with these weights, as decimals."""
    column = pa.array(list(map(decimal.Decimal, weights)), pa.decimal128(digits, places))
    return pa.table({"u": range(len(weights)), "v": range(1, len(weights) + 1), "weight": column})


@pytest.mark.parametrize("weights", [("0.90", "0.10"), ("-3", "12345678901234.5"), ("1e-15", "0")])
@pytest.mark.parametrize("options", [{}, {"memory": "1GB"}, {"ends": ("u", "v")}])
def test_decimals_are_the_nearest_floats(weights, options, tmp_path):
    table = decimals(weights, 38, 18)
    parquet.write_table(table, tmp_path / "g.parquet")
    narrow = decimals(weights[:1], 38, 9) if weights[0] != "1e-15" else table.slice(0, 1)
    for graph in (
        table,
        tmp_path / "g.parquet",
        table.to_pandas(),
        polars.from_arrow(table),
        duckdb.table("table"),
        table.to_pandas(types_mapper=pandas.ArrowDtype),
        [narrow, table.slice(1)],
    ):
        found = minimum_spanning_forest(graph, **options).weight
        assert (found.dtype, found.tolist()) == (np.float64, list(map(float, weights)))


def test_decimals_without_places_are_integers():
    table = decimals((2**63 - 1, -3), 38, 0)
    assert edge_list(table).weight.tolist() == [2**63 - 1, -3]
    ends = [pa.array(map(decimal.Decimal, ids), pa.decimal128(9, 2)) for ids in ((0, 1), (1, 2))]
    found = edge_list(table.set_column(0, "u", ends[0]).set_column(1, "v", ends[1]))
    assert (found.u.tolist(), found.v.tolist()) == ([0, 1], [1, 2])


@pytest.mark.parametrize("weight", ["0.912345678901234567", str(2**53 + 1), "9" * 20])
def test_decimals_that_floats_cannot_distinguish(weight):
    message = rf"edge 1: column 'weight' is {weight}.*, which is not exact as float64; scale it"
    for options in ({}, {"ends": ("u", "v")}):
        with pytest.raises(GraphError, match=message):
            minimum_spanning_forest(decimals(("0.5", weight), 38, 18), **options)


def test_names_of_other_types():
    ids = [uuid.UUID(int=number) for number in (7, 2**127 + 11, 3)]
    if hasattr(pa, "uuid"):
        column = pa.array([each.bytes for each in ids], pa.uuid())
        table = pa.table({"u": column, "v": column}).slice(1)  # with an offset
        forest = minimum_spanning_forest(table, ends=("u", "v"))
        assert list(forest.names) == list(map(str, ids[1:]))
        assert not len(minimum_spanning_forest(table.slice(9), ends=("u", "v")).names)
    strings = pa.array(["b", "a", "b"])
    for column in (strings.dictionary_encode(), strings.cast(pa.string_view())):
        forest = minimum_spanning_forest(pa.table({"u": column, "v": column}), ends=("u", "v"))
        assert list(forest.names) == ["b", "a"]
    dates = pa.array([1, 2], pa.date32())
    with pytest.raises(GraphError, match=r"not date32.*; cast both ends to one type, then"):
        minimum_spanning_forest(pa.table({"u": dates, "v": dates}), ends=("u", "v"))


def test_refused_objects_have_advice(tmp_path):
    edges = bag.from_sequence([(0, 1, 5)], npartitions=1)
    array = dask_array.from_array(np.array([[0, 1, 5], [1, 2, 3]]))
    (tmp_path / "g.csv").write_text("u,v\n0,1\n")
    with open(tmp_path / "g.csv") as file:
        for graph, message in (
            (file, "an open file; pass its path or URL"),
            (edges, r"if its items are edges, pass bag\.map_partitions"),
            (edges.to_delayed(), r"found a list of edges; make it tuple\(zip"),
            (array[array[:, 0] >= 0], r"call compute_chunk_sizes\(\) first"),
            (np.ones((5, 3)), r"if its columns are u, v and weight, pass \(a\[:, 0\]"),
        ):
            with pytest.raises(GraphError, match=message):
                minimum_spanning_forest(graph)


def test_any_arrow_table():
    graph = EdgeList([0, 1, 2, 0], [1, 2, 0, 3], [3.0, 1.0, 2.0, 5.0])
    table = pa.table(names_of(graph))

    class ArrowStream:
        def __arrow_c_stream__(self, requested_schema=None):
            return table.__arrow_c_stream__(requested_schema)

    same(edge_list(ArrowStream()), graph)
    assert minimum_spanning_forest(table.to_reader(1)).edge_ids.tolist() == [1, 2, 3]


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_columns_of_tables(library):
    package = importlib.import_module(library)
    make = package.table if library == "pyarrow" else package.DataFrame
    columns = {"name": ["a", "b"], "target": [1, 2], "source": [0, 1], "length": [0.5, 1.5]}
    found = edge_list(make(columns), weight="length")
    assert (found.u.tolist(), found.v.tolist(), found.weight.tolist()) == (
        [0, 1],
        [1, 2],
        [0.5, 1.5],
    )
    with pytest.raises(
        GraphError, match="no column 'weight' for the weights; found name, target, s"
    ):
        edge_list(make(columns))
    with pytest.raises(
        OptionError, match="no column 'cost' for the weights; found name, target, s"
    ):
        edge_list(make(columns), weight="cost")
    with pytest.raises(GraphError, match="expected one column each for u and v"):
        edge_list(make({"u": [0], "w": [1]}))
    with pytest.raises(GraphError, match=r"edge 1: |must hold integers, not (object|float64)"):
        edge_list(make({"u": [0, None], "v": [1, 2]}))
    with pytest.raises(GraphError, match=r"u must hold|column 'u' must hold"):
        edge_list(make({"u": ["a", "b"], "v": [1, 2]}))


class Exported:
    """A column that supports one array protocol and nothing else."""

    def __init__(self, array, protocol):
        if protocol == "dlpack":
            type(self).__dlpack__ = lambda self, **options: self.array.__dlpack__(**options)
            type(self).__dlpack_device__ = lambda self: self.array.__dlpack_device__()
        if protocol == "interface":
            self.__array_interface__ = array.__array_interface__
        self.array = array  # keeps the memory


@pytest.mark.parametrize("protocol", ["dlpack", "interface"])
def test_columns_of_any_array_library(protocol):
    kinds = [type(f"Column{i}", (Exported,), {}) for i in range(3)]
    arrays = (np.array([0, 1, 2]), np.array([1, 2, 0]), np.array([0.5, 2.5, 1.5], np.float32))
    columns = [kind(array, protocol) for kind, array in zip(kinds, arrays, strict=True)]
    found = edge_list(tuple(columns))
    same(found, EdgeList(*arrays))
    assert found.weight.dtype == np.float32


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "dask.array"])
def test_tuple_of_columns_of_a_library(library):
    columns = np.array([[0, 1, 2, 0], [1, 2, 0, 3], [3, 1, 2, 5]])
    module, make = (
        importlib.import_module(library),
        {"pyarrow": "array", "dask.array": "from_array"},
    )
    given = map(getattr(module, make.get(library, "Series")), columns)
    assert minimum_spanning_forest(tuple(given)).edge_ids.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ([np.int64(2**53 + 1), np.int64(2**53), 0.5], None),
        ([np.uint64(2**63 + 1), np.uint64(2**63), np.int64(2**63 - 1)], [2]),
        ([np.int64(3), 2, 0.5], [2]),
    ],
)
def test_lists_of_numbers_are_not_rounded(weights, expected):
    columns = [0, 0, 0], [1, 1, 1], weights
    if expected is None:
        with pytest.raises(GraphError, match="edge 0: weight is 9007199254740993, which is not"):
            minimum_spanning_forest(columns)
    else:
        assert minimum_spanning_forest(columns).edge_ids.tolist() == expected


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_list_of_edges_is_refused(count):
    with pytest.raises(GraphError, match="pass tuple"):
        minimum_spanning_forest([(0, 1, 3)] * count)
    with pytest.raises(GraphError, match="found a list of edges"):
        minimum_spanning_forest([[0, 1, 5], [1, 2, 1], [2, 0, 9], [0, 2, 1]])


@pytest.mark.parametrize("items", [[[0, 1, 5], [1, 2, 1], [2, 0, 9]], [[0, 1], [1, 2]]])
def test_list_that_may_be_columns_or_edges(items):
    with pytest.raises(GraphError, match=r"may be columns or edges: pass columns as a tuple, \(u"):
        minimum_spanning_forest(items)
    assert len(minimum_spanning_forest(tuple(zip(*items, strict=True))).edge_ids) == 2


@pytest.mark.parametrize(
    "ends", [np.array([[0, 1, 2, 0], [1, 2, 0, 2]]), [[0, 1, 2, 0], [1, 2, 0, 2]]]
)
def test_list_of_columns(ends):
    assert minimum_spanning_forest(list(ends)).edge_ids.tolist() == [0, 1]


COLUMNS = np.array([0, 1]), np.array([1, 2])


@pytest.mark.parametrize("items", [["a.csv", COLUMNS], [COLUMNS, Path("a.csv")], ["a.csv", None]])
def test_list_of_paths_and_other_objects(items):
    with pytest.raises(GraphError, match="expected a list of paths only"):
        minimum_spanning_forest(items)


def test_table_with_invalid_metadata():
    table = pa.table({"u": [0], "v": [1]}).replace_schema_metadata({"num_vertices": "many"})
    with pytest.raises(GraphError, match="metadata 'num_vertices' must be a number, not b'many'"):
        minimum_spanning_forest(table)


def test_inconsistent_matrix():
    matrix = sparse.csr_array(([1.0], [1], [0, 1, 1]), shape=(2, 2))
    matrix.indices[0] = 7
    with pytest.raises(GraphError):
        minimum_spanning_forest(matrix)
    matrix = sparse.csr_array(np.eye(3))
    matrix.indptr = np.array([0, 5, 2, 3], np.int32)
    with pytest.raises(GraphError, match="is inconsistent: indptr must be ascending"):
        minimum_spanning_forest(matrix)


def test_missing_value_is_named():
    frame = pandas.DataFrame({"u": pandas.array([0, 1, None], "Int64"), "v": [1, 2, 2]})
    with pytest.raises(GraphError, match="edge 2: column 'u' has no value"):
        minimum_spanning_forest(frame)


def test_classes_and_columns_are_not_tables():
    with pytest.raises(GraphError, match="expected a graph: an EdgeList, a tuple"):
        minimum_spanning_forest(pandas.DataFrame)
    with pytest.raises(GraphError, match=r"vertex ids are float64; pass \(a\[:, 0\]"):
        minimum_spanning_forest(dask_array.ones((3, 3), chunks=2))
    with pytest.raises(GraphError, match="expected columns u, v, maybe weight"):
        minimum_spanning_forest(dask_array.ones(3, chunks=2))
    wide = polars.DataFrame({"u": polars.Series([0], dtype=polars.Int128), "v": [1]})
    with pytest.raises(GraphError, match="the DataFrame cannot be converted to Arrow"):
        minimum_spanning_forest(wide)
    with pytest.raises(
        OptionError, match="weight must be a name, a position or None, not \\['weight'\\]"
    ):
        minimum_spanning_forest(pandas.DataFrame({"u": [0], "v": [1]}), weight=["weight"])


def test_column_on_an_unknown_device():
    class OnDevice:
        def __dlpack__(self, **_):
            raise BufferError("memory of a device")

        def __dlpack_device__(self):
            return (2, 0)

    class NotByItself:
        def __array__(self, dtype=None, copy=None):
            raise TypeError("no conversion unless it is asked for")

    for column in (OnDevice(), NotByItself()):
        with pytest.raises(GraphError, match="u is not an array: "):
            edge_list((column, [1]))


def test_no_library_is_imported():
    libraries = ["scipy", "networkx", "igraph", "pandas", "polars", "pyarrow"]
    libraries += ["cupy", "cuda.core"]  # a .pth file of cuda.bindings may import it at the start
    program = (
        "import sys, mstflow\n"
        "class Graph: pass\n"
        "Graph.__module__ = 'elsewhere'\n"
        "mstflow.minimum_spanning_forest(([0], [1]))\n"
        "try: mstflow.minimum_spanning_forest(Graph())\n"
        "except mstflow.errors.GraphError as error: print(error)\n"
        f"print([name for name in {libraries} if name in sys.modules])"
    )
    first, second = run_python("-c", program).stdout.splitlines()
    assert first.endswith("any library that supports Arrow; found Graph")
    assert second == "[]"


@pytest.mark.parametrize(
    "nodes", [[11, 12, 13], ["x", "y", "z"], [(0, 0), (0, 1), (1, 0)], [1, "b", 2.5]], ids=repr
)
def test_results_have_the_nodes_of_networkx(nodes, tmp_path):
    first, second, third = nodes
    made = networkx.Graph()
    made.add_weighted_edges_from(
        [(first, second, 50.0), (second, third, 10.0), (first, third, 5.0)]
    )
    forest = minimum_spanning_forest(made)
    kept = [(first, third), (second, third)]
    assert list(forest.names) == nodes
    assert forest.names.numbers(nodes[::-1]).tolist() == [2, 1, 0]
    assert set(map(frozenset, forest.to_networkx().edges)) == set(map(frozenset, kept))
    assert forest.to_igraph().vs["name"] == nodes
    frame = forest.to_pandas()
    assert list(zip(frame["u"], frame["v"], strict=True)) == kept
    has_one_kind = nodes in ([11, 12, 13], ["x", "y", "z"])
    shown = kept if has_one_kind else [tuple(map(str, pair)) for pair in kept]
    table = forest.to_arrow()
    assert list(zip(table["u"].to_pylist(), table["v"].to_pylist(), strict=True)) == shown
    for name in ("forest.csv", "forest.parquet"):
        forest.save(tmp_path / name)
        assert mstflow.verify(made, tmp_path / name).compared == ("u", "v", "weight")
    with pytest.raises(mstflow.errors.VerificationError, match="edge 0") as error:
        mstflow.verify(made, [0, 1])
    assert f"({nodes[0]}-{nodes[1]}, weight 50.0)" in str(error.value)


def test_nodes_that_are_numbers_of_vertices_are_not_names():
    assert edge_list(networkx.path_graph(5)).names is None
    assert list(edge_list(networkx.path_graph([1, 0, 2])).names) == [1, 0, 2]
    made = networkx.Graph([(1, "1")])
    with pytest.raises(OptionError, match="nodes 1 and '1' have the same text"):
        minimum_spanning_forest(made).to_arrow()
    with pytest.raises(GraphError, match="chunk 0: its nodes have names, but chunks share numbers"):
        minimum_spanning_forest([networkx.Graph([("a", "b")])])


def test_igraph_keeps_names():
    made = igraph.Graph.TupleList([("A", "B", 5.0), ("B", "C", 1.0)], weights=True)
    assert list(minimum_spanning_forest(made).names) == ["A", "B", "C"]
    made.vs["name"] = ["A", "B", "B"]
    assert minimum_spanning_forest(made).names is None


@pytest.mark.parametrize("library", ["networkx", "igraph"])
@pytest.mark.parametrize(
    ("attributes", "numbers"),
    [({"length": 5.0}, True), ({"length": np.float32(5)}, True), ({"cost": 3, "kind": "x"}, True),
     ({"kind": "x"}, False), ({"oneway": True}, False), ({}, False)],
)  # fmt: skip
def test_numbers_with_other_names_than_weight_are_refused(library, attributes, numbers):
    module = importlib.import_module(library)
    if library == "networkx":
        made = module.Graph()
        made.add_edge(0, 1, **attributes)
        made.add_edge(1, 2)
    else:
        made = module.Graph(edges=[(0, 1)], edge_attrs={k: [v] for k, v in attributes.items()})
    if not numbers:
        assert set(minimum_spanning_forest(made).weight.tolist()) == {1}
        return
    (name, *_) = attributes
    with pytest.raises(GraphError, match=f"no edge has the attribute 'weight'; .*'{name}'"):
        minimum_spanning_forest(made)
    assert minimum_spanning_forest(made, weight=name).weight[0] == attributes[name]
    assert set(minimum_spanning_forest(made, weight=None).weight.tolist()) == {1}


def test_columns_of_numbers_by_name_and_position():
    frame = pandas.DataFrame({"km": [5, 3], "from": [0, 1], "to": [1, 2]})
    for columns, weight in (
        (("from", "to", "km"), "weight"),
        ((1, 2, 0), "weight"),
        ((1, 2), "km"),
        (("from", "to"), 0),
    ):
        assert minimum_spanning_forest(frame, columns=columns, weight=weight).weight.tolist() == [
            5,
            3,
        ]
    assert minimum_spanning_forest(frame, columns=(1, 2)).weight.tolist() == [1, 1]
    for columns, message in (
        ((1, 7), "no column at position 7: there are 3"),
        ("km", "columns must be two or three names or positions"),
        ((1, 1), "columns must be different columns"),
        (("from", "cost"), "expected one column each for from and cost; found km, from, to"),
    ):
        with pytest.raises((GraphError, OptionError), match=message):
            minimum_spanning_forest(frame, columns=columns)
    with pytest.raises(OptionError, match="columns and positions are for tables"):
        minimum_spanning_forest(([0], [1]), columns=(0, 1))
    with pytest.raises(OptionError, match="columns= is for tables"):
        minimum_spanning_forest(networkx.path_graph(3), columns=("u", "v"))


def test_tables_numbered_from_one():
    frame = pandas.DataFrame({"u": [1, 2], "v": [2, 3], "weight": [5, 3]})
    with pytest.warns(mstflow.errors.GraphWarning, match="vertex ids start at 1.*first_id=1"):
        assert minimum_spanning_forest(frame).num_vertices == 4
    forest = minimum_spanning_forest(frame, first_id=1)
    assert (forest.num_vertices, forest.u.tolist(), forest.num_components) == (3, [0, 1], 1)
    with pytest.raises(GraphError, match="edge 0: vertex id 1 is less than first_id=2"):
        minimum_spanning_forest(frame, first_id=2)


@pytest.mark.parametrize("kind", ["list", "generator", "dask"])
def test_chunks_numbered_from_one(kind):
    chunks = [tuple(map(np.array, ([x, x], [x + 1, x + 2], [5, x]))) for x in (1, 2)]

    def solve(first_id):
        graph = {"list": chunks, "generator": iter(chunks), "dask": map(dask.delayed, chunks)}[kind]
        graph = graph if kind == "generator" else list(graph)
        count = 4 if kind == "generator" else None
        return minimum_spanning_forest(graph, num_vertices=count, first_id=first_id)

    forest = solve(1)
    assert (forest.edge_ids.tolist(), forest.num_vertices) == ([0, 1, 3], 4)
    if kind != "generator":  # whose edges cannot be read again
        added = forest.add(([0], [3], [0]))
        assert (added.u.tolist(), added.v.tolist()) == ([0, 1, 0], [2, 3, 3])
    with pytest.raises(GraphError, match="edge 0: vertex id 1 is less than first_id=2"):
        solve(2)


def test_sparse_ids_warn():
    graph, large = ([0, 10**7], [10**7, 1]), "edge 0: vertex id 10000000: 10,000,001 vertices"
    with pytest.warns(mstflow.errors.GraphWarning, match=large):
        minimum_spanning_forest(graph)
    minimum_spanning_forest(graph, num_vertices=10**7 + 1)


@pytest.mark.parametrize("makes", ["option", "edge list"])
def test_many_given_vertices_warn(makes):
    """Checks the warning only; `test_hostile` checks numbers that memory cannot hold."""
    count, columns = 8 * 10**7, ([0, 1, 2], [1, 2, 0])
    graph = EdgeList(*columns, num_vertices=count) if makes == "edge list" else columns
    message = "80,000,000 vertices for 3 edges, .*; the largest vertex id is 2; pass a smaller"
    source = EdgeSource.of(edge_list(graph, num_vertices=count))
    with pytest.warns(mstflow.errors.GraphWarning, match=message):
        warn_if_sparse(source, is_wanted=makes == "option")


LINKS = {"a": [7, 5, 7], "b": [5, 9, 9], "km": [2.0, 1.0, 3.0]}


@pytest.mark.parametrize("labels", [(0, 1, 2), (2, 1, 0), (5, 0, 7)])
@pytest.mark.parametrize("is_dask", [False, True])
@pytest.mark.parametrize("memory", [None, "1GB"])
def test_integers_as_labels_of_columns(labels, is_dask, memory):
    frame = pandas.DataFrame(LINKS).set_axis(list(labels), axis=1)
    graph = dataframe.from_pandas(frame, npartitions=2) if is_dask else frame
    u, v, weight = labels
    forest = minimum_spanning_forest(graph, ends=(u, v), weight=weight, memory=memory)
    assert (list(forest.names), forest.edge_ids.tolist()) == ([7, 5, 9], [0, 1])
    for columns, option in (((u, v, weight), "weight"), ((u, v), weight)):
        forest = minimum_spanning_forest(graph, columns=columns, weight=option, first_id=5)
        assert (forest.edge_ids.tolist(), forest.weight.tolist()) == ([0, 1], [2.0, 1.0])
    with pytest.raises(GraphError, match="expected one column each for 0 and 8; found"):
        minimum_spanning_forest(graph, ends=(0, 8), weight=weight)


def test_integers_and_strings_as_labels():
    mixed = pandas.DataFrame(LINKS).set_axis([0, "0", "km"], axis=1)
    with pytest.raises(GraphError, match="columns 0, '0', 'km' have the same text"):
        minimum_spanning_forest(mixed, ends=(0, "0"), weight="km")
    columns = {0: LINKS["a"], 1: LINKS["b"], "weight": LINKS["km"]}
    assert minimum_spanning_forest(columns, ends=(0, 1)).edge_ids.tolist() == [0, 1]


@pytest.mark.parametrize("names", [("a", "b"), ("a", "b", "key"), (None, None)])
def test_ends_in_the_index(names):
    levels = [LINKS["a"], LINKS["b"], [0, 0, 0]][: len(names)]
    index = pandas.MultiIndex.from_arrays(levels, names=names)
    frame = pandas.DataFrame({"km": LINKS["km"]}, index)
    ends = ("a", "b") if names[0] else ("level_0", "level_1")
    for graph, options in (
        (frame, {"weight": "km"}),
        (frame["km"], {}),
        (frame["km"], {"weight": "km"}),
        (frame["km"].rename(None), {}),
        (frame.rename(columns={"km": "weight"}), {}),
    ):
        forest = minimum_spanning_forest(graph, ends=ends, **options)
        assert (list(forest.names), forest.edge_ids.tolist()) == ([7, 5, 9], [0, 1])
        found = minimum_spanning_forest(graph, columns=ends, first_id=5, **options)
        assert found.edge_ids.tolist() == [0, 1]
    columns = (frame.reset_index()[end] for end in ends)
    assert len(minimum_spanning_forest(tuple(columns), first_id=5).edge_ids) == 2
    # Columns of such a table are columns, not tables.
    columns = (frame["km"].astype(int), frame["km"].astype(int) + 1)
    assert edge_list(tuple(columns)).u.tolist() == [2, 1, 3]
    with pytest.raises(GraphError, match="found Series"):
        minimum_spanning_forest(frame["km"].reset_index(drop=True))


@pytest.mark.parametrize("make", [pandas.DataFrame, polars.DataFrame, pa.table, dict])
def test_names_that_are_whole_floats(make):
    table = make({"a": [1, 2, 3], "b": [2.0, 3.0, 1.0], "weight": [1, 2, 3]})
    forest = minimum_spanning_forest(table, ends=("a", "b"))
    assert (list(forest.names), forest.num_components) == ([1, 2, 3], 1)
    for value, message in (
        (0.5, "edge 1: column 'b' is 0.5, but names are strings or integers"),
        (float("nan"), "edge 1: column 'b' has no value"),
        (2.0**53, "edge 1: column 'b' is 9007199254740992.0, which may be rounded"),
    ):
        with pytest.raises(GraphError, match=message):
            minimum_spanning_forest(make({"a": [1, 2], "b": [2.0, value]}), ends=("a", "b"))


@pytest.mark.parametrize("is_numpy", [False, True])
def test_objects_that_are_large_integers(is_numpy):
    values = np.array([2**63 + 1, 2**63, 2**63 + 2], object)
    columns = {"u": [0, 1, 0], "v": [1, 2, 2], "weight": values}
    graph = columns if is_numpy else pandas.DataFrame(columns)
    forest = minimum_spanning_forest(graph)
    assert (forest.weight.dtype, forest.weight.tolist()) == (np.uint64, values[:2].tolist())
    names = minimum_spanning_forest(graph, ends=("weight", "v"), weight=None).names
    assert list(names)[:2] == [2**63 + 1, 1]
    for value in (2**64, -1):
        values[1] = value
        with pytest.raises(GraphError, match=r"is not exact as uint64|more than 64 bits"):
            minimum_spanning_forest(columns if is_numpy else pandas.DataFrame(columns))
    table = pandas.DataFrame({"u": [2**64, 3], "v": [3, 2**70]})
    with pytest.raises(GraphError, match="cast the columns of both ends to strings"):
        minimum_spanning_forest(table, ends=("u", "v"))
    names = minimum_spanning_forest(table.astype(str), ends=("u", "v")).names
    assert list(names) == [str(2**64), "3", str(2**70)]


def test_the_weights_are_not_an_end():
    with pytest.raises(OptionError, match="column 'u' has an end of each edge, not the weights"):
        minimum_spanning_forest({"u": [0], "v": [1], "weight": [5]}, weight="u")


@pytest.mark.parametrize("ends", [None, ("u", "v")])
def test_an_encoding_is_refused_for_a_graph_in_memory(ends):
    table = pandas.DataFrame({"u": ["1"], "v": ["2"], "weight": [1]})
    with pytest.raises(OptionError, match="encoding= is for files, and this graph is a DataFrame"):
        minimum_spanning_forest(table, encoding="latin-1", ends=ends)
