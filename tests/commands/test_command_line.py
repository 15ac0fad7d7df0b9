"""The command line: output, written files, and errors."""

import argparse
import json
import re
import sys
from pathlib import Path

import dask
import numpy as np
import pytest

import mstflow
from command_errors import error_of
from graph_files import ROADS
from mstflow.__main__ import main
from mstflow.commands import SUMMARIES, arguments
from mstflow.commands.shared import terminal
from mstflow.commands.solve import chosen_algorithm
from mstflow.doors import formats
from mstflow.errors import MemoryBoundError
from mstflow.plugins import registered
from mstflow.primitives import known_backends
from processes import run_python

KEYS = ["vertices", "edges", "components", "forest_edges", "total_weight", "algorithm"]
KEYS += ["backend", "scheduler", "strategy", "partitions", "seconds", "peak_rss_bytes"]


@pytest.fixture
def graph(tmp_path):
    path = tmp_path / "graph.txt"
    path.write_text("0 1 3\n1 2 1\n2 0 2\n0 3 5\n")
    return str(path)


def solve(capsys, *arguments):
    """Run `mstflow solve --json` and return its object; check that nothing else is printed."""
    assert main(["solve", *arguments, "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.count("\n") == 1
    return json.loads(out)


def test_json(capsys):
    options = ("--algorithm", "boruvka-csr", "--backend", "numpy", "--partitions", "3")
    facts = solve(capsys, str(ROADS), *options)
    assert list(facts) == KEYS
    assert list(facts["seconds"]) == ["start", "read", "solve"]
    assert min(facts["seconds"].values()) >= 0
    assert facts["peak_rss_bytes"] > 2**20
    rest = {key: facts[key] for key in KEYS[:-2]}
    assert rest == {
        "vertices": 264346,
        "edges": 733846,
        "components": 1,
        "forest_edges": 264345,
        "total_weight": 261159288,
        "algorithm": "boruvka-csr",
        "backend": "numpy",
        "scheduler": "inline",
        "strategy": "scan",
        "partitions": 3,
    }


def test_json_with_an_infinite_total(capsys, tmp_path):
    (tmp_path / "inf.txt").write_text("0 1 inf\n1 2 -inf\n")
    assert solve(capsys, str(tmp_path / "inf.txt"))["total_weight"] is None


def test_options_reach_the_solver(capsys, graph):
    assert solve(capsys, graph)["total_weight"] == 8
    assert solve(capsys, graph, "--maximum")["total_weight"] == 10
    several = solve(capsys, graph, graph, "--strategy", "iterate", "--scheduler", "threads")
    assert (several["edges"], several["strategy"]) == (8, "iterate")
    assert several["scheduler"] == "threads"
    named = solve(capsys, graph, "--format", "txt", "--threads", "1", "--backend", "numpy")
    assert named["total_weight"] == 8


@pytest.mark.parametrize(
    ("algorithm", "values"),
    [("boruvka-unionfind", {"by_rank": False}), ("filter-boruvka", {"small": 0, "dense": 2.5})],
)
def test_set_passes_values_to_the_algorithm(graph, algorithm, values):
    options = ["--algorithm", algorithm]
    for name, value in values.items():
        options += ["--set", f"{name}={value}"]
    parser = argparse.ArgumentParser()
    arguments.solve(parser)
    found = chosen_algorithm(parser.parse_args([graph, *options])).values
    assert {name: found[name] for name in values} == values
    assert main(["solve", graph, *options, "--quiet"]) == 0


def test_named_weights(capsys, tmp_path):
    path, out = tmp_path / "graph.csv", tmp_path / "forest.parquet"
    path.write_text("source,target,cost,length\n0,1,1,3\n1,2,9,1\n2,0,5,2\n0,3,0,5\n")
    assert solve(capsys, str(path), "--weight", "length", "-o", str(out))["total_weight"] == 8
    assert main(["verify", str(path), str(out), "--weight", "length", "--quiet"]) == 0
    assert main(["verify", str(path), str(out), "--weight", "cost", "--quiet"]) == 1
    assert "wrong: " in capsys.readouterr().err


def test_convert(capsys, graph, tmp_path):
    out = tmp_path / "graph.gr"
    assert main(["convert", graph, graph, "-o", str(out)]) == 0
    assert capsys.readouterr().out == f"4 vertices, 8 edges in {out}\n"
    assert out.read_text().startswith("p sp 4 8\na 1 2 3\na 2 3 1\n")


def test_info_of_a_graph(capsys, tmp_path):
    path = tmp_path / "graph.txt"
    path.write_text("6\n0 1 3\n1 1 -inf\n1 2 2.5\n3 0 3\n")
    assert main(["info", str(path)]) == 0
    assert capsys.readouterr().out == (
        "vertices      6\n"
        "edges         4, of which 1 loops\n"
        "components    3\n"
        "weights       -inf to 3.0, 2 edges tied\n"
        "degree        0: 2 vertices\n"
        "degree        1: 2 vertices\n"
        "degree        2 to 3: 1 vertices\n"
        "degree        4 to 7: 1 vertices\n"
    )
    assert main(["info", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "num_vertices": 6,
        "num_edges": 4,
        "num_components": 3,
        "num_loops": 1,
        "num_tied": 2,
        "lightest": None,
        "heaviest": 3.0,
        "degrees": [[0, 2], [1, 2], [2, 1], [4, 1]],
    }


def test_info_of_an_empty_graph(capsys, tmp_path):
    (tmp_path / "none.gr").write_text("p sp 0 0\n")
    assert main(["info", str(tmp_path / "none.gr"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["num_components"], found["lightest"], found["degrees"]) == (0, None, [])


@pytest.mark.parametrize("name", ["forest.npz", "forest", "forest.csv"])
def test_output(capsys, graph, tmp_path, name):
    out = tmp_path / name
    assert main(["solve", graph, "-o", str(out), "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
    if name == "forest.csv":
        assert out.read_text() == "edge_id,u,v,weight\n1,1,2,1\n2,2,0,2\n3,0,3,5\n"
        return
    again = mstflow.read(out)  # a forest file is also a graph
    assert (again.num_edges, again.weight.tolist()) == (3, [1, 2, 5])
    columns = np.load(out) if name.endswith(".npz") else None
    ids = columns["edge_id"] if columns else np.load(out / "edge_id.npy")
    assert ids.tolist() == [1, 2, 3]


def test_summary(capsys, graph, tmp_path):
    assert main(["solve", graph, "-o", str(tmp_path / "f.npz")]) == 0
    out = capsys.readouterr().out
    assert "total weight  8" in out
    assert "kruskal on num" in out
    assert f"written to    {tmp_path / 'f.npz'}" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["solve", "absent.gr"], "absent.gr: No such file"),
        (["solve"], "the following arguments are required: INPUT"),
        ([], "the following arguments are required: COMMAND"),
        (["dissolve"], "invalid choice: 'dissolve'"),
        (["solve", "{graph}", "--partitions", "many"], "argument --partitions: invalid int"),
        (["solve", "{graph}", "--partitions", "0"], "partitions must be"),
        (["solve", "{graph}", "--backend", "abacus"], "--backend: invalid choice: 'abacus'"),
        (["solve", "{graph}", "--algorithm", "dijkstra"], "argument --algorithm: invalid choice"),
        (["solve", "{graph}", "--strategy", "half"], "argument --strategy: invalid choice"),
        (["solve", "{graph}", "--scheduler", "elsewhere"], "scheduler 'elsewhere' is not known"),
        (["solve", "{graph}", "--memory", "1MB"], "--memory 1 MB is too small; it must"),
        (
            ["solve", "{graph}", "--strategy", "whole", "--memory", "1GB"],
            "holds all edges and does not support --memory; choose another",
        ),
        (["solve", "{folder}/format=x/g.gr"], "format=x/g.gr: No such file"),
        (["solve", "{graph}", "--format", "gr"], "graph.txt: line 1: "),
        (["solve", "{graph}", "--format", "tar"], "unknown format 'tar'"),
        (["solve", "{graph}", "-o", "{folder}/out.xyz"], "cannot write '.xyz'"),
        (
            ["solve", "{graph}", "--weight", "length"],
            "no weights called 'length'; it has: 'weight'",
        ),
        (["solve", "{graph}", "--set", "few"], "expected NAME=VALUE with a number, True or False"),
        (["solve", "{graph}", "--set", "few=[1]"], "expected NAME=VALUE with a number"),
        (["solve", "{graph}", "--set", "samll=3"], "no stage reads 'samll'; did you mean 'small'?"),
        (["convert", "{graph}"], "the following arguments are required: -o/--output"),
        (["convert", "{graph}", "-o", "{folder}/out.xyz"], "cannot write '.xyz'"),
        (["convert", "{folder}/bad.txt", "-o", "{folder}/out.mtx"], "bad.txt: line 2: 'x' is not"),
        (["info", "{folder}/bad.txt"], "bad.txt: line 2: 'x' is not"),
        (["solve", "{graph}", "-o", "{folder}/no/such/out.npz"], "does not exist"),
        (["solve", "{folder}/bad.txt", "-o", "{folder}/out.npz"], "bad.txt: line 2: 'x' is not"),
        (["solve", "{graph}", "{folder}/bad.txt"], "bad.txt: line 2"),
        (["solve", "/dev/null", "--format", "txt"], "cannot read from a pipe"),
        (["plan", "--vertices", "9", "--edges", "-5"], "expected a whole number, found '-5'"),
        (["plan", "--vertices", "1.5", "--edges", "5"], "expected a whole number, found '1.5'"),
        (["plan", "--vertices", "inf", "--edges", "5"], "expected a whole number, found 'inf'"),
        (["plan", "{graph}", "--edges", "5"], "plan takes either files or --vertices and --edges"),
        (["plan", "{graph}", "--workers", "0"], "workers must be an integer of at least 1"),
        (["plan", "{graph}", "--threads", "0"], "threads must be an integer of at least 1"),
        (["plan", "{graph}", "--disk", "0"], "disk must be a number of bytes"),
        (["plan", "{graph}", "--weight-bytes", "3"], "--weight-bytes: invalid choice: 3"),
    ],
)
def test_bad_input_prints_one_line(capsys, graph, tmp_path, arguments, message):
    (tmp_path / "bad.txt").write_text("0 1 3\nx 2 1\n")
    words = [word.format(graph=graph, folder=tmp_path) for word in arguments]
    assert message in error_of(capsys, tmp_path, words)


def test_memory_that_the_process_holds_counts(graph, monkeypatch):
    monkeypatch.setattr(terminal, "rss_bytes", lambda: 10**9 - 1)
    too_small = pytest.raises(MemoryBoundError, match="--memory 1 GB is too small")
    with too_small, terminal.within("1GB") as memory:
        mstflow.minimum_spanning_forest(graph, memory=memory)


def test_listings(capsys):
    assert main(["algorithms"]) == 0
    lines = capsys.readouterr().out.splitlines()
    gap = lines.index("")
    assert [line.split()[0] for line in lines[:gap]] == mstflow.algorithms()
    assert lines[gap + 1] == "strategies:"
    assert [line.split()[0] for line in lines[gap + 2 :]] == mstflow.strategies()
    assert main(["info"]) == 0
    out = capsys.readouterr().out
    assert f"backend       numpy {np.__version__}\n" in out
    assert "distributed" in out
    assert main(["info", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    usable = [name for name, found in facts["backends"].items() if found["usable"]]
    assert usable == mstflow.backends()
    assert facts["backends"]["numpy"] == {
        "usable": True,
        "version": np.__version__,
        "why_not": None,
    }
    assert (facts["mstflow"], facts["packages"]["dask"]) == (mstflow.__version__, dask.__version__)


def test_as_a_process(graph, tmp_path):
    installed, module = [Path(sys.executable).with_name("mstflow")], ["-m", "mstflow"]
    for program in (installed, module):
        assert run_python(*program, "--version").stdout == f"mstflow {mstflow.__version__}\n"
    options = ["--scheduler", "processes", "--partitions", "2", "--json"]
    done = run_python(*installed, "solve", graph, *options)
    assert json.loads(done.stdout)["total_weight"] == 8, done.stderr
    failed = run_python(*module, "solve", "nothing.gr", cwd=tmp_path)
    assert (failed.returncode, failed.stdout) == (2, "")
    assert failed.stderr == "error: nothing.gr: No such file or directory\n"


def test_peak_memory_is_not_that_of_the_process_that_starts_the_command(graph):
    size = 5 * 10**8
    program = "import subprocess, sys; held = b'1' * int(sys.argv[1]); subprocess.run(sys.argv[2:])"
    command = [sys.executable, "-m", "mstflow", "solve", graph, "--json"]
    done = run_python("-c", program, size, *command)
    assert json.loads(done.stdout)["peak_rss_bytes"] < size, done.stderr


def test_plan(capsys, tmp_path):
    sizes = ["--vertices", "1e9", "--edges", "1e12"]

    def plan(*options):
        assert main(["plan", *options, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    alone, many = plan(*sizes), plan(*sizes, "--workers", "100")
    assert alone["scans"] == many["scans"] == 2
    assert many["seconds"] < alone["seconds"]
    assert alone["sent"] == 0 < many["sent"]
    scans = plan(*sizes, "--strategy", "two-scan")
    tight = plan(*sizes, "--memory", str(scans["least"] + 2**26))
    assert tight["scans"] > 2
    assert tight["peak"] < alone["peak"]
    swept = plan(*sizes, "--memory", str(scans["least"] - 2**26))
    assert (swept["strategy"], swept["scans"]) == ("sweep", 1)
    assert swept["written"] > swept["disk"] > 0 == scans["written"]
    assert main(["plan", *sizes, "--memory", "20GB"]) == 0
    assert re.search(r"\nwritten +[\d.]+ GB; at most [\d.]+ GB on disk", capsys.readouterr().out)
    assert main(["plan", *sizes, "--memory", str(alone["least"] * 9 // 10)]) == 2
    err = capsys.readouterr().err
    assert err.startswith("error: --memory ")
    assert " is too small; it must be at least " in err
    assert "with 1,000,000,000 vertices" in err
    assert main(["plan"]) == 2
    assert "plan needs either files or --vertices and --edges" in capsys.readouterr().err
    assert main(["plan", "--vertices", "0", "--edges", "1"]) == 2
    assert "a graph with edges needs vertices" in capsys.readouterr().err
    assert plan("--vertices", "0", "--edges", "0")["scans"] == 1
    (tmp_path / "some.csv").write_text("source,target,cost,place\n0,1,5,x\n")
    few = (str(tmp_path / "some.csv"), "--weight", "cost")
    assert plan(*few)["strategy"] == "whole"
    assert plan(*few, "--strategy", "fold")["scans"] == 1


def test_options_are_not_abbreviated(capsys, tmp_path):
    arguments = ["generate", "rmat", "--scale", "4", "--edges", "3", "-o", str(tmp_path / "graph")]
    assert main(arguments) == 2  # not short for --edges-per-vertex
    assert "unrecognized arguments: --edges 3" in capsys.readouterr().err


def test_help_lists_all_names(capsys):
    known = [name for name in formats.format_names() if name not in registered("reader", ())]
    assert arguments.FORMATS.split(", ") == known
    assert arguments.OUTPUTS == formats.OUTPUTS
    with pytest.raises(SystemExit):
        main(["solve", "--help"])
    shown = " ".join(capsys.readouterr().out.split()).replace("- ", "-")
    for names in (mstflow.algorithms(), known_backends(), mstflow.strategies()):
        assert ", ".join(["auto", *names]) in shown


def test_help_loads_no_numpy():
    program = "import sys; from mstflow.__main__ import main; main(sys.argv[1:])"
    for command in SUMMARIES:
        loaded = run_python("-X", "importtime", "-c", program, command, "--help")
        assert loaded.returncode == 0
        assert (" numpy\n" in loaded.stderr) == (command == "generate")
