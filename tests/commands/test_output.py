"""Outputs of commands: inputs are never overwritten, modes are kept, - is standard output."""

import json
import os
import socket
import stat

import numpy as np
import pytest

import mstflow
from mstflow import EdgeList, minimum_spanning_forest
from mstflow.__main__ import main
from mstflow.errors import OptionError


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory with a graph in several formats, and links to them."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "graph.txt").write_text("0 1 3\n1 2 1\n2 0 2\n")
    for name in ("graph.gr", "graph.npz", "graph.parquet", "columns"):
        assert main(["convert", "graph.txt", "-o", name, "--quiet"]) == 0
    (tmp_path / "link.gr").symlink_to("graph.gr")
    (tmp_path / "hard.gr").hardlink_to("graph.gr")
    (tmp_path / "hard.csv").hardlink_to("columns/u.npy")
    (tmp_path / "linked").symlink_to(".")
    return tmp_path


def content(folder):
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path): path.read_bytes() for path in files}


@pytest.mark.parametrize(
    "arguments",
    [
        "solve graph.gr -o graph.gr",
        "solve graph.gr -o ./graph.gr",
        "solve graph.gr -o link.gr",
        "solve link.gr -o graph.gr",
        "solve graph.gr -o hard.gr",
        "solve graph.gr -o linked/graph.gr",
        "solve graph.txt graph.gr -o graph.gr",
        "solve graph.parquet --memory 1GB -o graph.parquet",
        "solve columns -o hard.csv",
        "convert graph.npz -o graph.npz",
        "convert graph.txt graph.parquet -o graph.parquet",
    ],
)
def test_inputs_are_not_overwritten(folder, capsys, arguments):
    before = content(folder)
    assert main(arguments.split()) == 2
    assert "would overwrite the input" in capsys.readouterr().err
    assert content(folder) == before


def test_outputs_differ(folder, capsys):
    assert (
        main(["solve", "graph.gr", "-o", "new", "--checkpoint", "new", "--strategy", "fold"]) == 2
    )
    assert "would overwrite the output new" in capsys.readouterr().err
    assert not (folder / "new").exists()


def test_save_does_not_overwrite_a_streamed_graph(folder):
    forest = minimum_spanning_forest("graph.parquet", strategy="fold")
    with pytest.raises(OptionError, match="would overwrite the input"):
        forest.save(folder / "graph.parquet")
    forest = minimum_spanning_forest("columns", strategy="tree", partitions=2)
    with pytest.raises(OptionError, match="would overwrite the input"):
        forest.save(folder / "hard.csv")
    assert mstflow.read("graph.parquet").num_edges == 3


@pytest.mark.parametrize("name", ["forest.npz", "forest.csv", "forest.parquet", "forest.gr"])
def test_modes(folder, name):
    path = folder / name
    mask = os.umask(0o027)
    try:
        assert main(["solve", "graph.gr", "-o", name, "--quiet"]) == 0
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        path.chmod(0o600)
        assert main(["solve", "graph.gr", "-o", name, "--quiet"]) == 0
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    finally:
        os.umask(mask)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("solve graph.gr -o -", "edge_id,u,v,weight\n1,1,2,1\n2,2,0,2\n"),
        ("solve graph.gr -o - --quiet", "edge_id,u,v,weight\n1,1,2,1\n2,2,0,2\n"),
        ("convert graph.gr -o -", "u,v,weight\n0,1,3\n1,2,1\n2,0,2\n"),
        ("generate chain --vertices 3 --weights int:1:1 -o -", "u,v,weight\n0,1,1\n1,2,1\n"),
    ],
)
def test_standard_output(folder, capfdbinary, arguments, expected):
    before = content(folder)
    assert main(arguments.split()) == 0
    out, err = capfdbinary.readouterr()
    assert (out.decode(), err) == (expected, b"")
    assert content(folder) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("solve graph.gr -o - --json", "-o - and --json both write to standard output"),
    ],
)
def test_standard_output_conflicts(folder, capsys, arguments, message):
    assert main(arguments.split()) == 2
    assert message in capsys.readouterr().err
    assert not (folder / "-").exists()


def test_names(folder, capsys):
    (folder / "pairs.csv").write_text("left,right,score\nx7,k2,1\nk2,x7,3\nx7,k2,2\n")
    options = ["pairs.csv", "--ends", "left", "right", "--weight", "score", "--maximum"]
    assert main(["solve", *options, "-o", "forest.csv", "--strategy", "fold", "--quiet"]) == 0
    assert (folder / "forest.csv").read_text() == 'edge_id,u,v,weight\n1,"k2","x7",3\n'
    verify = ["verify", "pairs.csv", "forest.csv", *options[1:]]
    assert main([*verify, "--json"]) == 0
    assert main(["solve", *options, "-o", "forest.npz"]) == 2
    assert "names and clusters of vertices need" in capsys.readouterr().err


def test_names_in_other_commands(folder, capsys):
    pairs = "u,v,score\nx7,k2,1\nk2,x7,3\nx7,k3,2\n"
    (folder / "pairs.csv").write_text(pairs)
    options = ["pairs.csv", "--ends", "u", "v", "--weight", "score"]
    for memory in ([], ["--memory", "8GB"]):
        assert main(["plan", *options, *memory]) == 0
        assert "3 vertices, 3 edges" in capsys.readouterr().out
    assert main(["info", *options, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["num_vertices"], found["num_components"], found["heaviest"]) == (3, 1, 3)
    for copy in ("copy.parquet", "copy.csv"):
        assert main(["convert", *options, "-o", copy, "--quiet"]) == 0
        options[:] = [copy, *options[1:4], "--weight", "weight"]
    expected = 'u,v,weight\n"x7","k2",1\n"k2","x7",3\n"x7","k3",2\n'
    assert (folder / "copy.csv").read_text() == expected
    assert main(["convert", *options, "-o", "copy.gr"]) == 2
    assert "names and clusters of vertices need" in capsys.readouterr().err


def test_no_file_is_named_minus(folder):
    forest = minimum_spanning_forest(EdgeList(np.array([0]), np.array([1])))
    with pytest.raises(OptionError, match="-: only commands can write to standard output"):
        forest.save("-")
    assert not (folder / "-").exists()


@pytest.mark.parametrize("command", ["generate chain --vertices 3", "convert graph.gr"])
def test_quiet(folder, capsys, command):
    assert main([*command.split(), "-o", "new.csv", "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
    assert (folder / "new.csv").exists()


def special_file(path, kind):
    """Create a file that is neither regular nor a folder."""
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(str(path))
    else:
        path.symlink_to("/dev/null")


@pytest.mark.parametrize("kind", ["pipe", "socket", "link to a device"])
@pytest.mark.parametrize("name", ["out.csv", "out.npz", "out.parquet", "out.gr", "out"])
def test_special_files_are_not_replaced(folder, capsys, kind, name):
    special_file(folder / name, kind)
    before = os.lstat(name)
    for command in ("solve graph.gr", "convert graph.gr", "generate chain --vertices 3"):
        assert main([*command.split(), "-o", name]) == 2
        message = f"error: {name}: is a pipe, a socket or a device, which files cannot replace\n"
        assert capsys.readouterr().err == message
    with pytest.raises(OptionError, match="is a pipe, a socket or a device"):
        minimum_spanning_forest("graph.gr").save(name)
    assert os.lstat(name) == before


def test_the_file_of_a_link_is_replaced(folder):
    (folder / "data").mkdir()
    (folder / "out.csv").symlink_to("data/forest.csv")
    for _ in range(2):  # the link leads nowhere at first
        assert main(["solve", "graph.gr", "-o", "out.csv", "--quiet"]) == 0
        assert (folder / "out.csv").is_symlink()
        assert (folder / "data" / "forest.csv").read_text().startswith("edge_id,u,v,weight\n")


@pytest.mark.parametrize("name", ["a\x1b]0;owned\x07.csv", "b\x9b2J.csv", "c\u202e.csv"])
def test_names_of_files_control_no_terminal(folder, capfd, name):
    for command in (
        f"solve {name}",
        "solve graph.gr -o {}",
        "convert graph.gr -o {}",
        "verify graph.gr {}",
        "info no-{}",
        "solve graph.gr --checkpoint no/{}",
    ):
        arguments = [part.format(name) for part in command.split(" ")]
        main(arguments)
    (folder / name).write_text(f"u,{name}\n1,2\n")
    for options in ([], ["--weight", name], ["--ends", "u", name], ["--columns", name, "x"]):
        main(["solve", name, *options])
    assert set("\x1b\x07\x9b\u202e").isdisjoint("".join(capfd.readouterr()))
