"""Columns come back as they were written, and a failed write leaves nothing behind."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mstflow.errors import OptionError
from mstflow.graphs.read import read
from mstflow.graphs.write import check_output, write_columns

COLUMNS = {
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


def test_what_is_written_reads_as_a_graph(tmp_path):
    columns = {"u": np.array([0, 1]), "v": np.array([1, 2]), "weight": np.array([5, 6])}
    for name in ("graph.npz", "graph"):
        write_columns(tmp_path / name, columns)
        assert read(tmp_path / name).weight.tolist() == [5, 6]


def test_a_file_is_replaced(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("old")
    write_columns(path, {"u": np.array([7])})
    assert path.read_text() == "u\n7\n"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("name", "match"),
    [
        ("out.xyz", r"cannot write '.xyz'; choose .npz, .csv, .parquet, .gr, .mtx, or no suffix"),
        ("out.geojson", "coordinates go with .geojson"),
        ("missing/out.npz", "there is no folder"),
        ("full", "the folder is not empty"),
        ("full.csv", "is a folder"),
        ("file", "is a file"),
        ("file/out.csv", "there is no folder"),
    ],
)
def test_outputs_that_are_refused(tmp_path, name, match):
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


@pytest.mark.parametrize("name", ["out.npz", "out.csv", "out"])
@pytest.mark.parametrize(
    "columns",
    [
        {"u": np.array([1]), "v": np.array([1, 2])},
        {"u": np.array([{}])},
        {"u": np.array([[1]])},
    ],
)
def test_columns_that_are_refused(tmp_path, name, columns):
    with pytest.raises(ValueError, match="column"):
        write_columns(tmp_path / name, columns)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["out.npz", "out.csv", "out"])
def test_a_failed_write_leaves_what_was_there(tmp_path, name, monkeypatch):
    from pathlib import Path

    def full(*_):
        raise OSError(28, "No space left on device")

    write_columns(tmp_path / name, {"u": np.array([7])}) if name != "out" else None
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OptionError, match="No space left"):
        write_columns(tmp_path / name, COLUMNS)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
