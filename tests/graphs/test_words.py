"""Errors state the problem, its place, and what to do."""

from __future__ import annotations

import errno
import resource
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import mstflow
from mstflow.__main__ import main
from mstflow.errors import FileFormatError, GraphError, OptionError
from mstflow.graphs.open import read
from mstflow.graphs.write import replacing

U, V = np.array([0, 1, 2, 0]), np.array([1, 2, 0, 2])


def save(path, w):
    """Write a graph of four edges as a folder or a Parquet file of two row groups."""
    if path.suffix:
        parquet.write_table(pa.table({"u": U, "v": V, "weight": w}), path, row_group_size=2)
    else:
        path.mkdir()
        for name, values in {"u": U, "v": V, "w": w}.items():
            np.save(path / f"{name}.npy", values)
    return path


@pytest.mark.parametrize("name", ["bad", "bad.parquet"])
@pytest.mark.parametrize("options", [{"strategy": "fold"}, {"memory": "1GB"}, {"partitions": 2}])
def test_streams_name_the_file_and_the_row(tmp_path, name, options):
    files = [save(tmp_path / "good.parquet", np.arange(4.0))]
    files.append(save(tmp_path / name, np.array([0, 1, 2, np.nan])))
    with pytest.raises(FileFormatError, match=f"/{name}: edge 3: the weight is NaN"):
        mstflow.minimum_spanning_forest(files, **options)
    with pytest.raises(FileFormatError, match=r"good\.parquet: edge 1: joins 1 and 2"):
        mstflow.minimum_spanning_forest(files[0], num_vertices=2, **options)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.gr", "p sp 0 1\na 1 1 5\n", ": line 2: vertex id 1, but the graph has no vertices"),
        ("a.txt", "0\n1\n0 0 5\n", ": line 3: vertex id 0, but the graph has no vertices"),
        ("a.graph", "0 0\n\n", None),
    ],
)
def test_graphs_without_vertices(tmp_path, name, text, expected):
    path = tmp_path / name
    path.write_text(text)
    if expected is None:
        assert read(path).num_vertices == 0
        return
    with pytest.raises(FileFormatError) as raised:
        read(path)
    assert str(raised.value) == f"{path}{expected}"


def test_arrays_without_vertices():
    with pytest.raises(GraphError, match=r"edge 0: joins 0 and 1, but there are 0 vertices$"):
        mstflow.EdgeList(U, V, num_vertices=0)


@pytest.mark.parametrize("items", [[[0, 1, 5], [1, 2, 1], [2, 0, 9]], [[0, 1], [1, 2]]])
def test_a_list_that_may_be_columns_or_edges(items):
    with pytest.raises(GraphError, match=r"may be columns or edges: pass columns as a tuple, \(u"):
        mstflow.minimum_spanning_forest(items)
    assert len(mstflow.minimum_spanning_forest(tuple(zip(*items, strict=True))).edge_ids) == 2


@pytest.mark.parametrize("items", [["a.csv", (U, V)], [(U, V), Path("a.csv")], ["a.csv", None]])
def test_a_list_of_paths_and_other_objects(items):
    with pytest.raises(GraphError, match="expected a list of paths only"):
        mstflow.minimum_spanning_forest(items)


def test_lists_of_edges_and_of_columns():
    with pytest.raises(GraphError, match="found a list of edges"):
        mstflow.minimum_spanning_forest([[0, 1, 5], [1, 2, 1], [2, 0, 9], [0, 2, 1]])
    assert mstflow.minimum_spanning_forest([U, V]).edge_ids.tolist() == [0, 1]
    assert len(mstflow.minimum_spanning_forest([[0, 1, 2, 0], [1, 2, 0, 2]]).edge_ids) == 2


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("b.txt", "0 1 5\r1 2 5\r\n", 1),
        ("a.csv", "u,v,weight\n0,1,5\n1,2,5\r2,3,5\n", 3),
        ("a.gr", "p sp 3 2\na 1 2 5\na 2 3 5\ra 1 3 5\n", 3),
        ("a.graph", "3 2\n2\n1\r3\n2\n", 3),
        ("a.mtx", "%%MatrixMarket matrix coordinate real general\r2 2 1\n1 2 5\n", 1),
    ],
)
def test_carriage_returns_within_a_line(tmp_path, name, text, line):
    path = tmp_path / name
    path.write_bytes(text.encode())
    with pytest.raises(FileFormatError, match=f"{name}: line {line}: a carriage return within"):
        read(path)


def test_carriage_returns_before_the_end_of_a_line(tmp_path):
    path = tmp_path / "a.graph"
    path.write_bytes(b"2 1\r\n2\r\n1\r\n")
    assert read(path).num_edges == 2


@pytest.mark.parametrize("name", ["OUT.MTX", "out.Gr", "out.NPZ", "out.CSV", "out.Parquet"])
def test_suffixes_in_capitals(tmp_path, name):
    forest = mstflow.minimum_spanning_forest((U, V, np.arange(4)))
    forest.save(tmp_path / name)
    assert read(tmp_path / name).num_edges == 2


def test_compression_suffixes_in_capitals(tmp_path):
    import gzip

    (tmp_path / "a.txt.GZ").write_bytes(gzip.compress(b"0 1 5\n"))
    assert read(tmp_path / "a.txt.GZ").num_edges == 1


def test_warnings_of_libraries_are_not_shown(tmp_path, capfd):
    image = pytest.importorskip("PIL.Image")
    image.new("1", (11_000, 9_000)).save(tmp_path / "large.png")  # warns of a bomb
    (tmp_path / "large.png").write_bytes((tmp_path / "large.png").read_bytes()[:-200])
    header = b"{'descr': '<i8', 'fortran_order': False, 'shape': (1L,), }"
    data = b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header + bytes(8)
    with zipfile.ZipFile(tmp_path / "python2.npz", "w") as archive:
        archive.writestr("u.npy", data)
    (tmp_path / "python2").mkdir()
    (tmp_path / "python2/u.npy").write_bytes(data)
    for name in ("large.png", "python2.npz", "python2"):
        assert main(["solve", str(tmp_path / name)]) == 2
        error = capfd.readouterr().err  # a warning would also fail this test
        assert error.startswith("error: ")
        assert error.count("\n") == 1


@pytest.mark.parametrize("name", ["out", "out.npz", "out.csv", "out.gr", "out.mtx"])
def test_a_full_disk_names_the_file_and_the_bytes(tmp_path, name):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    columns = {"u": np.arange(200_000), "v": np.arange(200_000), "weight": np.arange(200_000)}
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
        with pytest.raises(OptionError, match=r"out\S*: File too large after [\d,]+ bytes$"):
            mstflow.graphs.write.write_columns(tmp_path / name, columns, num_vertices=200_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not list(tmp_path.iterdir())


def test_no_space_names_the_file_and_the_bytes(tmp_path):
    def fill(draft):
        draft.write_bytes(bytes(1234))
        raise OSError(errno.ENOSPC, "No space left on device")

    expected = r"out\.npz: No space left on device after 1,234 bytes"
    with pytest.raises(OptionError, match=expected), replacing(tmp_path / "out.npz") as draft:
        fill(draft)


def test_errors_on_the_command_line(tmp_path, capsys):
    save(tmp_path / "bad", np.array([0, 1, np.nan, 2]))
    assert main(["solve", str(tmp_path / "bad"), "--memory", "1GB"]) == 2
    assert capsys.readouterr().err == f"error: {tmp_path}/bad: edge 2: the weight is NaN\n"
