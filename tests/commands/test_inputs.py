"""Inputs of commands: standard input, columns, names, families, and hints as options."""

import gzip
import io
import json
import sys

import pytest

from mstflow.__main__ import main


def run(capsys, *arguments, status=0):
    """Run a command; return its output, or its errors if it fails."""
    assert main(list(map(str, arguments))) == status
    captured = capsys.readouterr()
    return captured.err if status else captured.out


def pipe(monkeypatch, text):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--format", "gr"], "p sp 3 2\na 1 2 5\na 2 3 4\n"),
        ([], "p sp 3 2\na 1 2 5\na 2 3 4\n"),
        (["--columns", "1", "2", "0", "--first-id", "1"], "5 1 2\n4 2 3\n"),
        (["--memory", "8GB"], "0 1 5\n1 2 4\n"),
    ],
)
def test_standard_input(capsys, monkeypatch, arguments, text):
    pipe(monkeypatch, text)
    found = json.loads(run(capsys, "solve", "-", *arguments, "--json"))
    assert (found["vertices"], found["total_weight"]) == (3, 9)


def test_standard_input_beside_files(capsys, monkeypatch, tmp_path):
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"0 1 5\n"))
    pipe(monkeypatch, "1 2 4\n")
    assert json.loads(run(capsys, "solve", tmp_path / "a.txt.gz", "-", "--json"))["edges"] == 2
    pipe(monkeypatch, "1 2 4\n1 x 4\n")
    assert run(capsys, "solve", "-", status=2).startswith("error: standard input: line 2: 'x' is")
    assert "can be only one of the inputs" in run(capsys, "solve", "-", "-", status=2)


def test_clusters_to_standard_output(capsys, monkeypatch):
    pipe(monkeypatch, "set_l,id_l,set_r,id_r,score\na,1,b,2,0.9\na,2,b,3,0.8\n")
    ends = ["--ends", "set_l,id_l", "set_r,id_r", "--weight", "score", "--similarity"]
    found = run(capsys, "clusters", "-", *ends, "--at", "0.5", "-o", "-")
    assert found == 'set,id,cluster_0.5\n"a","1",0\n"b","2",0\n"a","2",1\n"b","3",1\n'
    pipe(monkeypatch, "")
    problem = run(capsys, "clusters", "-", *ends, "--at", "0.5", "-o", "-", "--json", status=2)
    assert "-o - and --json both write to standard output" in problem


@pytest.mark.parametrize(
    "arguments",
    [
        ["random", "--vertices", "1e2", "--edges", "2e1", "--no-loops", "--weights", "int:1:9"],
        ["random:vertices=1e2,edges=20,loops=False,weights=int:1:9"],
        ["random:n=100,m=2e1,weights=int:1:9", "--no-loops"],
    ],
)
def test_families(capsys, arguments):
    lines = run(capsys, "generate", *arguments, "-o", "-").splitlines()
    assert (lines[0], len(lines)) == ("u,v,weight", 21)
    again = ["random", "--vertices", "100", "--edges", "20", "--no-loops", "--weights", "int:1:9"]
    assert run(capsys, "generate", *again, "-o", "-").splitlines() == lines


def test_families_with_fractions_of_vertices(capsys):
    problem = run(capsys, "generate", "random:n=1.5,m=2", "-o", "-", status=2)
    assert "argument --vertices: expected a whole number, found '1.5'" in problem


def test_hints_are_options(capsys, tmp_path):
    path = tmp_path / "edges.csv"
    path.write_text("src,dst,relationship\na,b,x\n")
    problem = run(capsys, "solve", path, "--ends", "src", "dst", status=2)
    assert "name it with --weight; to weigh each edge 1, pass --unweighted" in problem
    run(capsys, "solve", path, "--ends", "src", "dst", "--unweighted")
    (tmp_path / "wide.txt").write_text("1 2 5 9\n")
    problem = run(capsys, "solve", tmp_path / "wide.txt", status=2)
    assert "choose columns by position from 0, as in --columns 0 1 2" in problem
    run(capsys, "solve", tmp_path / "wide.txt", "--columns", "0", "1", "2")
    (tmp_path / "latin.csv").write_bytes("u,v\nZürich,Genf\n".encode("latin-1"))
    problem = run(capsys, "solve", tmp_path / "latin.csv", "--ends", "u", "v", status=2)
    assert problem.endswith("name its encoding, as in --encoding latin-1\n")
    run(capsys, "solve", tmp_path / "latin.csv", "--ends", "u", "v", "--encoding", "latin-1")
