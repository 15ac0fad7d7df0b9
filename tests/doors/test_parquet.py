"""Parquet files round-trip, whole or by row group; tables that are not graphs are refused."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

import mstflow
from graph_strategies import WEIGHT_DTYPES, edge_lists
from mstflow.doors.column_names import Choice
from mstflow.doors.formats.parquet import RowGroups, parquet_source, read_parquet
from mstflow.doors.write import write_graph
from mstflow.errors import FileFormatError, OptionError
from mstflow.graphs.source import EdgeSource

NAMED = {"u": [0, 1, 2], "v": [1, 2, 0], "weight": [0.5, -1.0, 2.0]}


def written(path, table, **options):
    parquet.write_table(pa.table(table), path, **options)
    return path


def row_groups(path, *choice):
    return [read() for each in parquet_source(path, *choice).segments for _, read in each.reads(1)]


@given(edge_lists(), st.integers(1, 50))
def test_round_trip_in_row_groups(tmp_path_factory, graph, size):
    path = tmp_path_factory.mktemp("parquet") / "graph.parquet"
    written(path, {"u": graph.u, "v": graph.v, "weight": graph.weight}, row_group_size=size)
    whole = read_parquet(path)
    groups = row_groups(path)
    assert len(groups) == -(-graph.num_edges // size) or not graph.num_edges
    for i, name in enumerate(("u", "v", "weight")):
        expected = getattr(graph, name)
        np.testing.assert_array_equal(getattr(whole, name), expected, strict=True)
        parts = [group[i] for group in groups] or [expected]
        np.testing.assert_array_equal(np.concatenate(parts), expected, strict=True)


def test_a_sample_of_weights_reads_each_row_group_once(tmp_path, monkeypatch):
    weight = np.arange(9000.0)
    columns = {"u": np.zeros(9000, int), "v": np.ones(9000, int), "weight": weight}
    source = parquet_source(written(tmp_path / "g.parquet", columns, row_group_size=3000))
    source = source.with_sizes()
    table, groups = RowGroups.table, []
    monkeypatch.setattr(
        RowGroups, "table", lambda rows, *group: groups.append(group[0]) or table(rows, *group)
    )
    sample = source.sample_weights()
    assert {0, 8999} < set(sample) < set(weight)
    assert source.slice(2000, 5000).sample_weights(shares=64).tolist() == [*range(2000, 2512)]
    assert groups == [0, 1, 2, 0]


def test_written_columns_lack_no_values(tmp_path):
    """They take half of the time to read."""
    write_graph(tmp_path / "g.parquet", EdgeSource.of(mstflow.EdgeList([0], [1], [2.0])))
    schema = parquet.read_schema(tmp_path / "g.parquet")
    assert [(each.name, each.nullable) for each in schema] == [
        ("u", False),
        ("v", False),
        ("weight", False),
    ]


@pytest.mark.parametrize("ends", [("u", "v"), ("source", "target"), ("src", "dst")])
def test_columns_are_found_by_name(tmp_path, ends):
    table = {"length": NAMED["weight"], ends[1]: NAMED["v"], "name": ["a"] * 3, ends[0]: NAMED["u"]}
    path = written(tmp_path / "g.parquet", table, row_group_size=2)
    graph = read_parquet(path, Choice("length"))
    assert (graph.u.tolist(), graph.weight.tolist()) == (NAMED["u"], NAMED["weight"])
    assert read_parquet(path, Choice(None)).weight.tolist() == [1, 1, 1]
    assert [group[2] for group in row_groups(path, Choice(None))] == [None, None]
    _, second = row_groups(path, Choice("length"))
    assert [column.tolist() for column in second] == [[2], [0], [2.0]]


@pytest.mark.parametrize("extra", [{}, {"edge_id": [7, 8, 9]}])
def test_ends_without_weights(tmp_path, extra):
    path = written(tmp_path / "g.parquet", {"u": NAMED["u"], "v": NAMED["v"], **extra})
    assert read_parquet(path).weight.tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"v": None}, "expected one column each for u and v, or source and target, or src and dst"),
        ({"weight": None, "weights": [1, 2, 3]}, "no column 'weight' for the weights; found u, v,"),
        ({"u": ["0", "1", "2"]}, "column 'u' must hold numbers, not string"),
        ({"u": [0.0, 1.0, 2.0]}, "u must hold integers, not double|u must hold integers, not flo"),
        ({"v": [1, None, 0]}, "edge 1: column 'v' has no value"),
        ({"weight": [1.0, 2.0, None]}, "edge 2: column 'weight' has no value"),
        ({"weight": [1.0, float("nan"), 2.0]}, "edge 1: the weight is NaN"),
        ({"v": [1, 2, -3]}, "edge 2: v is -3"),
    ],
)
def test_tables_that_are_refused(tmp_path, changes, message):
    table = {name: values for name, values in (NAMED | changes).items() if values is not None}
    path = written(tmp_path / "g.parquet", table, row_group_size=1)
    with pytest.raises(FileFormatError, match=message) as raised:
        read_parquet(path)
    assert str(raised.value).startswith(f"{path}: ")


def test_missing_column_of_weights(tmp_path):
    path = written(tmp_path / "g.parquet", NAMED)
    with pytest.raises(OptionError, match="no column 'length' for the weights; found u, v, weight"):
        read_parquet(path, Choice("length"))


@pytest.mark.parametrize("damage", ["empty", "text", "cut", "absent", "folder"])
def test_files_that_are_not_parquet(tmp_path, damage):
    path = written(tmp_path / "g.parquet", NAMED)
    data = path.read_bytes()
    path.unlink()
    if damage == "folder":
        path.mkdir()
    elif damage != "absent":
        path.write_bytes({"empty": b"", "text": b"0 1 5\n", "cut": data[:-9]}[damage])
    with pytest.raises(FileFormatError) as raised:
        read_parquet(path)
    message = str(raised.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message


def test_every_dtype_of_weights(tmp_path):
    for dtype in WEIGHT_DTYPES:
        weight = np.array([1, 0], dtype)
        path = written(tmp_path / "g.parquet", {"u": [0, 1], "v": [1, 2], "weight": weight})
        assert read_parquet(path).weight.dtype == weight.dtype


def test_a_footer_with_fewer_rows_in_a_row_group(tmp_path):
    rows, path = np.arange(77), tmp_path / "edges.parquet"
    parquet.write_table(pa.table({"u": rows, "v": rows + 1}), path)
    content = path.read_bytes()
    stated = content.rindex(b"\x9a\x01")  # 77 as a signed integer of variable size
    path.write_bytes(content[:stated] + b"\x98" + content[stated + 1 :])
    message = "edges.parquet.*: states 77 rows, but 76 in its row groups"
    for read in (read_parquet, parquet_source):
        with pytest.raises(FileFormatError, match=message):
            read(path)
