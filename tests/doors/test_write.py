"""Written columns are read back unchanged; a failed write leaves nothing behind."""

from __future__ import annotations

import csv
import dataclasses
import resource
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import csv as pa_csv

from benchmarks.files import read_mtx
from graph_strategies import edge_lists
from mstflow import EdgeList, minimum_spanning_forest
from mstflow.doors.formats import OUTPUTS
from mstflow.doors.read import read
from mstflow.doors.write import check_output, write_columns, write_graph, write_table
from mstflow.errors import OptionError
from mstflow.forest.streamed import forest_table
from mstflow.graphs.source import EdgeSource
from mstflow.graphs.vertex_names import VertexNames

COLUMNS = {
    "edge_id": np.array([3, 4]),
    "u": np.array([0, 2**63 - 1]),
    "weight": np.array([0.1, -np.inf]),
    "half": np.array([0.1, 65504], np.float16),
    "wide": np.array([0, 2**64 - 1], np.uint64),
    "kept": np.array([True, False]),
}


def test_npz_round_trip(tmp_path):
    write_columns(tmp_path / "out.npz", COLUMNS)
    with np.load(tmp_path / "out.npz", allow_pickle=False) as archive:
        assert set(archive.files) == set(COLUMNS)
        for name, values in COLUMNS.items():
            np.testing.assert_array_equal(archive[name], values, strict=True)


@pytest.mark.parametrize("name", ["out", "out.columns/"])
@pytest.mark.parametrize("exists", [False, True])
def test_folder_round_trip(tmp_path, name, exists):
    if exists:
        (tmp_path / name).mkdir()
    write_columns(f"{tmp_path}/{name}", COLUMNS)
    assert {file.stem for file in (tmp_path / name).iterdir()} == set(COLUMNS)
    for column, values in COLUMNS.items():
        np.testing.assert_array_equal(
            np.load(tmp_path / name / f"{column}.npy"), values, strict=True
        )


@settings(deadline=None)  # the first example loads pyarrow
@given(
    st.lists(
        st.tuples(
            st.floats(allow_nan=False),
            st.floats(allow_nan=False, width=32),
            st.floats(allow_nan=False, width=16),
            st.integers(-(2**63), 2**63 - 1),
            st.integers(0, 2**64 - 1),
            st.booleans(),
        ),
        max_size=20,
    )
)
def test_csv_round_trip(tmp_path_factory, rows):
    dtypes = [np.float64, np.float32, np.float16, np.int64, np.uint64, np.bool_]
    columns = {
        np.dtype(dtype).name: np.array([row[i] for row in rows], dtype)
        for i, dtype in enumerate(dtypes)
    }
    path = tmp_path_factory.mktemp("csv") / "out.csv"
    write_columns(path, columns)
    header, *lines = csv.reader(path.read_text().splitlines())
    assert header == list(columns)
    for i, dtype in enumerate(dtypes):
        parse = float if np.dtype(dtype).kind == "f" else int
        values = np.array([parse(line[i]) for line in lines], dtype)
        np.testing.assert_array_equal(values, columns[header[i]], strict=True)


def test_saved_forest_reads_as_a_graph(tmp_path):
    columns = {"u": np.array([0, 1]), "v": np.array([1, 2]), "weight": np.array([5, 6])}
    for name in ("graph", *(f"graph{suffix}" for suffix in OUTPUTS.split(", "))):
        write_columns(tmp_path / name, columns, num_vertices=9)
        graph = read(tmp_path / name)
        assert graph.weight.tolist() == [5, 6]
        assert graph.num_vertices == (3 if Path(name).suffix in WITHOUT_SIZE else 9)


@given(edge_lists(), st.sampled_from(["", *OUTPUTS.split(", ")]))
def test_graph_round_trip(tmp_path_factory, graph, suffix):
    path = tmp_path_factory.mktemp("graph") / f"graph{suffix}"
    write_graph(path, EdgeSource.of(graph))
    found = read(path, num_vertices=graph.num_vertices)
    ends = [np.minimum(each.u, each.v).tolist() for each in (found, graph)]
    assert ends[0] == ends[1]
    if suffix == ".mtx":  # below the diagonal
        assert (found.u >= found.v).all()
    else:
        assert found.u.tolist() == graph.u.tolist()
    if graph.num_edges and suffix in ("", ".npz", ".parquet"):
        assert found.weight.dtype == graph.weight.dtype
    as_written = found.weight if graph.weight.dtype != "f2" else found.weight.astype("f4")
    assert as_written.astype(graph.weight.dtype).tolist() == graph.weight.tolist()
    forest = minimum_spanning_forest(graph)  # text keeps order and ties
    assert minimum_spanning_forest(found).edge_ids.tolist() == forest.edge_ids.tolist()


def test_unweighted_graph_round_trip(tmp_path):
    graph = EdgeList(np.arange(9), np.arange(1, 10))
    for suffix in ("", *OUTPUTS.split(", ")):
        write_graph(tmp_path / f"graph{suffix}", EdgeSource.of(graph))
        assert read(tmp_path / f"graph{suffix}").weight.tolist() == [1] * 9


def test_text_that_other_programs_read(tmp_path):
    columns = {"edge_id": [7, 9], "u": [0, 3], "v": [2, 1], "weight": np.array([0.1, -2], "f4")}
    columns = {name: np.asarray(values) for name, values in columns.items()}
    write_columns(tmp_path / "out.gr", columns, num_vertices=5)
    assert (tmp_path / "out.gr").read_text() == "p sp 5 2\na 1 3 0.1\na 4 2 -2\n"
    write_columns(tmp_path / "out.mtx", columns, num_vertices=5)
    matrix = read_mtx(tmp_path / "out.mtx").toarray()
    assert matrix.shape == (5, 5)
    assert (matrix[0, 2], matrix[2, 0], matrix[3, 1], matrix[1, 3]) == (0.1, 0.1, -2, -2)


#: Suffixes of formats that do not store the number of vertices.
WITHOUT_SIZE = {".csv"}


def test_a_file_is_replaced(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("old")
    write_columns(path, {"u": np.array([7])})
    assert path.read_text() == "u\n7\n"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("name", "match"),
    [
        ("out.xyz", f"cannot write '.xyz'; use {OUTPUTS}, or no suffix"),
        ("missing/out.npz", "does not exist"),
        ("full", "the folder is not empty"),
        ("full.csv", "is a folder"),
        ("file", "is a file"),
        ("file/out.csv", "does not exist"),
    ],
)
def test_refused_outputs(tmp_path, name, match):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "kept").touch()
    (tmp_path / "full.csv").mkdir()
    (tmp_path / "file").touch()
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(OptionError, match=match):
        check_output(tmp_path / name)
    with pytest.raises(OptionError, match=match):
        write_columns(tmp_path / name, COLUMNS)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("name", ["out.npz", "out.csv", "out.parquet", "out"])
def test_failed_write_keeps_the_old_file(tmp_path, name, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    write_columns(tmp_path / name, {"u": np.array([7])}) if name != "out" else None
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    monkeypatch.setattr(Path, "replace", full)  # a disk cannot be filled up at the rename alone
    with pytest.raises(OptionError, match="No space left"):
        write_columns(tmp_path / name, COLUMNS)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("name", ["out", "out.npz", "out.csv", "out.gr", "out.mtx"])
def test_a_full_disk_names_the_file_and_the_bytes(tmp_path, name):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    columns = dict.fromkeys(["u", "v", "weight"], np.arange(200_000))
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
        with pytest.raises(OptionError, match=r"out\S*: File too large after \d+,\d+ bytes$"):
            write_columns(tmp_path / name, columns, num_vertices=200_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["OUT.MTX", "out.Gr", "out.NPZ", "out.CSV", "out.Parquet"])
def test_suffixes_in_capitals(tmp_path, name):
    write_columns(
        tmp_path / name, dict.fromkeys(["u", "v", "weight"], np.arange(2)), num_vertices=2
    )
    assert read(tmp_path / name).num_edges == 2


class _Fetched(VertexNames):
    """Names that are not in memory; counts how often they are fetched."""

    def __init__(self, values):
        super().__init__(values)
        self._kept, self._values, self.fetches = values, None, 0

    @property
    def values(self):
        self.fetches += 1
        return self._kept


def test_names_that_are_not_in_memory_are_fetched_once(tmp_path):
    names, ends = _Fetched(pa.array(["a", "b"])), np.arange(2**17) % 2
    edges = EdgeList(ends, ends[::-1].copy(), np.arange(len(ends)))
    source = dataclasses.replace(EdgeSource.of(edges).with_sizes(), names=names)
    write_graph(tmp_path / "graph.csv", source)
    assert names.fetches == 1
    forest_path, ids = tmp_path / "forest.csv", np.arange(len(ends))
    write_table(forest_path, forest_table(source, ids))
    assert names.fetches == 2
    assert pa_csv.read_csv(forest_path)["u"].to_pylist()[:2] == ["a", "b"]
