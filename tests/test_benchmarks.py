"""The benchmark runner: its graphs, its measurements, and what it makes of them."""

import argparse
import json
import os
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest

from mstflow.errors import OptionError

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
SMALL = "random:n=300,m=900"
RIVAL = """
import sys
from pathlib import Path
u = Path(sys.argv[1], "u.npy")
assert u.is_file()
print("a line that does not matter")
print("seconds 0.5 edges 7 weight 1.5")
"""


@pytest.fixture
def benchmark_path(monkeypatch):
    """Scripts import each other by name, as they do when one of them is run."""
    monkeypatch.syspath_prepend(BENCHMARKS)


@pytest.fixture
def graphs(benchmark_path):
    import graphs

    return graphs


@pytest.fixture
def figures(benchmark_path):
    import figures

    return figures


@pytest.fixture
def rival(tmp_path):
    """Return a command that runs a program of a few lines."""

    def command(program):
        path = tmp_path / f"rival{len(list(tmp_path.iterdir()))}.py"
        path.write_text(program)
        return f"{sys.executable} {path}"

    return command


def compare(cache, *arguments):
    """Run the runner as users do."""
    script = BENCHMARKS / "compare.py"
    command = [sys.executable, script, "--no-floor", "--cache", cache, *map(str, arguments)]
    environment = {**os.environ, "MPLBACKEND": "Agg", "COLUMNS": "120"}
    return subprocess.run(command, env=environment, capture_output=True, text=True)


def test_run(tmp_path, rival):
    record, picture = tmp_path / "record.json", tmp_path / "picture.svg"
    externals = {
        "other": rival(RIVAL),
        "broken": rival("raise SystemExit('no such luck')"),
        "silent": rival("print('done')"),
    }
    options = [f"--external={name}={command}" for name, command in externals.items()]
    done = compare(
        tmp_path / "cache",
        *("--graphs", SMALL, "grid:rows=20,columns=30,keep=0.65,weights=int:1:9"),
        *("--codes", "mstflow", "mstflow:boruvka-edgelist", *options),
        *("--rounds", 1, "--output", record, "--plot", picture),
    )
    assert done.returncode == 0, done.stderr
    kept = json.loads(record.read_text())
    assert list(kept["graphs"]) == [SMALL, "grid:rows=20,columns=30,keep=0.65,weights=int:1:9"]
    runs = {run["code"]: run for run in kept["runs"] if run["graph"] == SMALL}
    ours, same = runs["mstflow"], runs["mstflow:boruvka-edgelist"]
    assert ours["seconds"] > 0
    assert ours["solver"].startswith("mstflow:")
    assert same["solver"].startswith("mstflow:boruvka-edgelist:")
    for fact in ("edges", "weight", "checksum"):
        assert ours[fact] == same[fact]
    assert runs["other"] == {**runs["other"], "seconds": 0.5, "edges": 7, "weight": 1.5}
    for name, complaint in (
        ("broken", "failed: no such luck"),
        ("silent", "printed 'done', not 'seconds S ...'"),
    ):
        assert runs[name]["error"] == complaint
        assert f"{name}: {complaint}" in done.stdout
    assert f"other: 7 edges, not {ours['edges']}" in done.stdout
    assert "2 of 2" in done.stdout
    assert "time / time of mstflow" in picture.read_text()
    assert not any(str(tmp_path) in text for text in (record.read_text(), picture.read_text()))


def test_limit(benchmark_path, tmp_path):
    import compare

    slow = tmp_path / "slow.py"
    slow.write_text("import subprocess; subprocess.run(['sleep', '60'])")
    facts = compare.measure([sys.executable, str(slow)], 1, 0.5)
    assert facts == {"error": "passed the limit of 0.5 s"}


@pytest.mark.parametrize(
    ("patience", "others", "kept"),
    [(60, [0.9, 0.05, 0.0], 0.05), (60, [0.9, None], None), (0, [0.9, 0.0], 0.9)],
)
def test_disturbed_runs_are_taken_again(benchmark_path, monkeypatch, patience, others, kept):
    import compare

    tries = iter([{"error": "no"} if each is None else {"others": each} for each in others])
    monkeypatch.setattr(compare, "measure", lambda *_: next(tries))
    monkeypatch.setattr(compare, "wait_for_pause", lambda _: None)
    options = argparse.Namespace(patience=patience, touch=0, limit=None)
    assert compare.measure_in_peace([], 1, options).get("others") == kept


@pytest.mark.parametrize("by_others", [0.0, 100.0])
def test_work_of_others(benchmark_path, monkeypatch, by_others):
    import compare

    seconds = iter([10.0, 10.0 + by_others])
    monkeypatch.setattr(compare, "worked", lambda: next(seconds))
    facts = compare.measure([sys.executable, "-c", "print('seconds 1')"], 1, None)
    assert facts["seconds"] == 1
    assert (facts["others"] > 0) == (by_others > 0)


def test_scipy(tmp_path, graphs):
    pytest.importorskip("scipy")
    import codes

    # Zeros, ties, loops and parallel edges.
    graph = graphs.load(graphs.ensure("random:n=60,m=400,weights=int:0:3", tmp_path))
    answers = {}
    for code in ("mstflow", "scipy", "scipy-exact"):
        prepared = codes.prepare(code, graph, 1)
        answers[code] = prepared.answer(prepared.solve())
    exact, ours = answers["scipy-exact"], answers["mstflow"]
    assert exact[:2] == ours[:2]
    assert np.array_equal(exact.ids, ours.ids)
    assert answers["scipy"].edges < ours.edges


@pytest.mark.parametrize("warm_up", [(), ("mstflow:filter-boruvka:other",)])
def test_warm_up_is_what_was_chosen(tmp_path, graphs, monkeypatch, capsys, warm_up):
    import codes
    import solve_one

    chosen = codes.Answer(4, 1.0, None, "mstflow:filter-boruvka:other")
    prepared = codes.Prepared(lambda: None, lambda _: chosen, "mstflow:filter-boruvka:numpy")
    monkeypatch.setattr(codes, "prepare", lambda *_: prepared)
    monkeypatch.setattr(os, "execv", lambda _, command: print(json.dumps(command[2:])))
    folder = str(graphs.ensure("chain:n=5", tmp_path))
    solve_one.main("mstflow", folder, *warm_up)
    first, *_ = capsys.readouterr().out.splitlines()
    if warm_up:
        assert json.loads(first)["solver"] == chosen.solver
    else:
        assert json.loads(first) == ["mstflow", folder, chosen.solver]


def test_missing_library(tmp_path, graphs):
    folder = graphs.ensure("chain:n=5", tmp_path / "cache")
    (tmp_path / "igraph.py").write_text("raise ModuleNotFoundError('x', name='igraph')")
    solve_one = [sys.executable, BENCHMARKS / "solve_one.py", "igraph", folder]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(solve_one, env=environment, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == {"error": "igraph is not installed"}


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (
            ["--graphs", "N"],
            "graph N is not available: give its file",
        ),
        (["--graphs", "Z"], "there is no graph 'Z'"),
        (["--graphs", SMALL, "--codes", "gcc"], "there is no code 'gcc'"),
        (["--graphs", SMALL, "--threads", "0"], "--threads must be 1 to"),
        (["--graphs", SMALL, "--output", "no/such/folder.json"], "there is no folder no/such"),
    ],
)
def test_refused(tmp_path, arguments, complaint):
    done = compare(tmp_path, *arguments)
    assert done.returncode == 2
    assert complaint in done.stderr


@pytest.mark.parametrize(
    ("name", "vertices", "edges", "ids", "weights"),
    [
        ("random:n=50,m=70", 50, 70, "int32", "float32"),
        ("random:n=50,m=70,weights=float64,ids=int64", 50, 70, "int64", "float64"),
        ("grid:rows=20,columns=10,keep=0.5", 200, 185, "int32", "float32"),
        ("rmat:scale=5", 32, 512, "int32", "float32"),
        ("connected-caveman:cliques=3,size=4", 12, 18, "int32", "float32"),
        ("circulant:n=50,degree=10,weights=int:1:1000", 50, 500, "int32", "int32"),
    ],
)
def test_graph(tmp_path, graphs, name, vertices, edges, ids, weights):
    folder = graphs.ensure(name, tmp_path)
    graph = graphs.load(folder)
    assert (graph.n, len(graph.u), len(graph.v), len(graph.w)) == (vertices, edges, edges, edges)
    assert (graph.u.dtype, graph.v.dtype, graph.w.dtype) == (ids, ids, weights)
    written = (folder / "u.npy").stat().st_mtime_ns
    assert graphs.ensure(name, tmp_path) == folder
    assert (folder / "u.npy").stat().st_mtime_ns == written  # once
    assert [path.name for path in tmp_path.iterdir()] == [folder.name]


def test_same_ends(tmp_path, graphs):
    one, other = (
        graphs.load(graphs.ensure(f"random:n=50,m=70{weights}", tmp_path))
        for weights in ("", ",weights=int:1:1000")
    )
    assert np.array_equal(one.u, other.u)
    assert np.array_equal(one.v, other.v)


def test_letters_exist(graphs):
    from mstflow.graphs.generate.families import FAMILIES

    for spec in graphs.LETTERS.values():
        family, options = graphs.parse(spec)
        assert FAMILIES[family](**options).num_edges > 10**6


@pytest.mark.parametrize("name", ["random:n=5", "random:n=5,m=2,x=1", "random:n=500,m=9,ids=int8"])
def test_graph_refused(tmp_path, graphs, name):
    with pytest.raises(OptionError, match=r"graph 'random:n=5"):
        graphs.ensure(name, tmp_path)
    assert not list(tmp_path.iterdir())


def test_roads(tmp_path, graphs):
    path = tmp_path / "roads.gr"
    path.write_text("p tw 4 2\n4 1\n2 3\n")
    graph = graphs.load(graphs.ensure("N", tmp_path / "cache", path))
    ends = [(1, 4), (2, 3)]
    low = 2**32
    weights = [((a * 2654435761 % low) ^ (b * 2246822519 % low)) % 10**6 + 1 for a, b in ends]
    assert graph.w.tolist() == weights
    assert (graph.n, graph.w.dtype) == (4, np.int32)


def test_paper_on_helpers(tmp_path):
    pytest.importorskip("matplotlib")
    kept, picture = tmp_path / "kept.json", tmp_path / "picture.svg"
    graph = "random:n=300,m=40000"  # so many that two threads share them
    script = BENCHMARKS / "papers" / "kruskal_helpers.py"
    options = {"graphs": graph, "rounds": 1, "output": kept, "plot": picture, "cache": tmp_path}
    words = [str(word) for name, value in options.items() for word in (f"--{name}", value)]
    done = subprocess.run([sys.executable, script, *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    runs = json.loads(kept.read_text())["runs"]
    assert len({(run["edges"], run["checksum"]) for run in runs}) == 1
    (helped,) = (run for run in runs if "offloaded" in run)
    assert (helped["code"], helped["threads"]) == ("kruskal-helpers", 2)
    assert 0 <= helped["offloaded"] <= 1
    assert 0 <= helped["main_share"] <= 1
    assert "</svg>" in picture.read_text()


def made_up(seconds, **others):
    """Return a record of one graph and one thread: of each code, seconds by round."""
    answer = {"edges": 9, "weight": 4.0, "checksum": "00"}
    runs = [
        {"graph": "g", "code": code, "threads": 1, "round": turn, "seconds": spent, "peak": 7400}
        | {**answer, **others.get(code, {})}
        for code, all_ in seconds.items()
        for turn, spent in enumerate(all_)
    ]
    graph = {"spec": "g", "vertices": 10, "edges": 100}
    return {"reference": "a", "graphs": {"g": graph}, "runs": runs}


def test_figures(figures):
    record = made_up({"a": [1.0, 2.0, 4.0], "b": [3.0, 4.0, 2.0]})
    _, row = figures.rows(record, "g")
    assert (row.minimum, row.median, row.ratio) == (2.0, 3.0, 2.0)  # of 3, 2 and 1/2
    assert (row.bytes_per_edge, row.bytes_beyond) == (74.0, 67.6)
    assert (row.verdict, row.complaints) == ("agrees", ())
    mean, count = figures.summary(record)["b", 1]
    assert (pytest.approx(mean), count) == (2.0, 1)


@pytest.mark.parametrize(
    ("answer", "complaints"),
    [
        ({"edges": 8}, ("8 edges, not 9",)),
        ({"weight": 4.1}, ("weight 4.1, not 4",)),
        ({"weight": 4.0000001}, ()),
        ({"checksum": "11"}, ("other edge ids",)),
    ],
)
def test_differences(figures, answer, complaints):
    row = figures.rows(made_up({"a": [1.0], "b": [1.0]}, b=answer), "g")[1]
    assert row.complaints == complaints
    assert row.verdict == ("differs" if complaints else "agrees")


def test_sweeps_are_lines(benchmark_path, tmp_path):
    pytest.importorskip("matplotlib")
    import plot

    record = made_up({"a": [1.0], "b": [2.0]})
    (graph,), runs = record["graphs"].values(), record["runs"]
    names = [f"random:n={n},m={5 * n}" for n in (10, 20, 40)]
    record["graphs"] = {
        name: {**graph, "spec": name, "vertices": 10 * 2**k, "edges": 50 * 2**k}
        for k, name in enumerate(names)
    }
    record["runs"] = [{**run, "graph": name} for name in names for run in runs]
    plot.draw(record, tmp_path / "sweep.svg")
    picture = (tmp_path / "sweep.svg").read_text()
    assert "random, 5 edges a vertex" in picture
    assert "million edges a second" in picture
    assert "time / time of" not in picture


def test_share_of_the_floor(benchmark_path):
    import figures

    facts = {"edges": 1000, "vertices": 900_000, "ids": "int32", "weights": "float64"}
    rates = {"threads": 1, "read_gb_per_s": 16.0, "gather_ns_1M": 2.0, "gather_ns_32M": 9.0}
    record = {"graphs": {"g": facts}, "floor": [rates]}
    # 16 bytes an edge at one a nanosecond, and two lookups in the table of the nearest size.
    assert figures.floor_seconds(record, "g", 1) == pytest.approx(1000 * (1 + 4) * 1e-9)
    assert figures.floor_seconds(record, "g", 2) is None


def test_floor(benchmark_path):
    import floor

    found = floor.rates(1, shrink=2**10)
    assert found.pop("kernels") in ("numba", "numpy")
    assert min(found.values()) > 0


def on_disk(name, graphs, tmp_path, *arguments):
    """Run a script about graphs on disk as users do, and return what it kept."""
    kept = tmp_path / "kept.json"
    command = [sys.executable, BENCHMARKS / name, graphs.ensure(SMALL, tmp_path), *arguments]
    subprocess.run([*map(str, command), "--output", str(kept)], check=True, capture_output=True)
    return json.loads(kept.read_text())


def test_scale(tmp_path, graphs):
    pytest.importorskip("numba")
    choices = ("--strategies", "fold", "tree", "--partitions", 1, 2)
    record = on_disk("scale.py", graphs, tmp_path, *choices)
    assert [run["partitions"] for run in record["runs"]] == [1, 1, 2]
    assert min(run["peak_bytes"] for run in record["runs"]) > 0


def test_ways(tmp_path, graphs):
    pytest.importorskip("distributed")
    choices = ("--strategies", "fold", "iterate", "--partitions", 1, 2)
    schedulers = ("--schedulers", "inline", "distributed")
    for _ in range(2):  # the second time there is nothing left to run
        record = on_disk("ways.py", graphs, tmp_path, *choices, *schedulers)
        assert len(record["runs"]) == 6
        assert len({run["forest"] for run in record["runs"]}) == 1


def test_workers(tmp_path, graphs):
    pytest.importorskip("distributed")
    record = on_disk("workers.py", graphs, tmp_path, "--rounds", 2)
    assert [len(record["seconds"][workers]) for workers in "12"] == [2, 2]
    assert record["rates"]["2"] > 0


#: How each paper's measurements are tried out.
PAPERS = {
    "sousa": ("--graphs", SMALL, "--parts", 3),
    "kruskal_helpers": ("--graphs", SMALL),
    "algowiki": ("--scales", 7),
    "bhargava_zaia": (
        *("--families", "hypercube:dimension=4", "--vertices", 9, "--sizes", 3),
        *("--both-arcs", "circulant:n=9,degree=2"),
    ),
    "parallel_boruvka": ("--graphs", SMALL),
}


def test_papers_are_all_tried_out():
    assert {path.stem for path in BENCHMARKS.glob("papers/*.py")} - {"common"} == set(PAPERS)


@pytest.mark.parametrize("name", PAPERS)
def test_paper(tmp_path, name):
    pytest.importorskip("matplotlib")
    kept, picture = tmp_path / "kept.json", tmp_path / "picture.svg"
    options = {
        "rounds": 1,
        "threads": 1,
        "cache": tmp_path / "cache",
        "output": kept,
        "plot": picture,
    }
    command = [sys.executable, BENCHMARKS / "papers" / f"{name}.py", *PAPERS[name]]
    command += [word for key, value in options.items() for word in (f"--{key}", value)]
    done = subprocess.run([*map(str, command)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    record = json.loads(kept.read_text())
    for graph in record["graphs"]:
        runs = [run for run in record["runs"] if run["graph"] == graph]
        assert len(runs) > 1
        assert len({(run["edges"], run["checksum"]) for run in runs}) == 1
    assert "</svg>" in picture.read_text()


def test_imbalance(benchmark_path, monkeypatch, graphs):
    pytest.importorskip("matplotlib")
    monkeypatch.syspath_prepend(BENCHMARKS / "papers")
    import sousa

    # The first part is one fragment after a round; of the second, a path, an edge is left.
    u, v = np.array([[0, 0, 0, 0, 2, 3, 4, 5], [1, 1, 1, 1, 3, 4, 5, 6]])
    weight = np.array([1, 1, 1, 1, 1, 3, 2, 4])
    assert sousa.imbalance(graphs.Graph(u, v, weight, 7), 2) == {1: 0.0, 2: 1.0}


def test_both_arcs(tmp_path, graphs):
    one, both = (
        graphs.load(graphs.ensure(f"random:n=50,m=70{arcs}", tmp_path))
        for arcs in ("", ",arcs=True")
    )
    arcs = [*zip(one.u, one.v, one.w, strict=True), *zip(one.v, one.u, one.w, strict=True)]
    assert [*zip(both.u, both.v, both.w, strict=True)] == sorted(arcs, key=lambda arc: arc[0])


def test_file(tmp_path, graphs):
    path = tmp_path / "roads.gr"
    path.write_text("p sp 3 2\na 1 2 7\na 2 3 5\n")
    graph = graphs.load(graphs.ensure(str(path), tmp_path / "cache"))
    assert (graph.n, graph.u.tolist(), graph.v.tolist(), graph.w.tolist()) == (
        3,
        [0, 1],
        [1, 2],
        [7, 5],
    )
    assert graph.u.dtype == np.int32
    assert graphs.title(str(path)) == "roads.gr"


def test_primitives(tmp_path):
    pytest.importorskip("numba")
    output = tmp_path / "record.json"
    command = [sys.executable, BENCHMARKS / "primitives.py", "--size", "3000", "--output", output]
    subprocess.run(command, check=True, capture_output=True)
    rows = json.loads(output.read_text())["rows"]
    assert {row["threads"] for row in rows} == {1, 2}
    assert all(row["override_ns"] > 0 for row in rows)


def test_accesses(graphs, tmp_path):
    import accesses

    from mstflow import algorithm, minimum_spanning_forest
    from mstflow.testing import EVERY_STAGE

    graph = graphs.load(graphs.ensure(SMALL, tmp_path))
    pipeline = algorithm("filter-boruvka").given(**EVERY_STAGE)
    traffic = defaultdict(accesses.Traffic)
    plain, counted = (
        minimum_spanning_forest(graph[:3], num_vertices=graph.n, algorithm=each)
        for each in (pipeline, accesses.counting(pipeline, traffic))
    )
    assert np.array_equal(plain.edge_ids, counted.edge_ids)
    rounds = [row for row in counted.report.rounds if "find_min_edges" in row.seconds]
    looked_up = sum(2 * row.edges + 3 * row.vertices for row in rounds)
    assert traffic["find_min_edges"].accesses.total() == looked_up > 0
    scanned = {graph.n: 2 * len(graph.u)}  # a label for each end
    assert traffic["select_joining_edges"].accesses.items() >= scanned.items()
    assert traffic["order_weights"].bytes == 0  # float32 without signs: the keys are a view


def test_time_at_the_rates_of_memory(benchmark_path):
    import accesses

    moved = accesses.Traffic(32 * 10**9, Counter({2**20: 10**9, 2**25: 10**9}))
    rates = {"read_gb_per_s": 16.0, "gather_ns_1M": 2.0, "gather_ns_32M": 9.0}
    assert moved.seconds(rates) == pytest.approx(2 + 2 + 9)


def test_lines_of_accesses(graphs, tmp_path):
    import accesses

    rates = [{"threads": t, "read_gb_per_s": 1.0, "gather_ns_1M": 1.0} for t in (1, 2)]
    rows = accesses.study(graphs.load(graphs.ensure(SMALL, tmp_path)), rates, 2)
    rows = [{"graph": "g", **row} for row in rows]
    head, *lines = accesses.graph_lines(rows, {"g": 900}, [1, 2])
    assert [line[:2] for line in lines] == [("g", "1"), ("g", "2")]
    assert len(head) == len(lines[0])
    assert lines[0][2:4] == lines[1][2:4]  # threads share the work, they do not add to it
    head, *lines = accesses.stage_lines(rows, {"g": 900}, [1, 2])
    assert head == ("stage", "g")
    assert any(stage == "`join_by_weight`" and " / " in cell for stage, cell in lines)


def test_parse(benchmark_path, tmp_path):
    import parse

    parse.write_files(tmp_path, 50)
    for path in tmp_path.iterdir():
        rates = parse.measure(path, 50, rounds=1)
        assert len(rates) == 2
        assert parse.rivals(path)["mstflow"]().num_edges == 50
