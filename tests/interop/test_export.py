"""Conversion to objects of other libraries keeps every edge, weight and dtype."""

import sys

import igraph
import networkx
import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest
from hypothesis import given
from scipy import sparse

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
    forest = minimum_spanning_forest(graph)
    found = forest.to_igraph()
    assert isinstance(found, igraph.Graph)
    assert (found.vcount(), found.is_directed()) == (forest.num_vertices, False)
    assert records(forest) == [
        (edge["edge_id"], *sorted(edge.tuple), edge["weight"]) for edge in found.es
    ]


@pytest.mark.parametrize("table_type", [pandas.DataFrame, polars.DataFrame, pa.Table])
@given(graph=edge_lists())
def test_tables(table_type, graph):
    library = {pa.Table: "arrow"}.get(table_type, table_type.__module__.partition(".")[0])
    forest = minimum_spanning_forest(graph)
    table = getattr(forest, f"to_{library}")()
    assert isinstance(table, table_type)
    assert list(getattr(table, "column_names", table.columns)) == ["edge_id", "u", "v", "weight"]
    expected = (forest.edge_ids, forest.u, forest.v, forest.weight)
    for name, values in zip(["edge_id", "u", "v", "weight"], expected, strict=True):
        found = table[name].to_numpy()
        if values.dtype == "f2" and library == "polars" and not hasattr(polars, "Float16"):
            assert found.dtype == "f4"  # a later version has this type
            found = found.astype("f2")
        np.testing.assert_array_equal(found, values, strict=True)


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
