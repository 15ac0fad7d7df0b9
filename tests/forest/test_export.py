"""Conversion to objects of other libraries keeps every edge, weight and dtype."""

import sys

import numpy as np
import pytest
from hypothesis import given

from graph_strategies import edge_lists
from mstflow import minimum_spanning_forest
from mstflow.errors import OptionError

METHODS = {
    "to_scipy": "scipy",
    "to_networkx": "networkx",
    "to_igraph": "igraph",
    "to_pandas": "pandas",
    "to_polars": "polars",
}


FOREST = minimum_spanning_forest(([0], [1]))


def records(forest):
    """Return (edge id, smaller end, larger end, weight) of each edge as Python numbers."""
    columns = forest.edge_ids, forest.u, forest.v, forest.weight
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return [(edge, min(u, v), max(u, v), weight) for edge, u, v, weight in rows]


@given(edge_lists())
def test_scipy(graph):
    sparse = pytest.importorskip("scipy.sparse")
    forest = minimum_spanning_forest(graph)
    matrix = forest.to_scipy()
    assert isinstance(matrix, sparse.csr_array)
    assert matrix.shape == (forest.num_vertices, forest.num_vertices)
    assert (matrix.nnz, matrix.indices.dtype) == (len(forest.edge_ids), np.int32)
    assert matrix.dtype == ("f4" if graph.weight.dtype == "f2" else graph.weight.dtype)
    found = matrix.tocoo()
    rows = zip(found.row.tolist(), found.col.tolist(), found.data.tolist(), strict=True)
    assert sorted(rows) == sorted(record[1:] for record in records(forest))


@given(edge_lists())
def test_networkx(graph):
    networkx = pytest.importorskip("networkx")
    forest = minimum_spanning_forest(graph)
    found = forest.to_networkx()
    assert type(found) is networkx.Graph
    assert list(found) == list(range(forest.num_vertices))
    edges = found.edges(data=True)
    assert records(forest) == sorted(
        (data["edge_id"], min(u, v), max(u, v), data["weight"]) for u, v, data in edges
    )
    assert networkx.number_connected_components(found) == forest.num_components


@given(edge_lists())
def test_igraph(graph):
    igraph = pytest.importorskip("igraph")
    forest = minimum_spanning_forest(graph)
    found = forest.to_igraph()
    assert isinstance(found, igraph.Graph)
    assert (found.vcount(), found.is_directed()) == (forest.num_vertices, False)
    assert records(forest) == [
        (edge["edge_id"], *sorted(edge.tuple), edge["weight"]) for edge in found.es
    ]


@given(edge_lists())
def test_pandas(graph):
    pandas = pytest.importorskip("pandas")
    forest = minimum_spanning_forest(graph)
    frame = forest.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    check_columns(forest, {name: frame[name].to_numpy() for name in frame})


@given(edge_lists())
def test_polars(graph):
    polars = pytest.importorskip("polars")
    forest = minimum_spanning_forest(graph)
    frame = forest.to_polars()
    assert isinstance(frame, polars.DataFrame)
    found = {name: frame[name].to_numpy() for name in frame.columns}
    if graph.weight.dtype == "f2" and not hasattr(polars, "Float16"):  # added in a later version
        assert found["weight"].dtype == "f4"
        found["weight"] = found["weight"].astype("f2")
    check_columns(forest, found)


@given(edge_lists())
def test_arrow(graph):
    import pyarrow

    forest = minimum_spanning_forest(graph)
    table = forest.to_arrow()
    assert isinstance(table, pyarrow.Table)
    names = table.column_names
    check_columns(forest, {name: table[name].to_numpy() for name in names})


def check_columns(forest, found):
    assert list(found) == ["edge_id", "u", "v", "weight"]
    wanted = (forest.edge_ids, forest.u, forest.v, forest.weight)
    for column, values in zip(found.values(), wanted, strict=True):
        assert column.dtype == values.dtype
        assert np.array_equal(column, values)


@pytest.mark.parametrize(("method", "library"), METHODS.items())
def test_missing_library(method, library, monkeypatch):
    for module in [name for name in sys.modules if name.partition(".")[0] == library]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, library, None)  # makes its import fail
    message = rf"{method}\(\) needs the package {library}; install mstflow\[io\]$"
    with pytest.raises(OptionError, match=message):
        getattr(FOREST, method)()


def test_library_with_a_failing_import(monkeypatch, tmp_path):
    monkeypatch.delitem(sys.modules, "igraph", raising=False)
    (tmp_path / "igraph.py").write_text("import no_such_module")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        FOREST.to_igraph()
