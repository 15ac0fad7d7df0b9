"""Tables of clusters: equal to components at each threshold, with and without names."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import csv as arrow_csv
from pyarrow import parquet

from graph_strategies import edge_lists
from mstflow import EdgeList, minimum_spanning_forest
from mstflow.errors import OptionError
from mstflow.runtime.sizes import tuned
from oracle import components

PAIRS = pa.table(
    {
        "left": ["a", "b", "c", "e"],
        "right": ["b", "c", "d", "e"],
        "score": [0.9, 0.5, 0.7, 1.0],
    }
)


def components_at(graph, threshold, *, maximum):
    """Return the components of the edges that a threshold keeps, numbered by first vertex."""
    weights = graph.weight.tolist()  # compared as Python compares: exactly
    kept = np.array([w >= threshold if maximum else w <= threshold for w in weights], bool)
    return components(EdgeList(graph.u[kept], graph.v[kept], num_vertices=graph.num_vertices))


@given(edge_lists(), st.booleans(), st.data())
def test_components_at_each_threshold(graph, maximum, data):
    known = st.sampled_from(graph.weight.tolist()) if graph.num_edges else st.nothing()
    thresholds = data.draw(
        st.lists(known | st.integers(-3, 9) | st.floats(-3, 9), min_size=1, max_size=4, unique=True)
    )
    forest = minimum_spanning_forest(graph, maximum=maximum)
    table = forest.clusters(thresholds)
    by = {"similarity" if maximum else "distance": thresholds}
    cut = forest.cut(**by)
    columns = table.to_arrow()
    assert columns["vertex"].to_pylist() == list(range(graph.num_vertices))
    for place, (threshold, counts) in enumerate(zip(thresholds, table.counts, strict=True)):
        labels = table.labels(threshold)
        assert labels.dtype == np.int64
        expected = components_at(graph, threshold, maximum=maximum)
        assert labels.tolist() == expected.tolist() == cut[place].tolist()
        assert columns[f"cluster_{threshold}"].to_pylist() == labels.tolist()
        sizes = np.bincount(labels).tolist()
        assert counts.threshold == threshold
        assert counts.clusters == len(sizes)
        assert counts.singletons == sizes.count(1)
        assert counts.largest == max(sizes, default=0)
        ranges = [2 ** (size.bit_length() - 1) for size in sizes]
        assert counts.sizes == {each: ranges.count(each) for each in ranges}


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_named_tables_are_written_block_by_block(tmp_path, suffix):
    forest = minimum_spanning_forest(PAIRS, ends=("left", "right"), weight="score", maximum=True)
    table = forest.clusters([0.7, 0.9, 0.5])
    path = tmp_path / f"clusters{suffix}"
    with tuned(labels_in_memory=8):  # the rest goes to a file
        table.save(path)
    saved = parquet.read_table(path) if suffix == ".parquet" else arrow_csv.read_csv(path)
    expected = {
        "name": ["a", "b", "c", "d", "e"],
        "cluster_0.7": [0, 0, 1, 1, 2],
        "cluster_0.9": [0, 0, 1, 2, 3],
        "cluster_0.5": [0, 0, 0, 0, 1],
    }
    assert saved.to_pydict() == expected == table.to_arrow().to_pydict()
    assert [len(block[0]) for block in table.blocks(2)] == [2, 2, 1]
    assert repr(table) == "<ClusterTable: 5 vertices at 3 thresholds>"
    assert len(table) == 5
    assert [path.name for path in tmp_path.iterdir()] == [path.name]


def test_bad_thresholds_and_outputs(tmp_path):
    parquet.write_table(PAIRS, tmp_path / "pairs.parquet")
    forest = minimum_spanning_forest(
        tmp_path / "pairs.parquet", ends=("left", "right"), weight="score"
    )
    for at, message in (
        ([], r"expected one or more different thresholds, got \[\]"),
        ([1, 1.0], "expected one or more different thresholds"),
        ([[1]], r"a threshold must be a number, not \[1\]"),
        ("high", "a threshold must be a number, not 'high'"),
        (float("nan"), "a threshold must be a number, not nan"),
    ):
        with pytest.raises(OptionError, match=message):
            forest.clusters(at)
    table = forest.clusters(0.5)
    with pytest.raises(OptionError, match=r"0.6 is not one of the thresholds \[0.5\]"):
        table.labels(0.6)
    with pytest.raises(
        OptionError, match=r"names and clusters of vertices need \.csv or \.parquet"
    ):
        table.save(tmp_path / "clusters.npz")


def test_a_table_without_vertices_has_typed_columns():
    table = minimum_spanning_forest(([], [], []), num_vertices=0).clusters(1).to_arrow()
    assert table.schema == pa.schema({"vertex": pa.int64(), "cluster_1": pa.int64()})


def test_clusters_report_progress():
    seen = []
    forest = minimum_spanning_forest((np.arange(9), np.arange(9) + 1))
    forest.clusters([1, 2], progress=lambda *report: seen.append(report))
    assert seen == [("find clusters", done, 1) for done in range(2)]
