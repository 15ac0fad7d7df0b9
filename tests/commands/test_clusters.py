"""The command `mstflow clusters`: from files of pairs to the table and the counts."""

import json

import pyarrow as pa
import pytest
from pyarrow import parquet

from command_errors import error_of
from mstflow.__main__ import main

OPTIONS = ["--ends", "left", "right", "--weight", "score", "--similarity", "--at", "0.5", "0.8"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The folder in which commands run, with pairs in two files."""
    monkeypatch.chdir(tmp_path)
    columns = {"left": ["x7", "m5"], "right": ["k2", "k2"], "score": [0.5, 0.9]}
    parquet.write_table(pa.table(columns), "first.parquet")
    (tmp_path / "second.csv").write_text("left,right,score\nb1,b2,0.25\nb1,b1,1\n")
    return tmp_path


@pytest.mark.parametrize("bound", [[], ["--memory", "4GB"]])
def test_table_and_counts(capsys, bound):
    inputs = ["first.parquet", "second.csv"]
    assert main(["clusters", *inputs, *OPTIONS, *bound, "-o", "out.parquet", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["vertices"], facts["pairs"]) == (5, 4)
    assert facts["thresholds"] == [
        {"threshold": 0.5, "clusters": 3, "singletons": 2, "largest": 3, "sizes": {"1": 2, "2": 1}},
        {"threshold": 0.8, "clusters": 4, "singletons": 3, "largest": 2, "sizes": {"1": 3, "2": 1}},
    ]
    assert list(facts["seconds"]) == ["start", "read", "solve", "cluster", "write"]
    assert parquet.read_table("out.parquet").to_pydict() == {
        "name": ["x7", "k2", "m5", "b1", "b2"],
        "cluster_0.5": [0, 0, 0, 1, 2],
        "cluster_0.8": [0, 1, 1, 2, 3],
    }


@pytest.mark.parametrize("bound", [[], ["--memory", "4GB"]])
def test_numbered_pairs(capsys, folder, bound):
    parquet.write_table(pa.table({"u": [0, 1], "v": [1, 3], "weight": [2, 3]}), "graph.parquet")
    options = ["--at", "2", "2.5", "3", "-o", "out.csv", *bound]
    assert main(["clusters", "graph.parquet", *options]) == 0
    out = capsys.readouterr().out
    assert "           3               2               1               3\n" in out
    assert "written to    out.csv" in out
    assert (folder / "out.csv").read_text().splitlines() == [
        "vertex,cluster_2,cluster_2.5,cluster_3", "0,0,0,0", "1,0,0,0", "2,1,1,1", "3,2,2,0"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-o", "out.npz"], "names and clusters of vertices need .csv or .parquet"),
        (["-o", "second.csv"], "second.csv: would overwrite the input second.csv"),
        (["--memory", "1MB"], "--memory 1 MB is too small"),
    ],
)
def test_bad_options(capsys, folder, options, message):
    command = ["clusters", "first.parquet", "second.csv", *OPTIONS, *options]
    assert message in error_of(capsys, folder, command)


@pytest.mark.parametrize(
    ("thresholds", "message"),
    [
        (["nan"], "a threshold must be a number, not nan"),
        (["1", "1.0"], "expected one or more different thresholds, got [1, 1.0]"),
        (["1", "b.csv"], "expected a number, found 'b.csv'; write the inputs before --at"),
    ],
)
def test_bad_thresholds_are_refused_before_the_inputs_are_read(capsys, folder, thresholds, message):
    assert message in error_of(capsys, folder, ["clusters", "missing.csv", "--at", *thresholds])


def test_quiet(capsys):
    assert main(["clusters", "first.parquet", *OPTIONS, "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
