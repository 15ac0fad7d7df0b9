"""Files of other content: each message says what to pass, and what it says works."""

from __future__ import annotations

import io
import re
import tarfile
import zipfile

import networkx
import numpy as np
import pytest
import scipy.sparse

import mstflow
from mstflow.errors import FileFormatError, GraphError, OptionError

OPTIONS = ({}, {"ends": (0, 1), "weight": 2}, {"memory": "1GB"})


def refused(path, message, options=OPTIONS):
    for each in options:
        with pytest.raises(FileFormatError, match=message):
            mstflow.minimum_spanning_forest(path, **each)


@pytest.mark.parametrize("name", ["g.edgelist", "g.edgelist.gz", "g.txt", "g"])
@pytest.mark.parametrize("delimiter", [" ", ",", "\t"])
@pytest.mark.parametrize("nodes", [[1, 2, 3], ["a", "b", "c"]])
def test_lines_of_networkx(name, delimiter, nodes, tmp_path):
    graph = networkx.Graph()
    graph.add_weighted_edges_from(zip(nodes, nodes[1:] + nodes[:1], [3.0, 1.0, 2.0], strict=True))
    path = tmp_path / name
    networkx.write_edgelist(graph, path, delimiter=delimiter)
    refused(path, r"pass networkx\.read_edgelist\(path\), with its delimiter=")
    again = networkx.read_edgelist(path, delimiter=delimiter)
    assert mstflow.minimum_spanning_forest(again).total_weight == 3


def zipped(**files):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in files.items():
            archive.writestr(name.replace("__", "/").replace("_", "."), text)
    return buffer.getvalue()


def tarred():
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        entry = tarfile.TarInfo("e.csv")
        entry.size = 8
        archive.addfile(entry, io.BytesIO(b"u,v\n0,1\n"))
    return buffer.getvalue()


WORKBOOK = zipped(Content_xml="<Types>", xl__workbook_xml="<workbook>")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.xlsx", WORKBOOK, r"spreadsheets; pass pandas\.read_excel\(path\)"),
        ("a", WORKBOOK, r"spreadsheets; pass pandas\.read_excel\(path\)"),
        ("a.ods", zipped(mimetype="", content_xml=""), "spreadsheets"),
        ("a.dat", zipped(mimetype="", content_xml=""), "spreadsheets"),
        ("a.xls", b"\xd0\xcf\x11\xe0", "spreadsheets"),
        ("a.zip", zipped(e_csv="u,v\n0,1\n"), "archives; unpack it, and pass its files"),
        ("a", zipped(e_csv="u,v\n0,1\n"), "archives; unpack it"),
        ("a.tar", tarred(), "archives; unpack it"),
        ("a.tar.gz", tarred(), "archives; unpack it"),
        ("a", tarred(), "archives; unpack it"),
    ],
)
def test_workbooks_and_archives(name, content, message, tmp_path):
    (tmp_path / name).write_bytes(content)
    refused(tmp_path / name, f"mstflow does not read {message}")


@pytest.mark.parametrize("dtype", [int, float])
def test_one_array(dtype, tmp_path):
    path = tmp_path / "edges.npy"
    np.save(path, np.array([[0, 1, 4], [1, 2, 3]], dtype))
    refused(path, r"if its columns are u, v and weight, pass \(a\[:, 0\]")
    refused(f"{tmp_path}/*.npy", "files of one array")
    with pytest.raises(FileFormatError) as caught:
        mstflow.read(path)
    recipe = re.search(r"pass (\(.*\)) of a = (.*)$", str(caught.value))
    a = eval(recipe[2], {"numpy": np, "path": path})
    assert mstflow.minimum_spanning_forest(eval(recipe[1], {"a": a})).total_weight == 7


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr"])
def test_a_saved_matrix_of_scipy(kind, tmp_path):
    matrix = scipy.sparse.csr_array(np.array([[0, 1, 4.0], [1, 0, 2], [4, 2, 0]])).asformat(kind)
    scipy.sparse.save_npz(tmp_path / "m.npz", matrix)
    with pytest.raises(FileFormatError, match=r"pass scipy\.sparse\.load_npz\(path\)"):
        mstflow.minimum_spanning_forest(tmp_path / "m.npz")
    loaded = scipy.sparse.load_npz(tmp_path / "m.npz")
    loaded = loaded.tocsr() if kind == "bsr" else loaded  # as the next message says
    assert mstflow.minimum_spanning_forest(loaded).total_weight == 3


def test_arrays_without_names(tmp_path):
    np.savez(tmp_path / "a.npz", [0, 1], [1, 2], [4, 3])
    with pytest.raises(FileFormatError, match=r"pass the arrays of numpy\.load\(path\) as a tuple"):
        mstflow.read(tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz") as archive:
        assert mstflow.minimum_spanning_forest(tuple(archive.values())).total_weight == 7


@pytest.mark.parametrize("suffix", [".ncol", ".dat", "", ".txt", ".edgelist", ".csv"])
@pytest.mark.parametrize("first", ["a", "c", "p", "e", "Zürich"])
@pytest.mark.parametrize("sep", [" ", "\t", ",", ";"])
def test_names_without_a_header(suffix, first, sep, tmp_path):
    path = tmp_path / f"names{suffix}"
    path.write_text(f"{first}{sep}b{sep}3\nb{sep}x{sep}2\n")
    with pytest.raises(FileFormatError, match="is not a vertex id; if vertices have names") as e:
        mstflow.minimum_spanning_forest(path)
    assert "pass ends=(0, 1), weight=2" in str(e.value)
    for memory in (None, "1GB"):
        forest = mstflow.minimum_spanning_forest(path, ends=(0, 1), weight=2, memory=memory)
        assert (list(forest.names), forest.total_weight) == ([first, "b", "x"], 5)


def test_names_in_latin_1(tmp_path):
    path = tmp_path / "names.txt"
    path.write_bytes("Zürich Genève 3\n".encode("latin-1"))
    with pytest.raises(FileFormatError, match=r"ends=\(0, 1\), weight=2, encoding='latin-1'"):
        mstflow.read(path)
    options = {"ends": (0, 1), "weight": 2, "encoding": "latin-1"}
    assert list(mstflow.read(path, **options).names) == ["Zürich", "Genève"]


def test_names_below_a_header(tmp_path):
    path = tmp_path / "names.csv"
    path.write_text("source,target,km\na,b,3\n")
    with pytest.raises(FileFormatError, match=r"ends=\('source', 'target'\), weight='km'"):
        mstflow.read(path, weight="km")
    assert list(mstflow.read(path, ends=("source", "target"), weight="km").names) == ["a", "b"]


@pytest.mark.parametrize("comment", ["c roads\n", "c 1 2\nc\nc 3 4 5\n", ""])
@pytest.mark.parametrize("text", ["p sp 3 2\na 1 2 5\na 2 3 3\n", "p edge 3 1\ne 1 2\n"])
def test_comments_of_dimacs(comment, text, tmp_path):
    (tmp_path / "g").write_text(comment + text)
    assert mstflow.read(tmp_path / "g").num_vertices == 3


def test_the_format_of_an_unknown_file(tmp_path):
    path = tmp_path / "g.res"
    path.write_text("once\n")
    with pytest.raises(FileFormatError, match=r"unknown format; .* mstflow\.read") as caught:
        mstflow.minimum_spanning_forest(path)
    assert "on the command line --format: gr, txt" in str(caught.value)
    path.write_text("once,twice,1\n")
    graph = mstflow.read(path, format="csv", ends=(0, 1), weight=2)
    assert mstflow.minimum_spanning_forest(graph).total_weight == 1
    with pytest.raises((GraphError, OptionError)):
        mstflow.read(path, format="res")
