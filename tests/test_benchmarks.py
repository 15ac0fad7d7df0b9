"""The benchmarks: their graphs, their measurements, the records, and the check of stale ones."""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

import mstflow
from benchmarks import __main__ as commands
from benchmarks import files, graphs, machine, pages, primitives, records, suite, tables
from benchmarks.device import run
from benchmarks.device import tables as device_tables
from benchmarks.papers import authors, helpers, imbalance
from benchmarks.runner import codes, figures, solve_one, turns
from mstflow.errors import OptionError
from processes import run_python

ROOT = Path(__file__).parents[1]
SMALL = "random:n=300,m=900"
RIVAL = """
import sys
from pathlib import Path
assert Path(sys.argv[1], "u.npy").is_file()
print("a line that does not matter")
print("seconds 0.5 edges 7 weight 1.5")
"""


@pytest.fixture
def rival(tmp_path):
    """Return a command that runs a program of a few lines."""

    def command(program):
        path = tmp_path / f"rival{len(list(tmp_path.iterdir()))}.py"
        path.write_text(program)
        return f"{sys.executable} {path}"

    return command


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """Return the folder of graphs, which does not exist yet."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path / "mstflow-benchmarks"


# Graphs.


@pytest.mark.parametrize(
    ("name", "vertices", "edges", "ids", "weights"),
    [
        ("random:n=50,m=70", 50, 70, "int32", "float32"),
        ("random:n=50,m=70,weights=float64,ids=int64", 50, 70, "int64", "float64"),
        ("grid:rows=20,columns=10,keep=0.5", 200, 185, "int32", "float32"),
        ("rmat:scale=5", 32, 512, "int32", "float32"),
        ("connected-caveman:cliques=3,size=4", 12, 18, "int32", "float32"),
        ("circulant:n=50,degree=10,weights=int:1:1000", 50, 500, "int32", "int32"),
        ("N", 264_346, 733_846, "int32", "int64"),
    ],
)
def test_graph(cache, name, vertices, edges, ids, weights):
    folder = graphs.ensure(name)
    graph = graphs.load(folder)
    assert (graph.n, len(graph.u), len(graph.v), len(graph.w)) == (vertices, edges, edges, edges)
    facts = {"vertices": vertices, "edges": edges, "ids": ids, "weights": weights}
    assert graphs.describe(folder) == facts
    written = (folder / "u.npy").stat().st_mtime_ns
    assert graphs.ensure(name) == folder
    assert (folder / "u.npy").stat().st_mtime_ns == written  # once
    assert list(cache.iterdir()) == [folder]


def test_simple_graph():
    graph, given = (graphs.load(graphs.ensure(f"{kind}{SMALL}")) for kind in ("simple:", ""))
    assert mstflow.minimum_spanning_forest(graph[:3]).num_components == 1
    pairs = np.sort([graph.u, graph.v], axis=0).T.tolist()
    assert len({*map(tuple, pairs)}) == len(pairs)
    assert all(u != v for u, v in pairs)
    before, after = (
        mstflow.minimum_spanning_forest(each[:3], num_vertices=300) for each in (given, graph)
    )
    added = (before.num_components - 1) * float(graph.w.max())
    assert after.total_weight == pytest.approx(before.total_weight + added)


def test_equal_ends():
    one, other = (
        graphs.load(graphs.ensure(f"random:n=50,m=70{weights}"))
        for weights in ("", ",weights=int:1:1000")
    )
    assert np.array_equal(one.u, other.u)
    assert np.array_equal(one.v, other.v)


def test_both_arcs():
    one, both = (
        graphs.load(graphs.ensure(f"random:n=50,m=70{arcs}")) for arcs in ("", ",arcs=True")
    )
    arcs = [*zip(one.u, one.v, one.w, strict=True), *zip(one.v, one.u, one.w, strict=True)]
    assert [*zip(both.u, both.v, both.w, strict=True)] == sorted(arcs, key=lambda arc: arc[0])


@pytest.mark.parametrize("name", ["random:n=5", "random:n=5,m=2,x=1", "random:n=500,m=9,ids=int8"])
def test_graph_refused(cache, name):
    with pytest.raises(OptionError, match=r"graph 'random:n=5"):
        graphs.ensure(name)
    assert not cache.exists()


# Measurements.


AUTHORS = """
import sys
head, *edges = open(sys.argv[1]).read().splitlines()
assert head.split() == ["300", str(len(edges))] and sys.argv[2] in "12"
print("graph has 300 nodes", "12.5\\t total time", "total weight: 846", sep="\\n")
print("2", len(edges) * 10**6)
"""


def test_programs_of_authors(rival):
    def run(name):
        command = f"-m benchmarks.papers.authors {name} {program}"
        return turns.measure([sys.executable, *command.split(), str(folder)], 2)

    program = rival("")
    Path(program.split()[-1]).write_text(f"#!{sys.executable}{AUTHORS}")
    program = program.split()[-1]
    Path(program).chmod(0o755)
    folder = graphs.ensure(f"simple:{SMALL},weights=int:1:9")
    count = len(graphs.load(folder).u)
    assert run("UMinho").items() >= {"seconds": 0.0125, "weight": 423.0}.items()
    assert run("parallel-boruvka")["seconds"] == count / 1000


def test_steps_on_a_device(tmp_path, monkeypatch):
    """Failures and limits are recorded, and the steps after them run."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # for the graphs of the steps
    chosen = ["facts", "threads", "racecheck"]
    *_, steps = run.measure(tmp_path, 200, [1], chosen, is_tiny=True)
    assert [*steps] == chosen
    if "cupy" not in mstflow.backends():
        assert "OptionError: backend 'cupy' is not usable" in steps["facts"]["failure"]
    assert steps["facts"]["rows"][0]["import_seconds"] > 0
    assert steps["threads"]["failure"] is None
    if not shutil.which("compute-sanitizer"):
        assert "'compute-sanitizer'" in steps["racecheck"]["failure"]
    assert len([*device_tables.threads({"steps": steps})]) == 1 + len(steps["threads"]["rows"])
    written = [*map(json.loads, (tmp_path / run.ROWS).read_text().splitlines())]
    assert len(written) >= sum(len(step["rows"]) for step in steps.values())
    *_, late = run.measure(tmp_path, 1e-3, [1], ["threads"], is_tiny=True)
    assert late["threads"]["failure"].startswith("passed its limit")
    with pytest.raises(OptionError, match="step 'other' is not known; choose from: facts, "):
        next(run.measure(tmp_path, 1, [1], ["other"]))


def test_table_of_authors():
    def measured(code, seconds, **stages):
        return {"graph": "g", "threads": 1, "code": code, "seconds": seconds, "stages": stages}

    runs = [
        measured("mstflow:algorithm=boruvka-csr,backend=numba", 4.0, build_csr=1.0, find=2.0),
        measured("mstflow:algorithm=boruvka-sorted,backend=numba", 5.0),
        measured("UMinho", 2.0),
    ]
    assert len([*authors.rows({"graphs": ["g"], "runs": runs})]) == 1  # only the head
    runs.append(measured("parallel-boruvka", 10.0))
    _, row = authors.rows({"graphs": ["g"], "runs": runs})
    assert row == ("`g`", "1", "2000", "10000", "2.00", "0.50", "1.00")


def test_run(tmp_path, rival):
    programs = {
        "other": rival(RIVAL),
        "broken": rival("raise SystemExit('no such luck')"),
        "silent": rival("print('done')"),
    }
    external = [f"--external={name}@1.2={command}" for name, command in programs.items()]
    options = ["--graphs", SMALL, "--codes", "mstflow"]
    command = ["-m", "benchmarks", "run", *options, *external, "--rounds", "2"]
    done = run_python(*command, cwd=ROOT, variables={"TMPDIR": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    assert f"{SMALL} broken: failed: no such luck" in done.stdout
    assert f"{SMALL} silent: printed 'done', not 'seconds S ...'" in done.stdout
    assert f"{SMALL} other: 7 edges, not " in done.stdout
    assert done.stderr.count(" broken: ") == 1  # a code that fails has no more turns
    assert done.stderr.count(" other: ") == 2


def in_this_process(command, threads, *_):
    """Return the facts that a process of this command prints."""
    *_, code, folder = command
    return solve_one.measure(codes.prepare(code, Path(folder), threads))


def test_comparison():
    same = ["mstflow", "mstflow:algorithm=boruvka-edgelist,backend=numpy", "scipy-exact"]
    every = [*same, "mstflow:threads=1"]
    result = turns.compare([SMALL], every, threads=[1, 2], rounds=1, run=in_this_process)
    assert [(run["code"], run["threads"]) for run in result["runs"]] == [
        *((code, 1) for code in every),
        *((code, 2) for code in same[:2]),
    ]
    assert len({(run["edges"], run["checksum"]) for run in result["runs"]}) == 1
    assert result["runs"][1]["solver"] == "boruvka-edgelist, numpy"
    assert sum(result["runs"][0]["stages"].values()) > 0
    assert {row.verdict for row in figures.figures(result)} == {"agrees"}


def test_budget():
    seconds = {"mstflow": 0.1, "scipy": 3.0}

    def run(command, *_):
        return {"seconds": seconds[command[-2]]}

    result = turns.compare([SMALL], list(seconds), rounds=4, budget=5, run=run)
    count = {code: sum(run["code"] == code for run in result["runs"]) for code in seconds}
    assert count == {"mstflow": 4, "scipy": 2}


def test_on_disk():
    """The processes of a cluster are counted, too."""
    ways = ["fold", "two-scan,partitions=3,scheduler=distributed"]
    found = [f"mstflow:backend=numpy,strategy={way}" for way in ways]
    fold, cluster = turns.compare([SMALL], found, rounds=1, on_disk=True)["runs"]
    assert cluster["checksum"] == fold["checksum"]
    assert cluster["peak"] > 1.5 * fold["peak"] > 0


def test_limit(tmp_path):
    slow = tmp_path / "slow.py"
    slow.write_text("import subprocess; subprocess.run(['sleep', '60'])")
    facts = turns.measure([sys.executable, str(slow)], 1, 0.5)
    assert facts == {"error": "passed the limit of 0.5 s"}


@pytest.mark.parametrize("by_others", [0.0, 100.0])
def test_use_by_other_programs(by_others):
    seconds = iter([10.0, 10.0 + by_others])
    others = machine.OtherPrograms(lambda: next(seconds))
    facts = turns.measure([sys.executable, "-c", "print('seconds 1')"], 1)
    assert facts["seconds"] == 1
    assert facts["others"] >= 0
    assert (others.busy() > 0) == (by_others > 0)


def test_scipy():
    # Zeros, ties, loops and parallel edges.
    folder = graphs.ensure("random:n=60,m=400,weights=int:0:3")
    answers = {}
    for code in ("mstflow", "scipy", "scipy-exact"):
        prepared = codes.prepare(code, folder, 1)
        answers[code] = prepared.answer(prepared.solve())
    exact, ours = answers["scipy-exact"], answers["mstflow"]
    assert exact[:2] == ours[:2]
    assert np.array_equal(exact.ids, ours.ids)
    assert answers["scipy"].edges < ours.edges


def test_missing_library(tmp_path):
    (tmp_path / "igraph.py").write_text("raise ModuleNotFoundError('x', name='igraph')")
    command = ["-m", "benchmarks.runner.solve_one", "igraph", graphs.ensure("chain:n=5")]
    done = run_python(*command, path=[tmp_path], cwd=ROOT, check=True)
    assert json.loads(done.stdout) == {"error": "igraph is not installed"}


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["run", "--graphs", "Z"], "graph 'Z' is not known"),
        (["run", "--codes", "gcc"], "code 'gcc' is not known"),
        (["run", "--codes", "scipy:few=1"], "code 'scipy:few=1' is not known"),
        (["run", "--threads", "0"], "--threads must be 1 to"),
        (["run", "--external", "PBBS=./mst"], "expected --external NAME@VERSION=COMMAND"),
        (["record", "nothing"], "benchmark 'nothing' is not known"),
        (["record", "--external", "PBBS@1=./mst"], "--external needs the name"),
    ],
)
def test_refused(capsys, arguments, complaint):
    with pytest.raises(SystemExit):
        commands.main(arguments)
    assert complaint in capsys.readouterr().err


def test_primitives():
    rows = primitives.measure(size=3000, threads=[1], rounds=2)["rows"]
    assert {row["primitive"].partition(",")[0] for row in rows} == set(primitives.overridden())
    assert {len(times) for row in rows for times in row["seconds"].values()} == {2}


def test_files(tmp_path):
    files.write_files(tmp_path, 50)
    for path in tmp_path.glob("*.*"):
        assert files.readers_of(path)["mstflow"]().num_edges == 50


def test_helpers():
    graph = "random:n=300,m=40000"  # two threads share this many edges
    result = helpers.measure([graph], threads=[1, 2], rounds=1)
    assert len({(run["edges"], run["checksum"]) for run in result["runs"]}) == 1
    (helped,) = (run for run in result["runs"] if "offloaded" in run)
    assert (helped["code"], helped["threads"]) == ("kruskal-helpers", 2)
    assert 0 <= helped["offloaded"] <= 1
    assert 0 <= helped["main_share"] <= 1


def test_excess():
    # The first half is one fragment after a round; of the second, a path, an edge is left.
    u, v = np.array([[0, 0, 0, 0, 2, 3, 4, 5], [1, 1, 1, 1, 3, 4, 5, 6]])
    weight = np.array([1, 1, 1, 1, 1, 3, 2, 4])
    assert imbalance.excess(graphs.Graph(u, v, weight, 7), 2) == [0.0, 1.0]


# Figures.


def made_up(seconds, **others):
    """Return a result of one graph and one thread: of each code, seconds by round."""
    answer = {"edges": 9, "weight": 4.0, "checksum": "00"}
    runs = [
        {"graph": "g", "code": code, "threads": 1, "round": turn, "seconds": spent, "peak": 7400}
        | {**answer, **others.get(code, {})}
        for code, all_ in seconds.items()
        for turn, spent in enumerate(all_)
    ]
    graph = {"vertices": 10, "edges": 100}
    return {"reference": "mstflow", "graphs": {"g": graph}, "runs": runs}


def test_figures():
    result = made_up({"mstflow": [1.0, 2.0, 4.0], "b": [3.0, 4.0, 2.0]})
    _, row = figures.figures(result)
    assert (row.seconds, row.ratio, row.peak) == (3.0, 2.0, 7400)  # ratios 3, 2 and 1/2
    assert (row.verdict, row.problems) == ("agrees", ())


@pytest.mark.parametrize(
    ("answer", "complaints"),
    [
        ({"edges": 8}, ("8 edges, not 9",)),
        ({"weight": 4.1}, ("weight 4.1, not 4",)),
        ({"weight": 4.0000001}, ()),
        ({"checksum": "11"}, ("other edge ids",)),
    ],
)
def test_differences(answer, complaints):
    row = figures.figures(made_up({"mstflow": [1.0], "b": [1.0]}, b=answer))[1]
    assert row.problems == complaints
    assert row.verdict == ("differs" if complaints else "agrees")


def test_table_of_ratios():
    result = made_up({"mstflow": [0.5, 0.5], "scipy": [5.0, 6.0]}, scipy={"edges": 8})
    assert list(tables.ratios(result)) == [
        ("graph", "edges", "mstflow, s", "scipy"),
        ("`g`", "100", "0.5", "11\\*"),
    ]
    assert list(tables.codes(result, with_memory=True)) == [
        (
            "graph",
            "description",
            "edges",
            "mstflow, s",
            "scipy, s",
            *(f"{code}, bytes per edge" for code in ("mstflow", "scipy")),
        ),
        ("g", "", "100", "0.5", "5.5\\*", "74", "74"),
    ]


# Records.


@pytest.fixture
def tree(tmp_path):
    """A working tree with one measured folder and one page that quotes a current record."""
    root = tmp_path / "tree"
    (root / "stages").mkdir(parents=True)
    (root / "docs").mkdir()
    (root / "stages" / "join.py").write_text('"""Join."""\n\n\ndef join(a):\n    return a + 1\n')
    (root / "stages" / "join.cu").write_text("int a = 1; // one\n")
    (root / "README.md").write_text("No tables.\n")
    (root / "docs" / "page.md").write_text("<!-- benchmark: codes here -->\n<!-- end -->\nText.\n")
    record = {
        "benchmark": "codes",
        "date": "2026-01-01",
        "commit": "0123456789",
        "dirty": False,
        "measured": {"stages": records.fingerprint("stages", root)},
        "machine": machine.about(),
        "versions": {"python": "3.11"},
        "others": 0.3,
        "options": json.loads(json.dumps(suite.SUITE["codes"].options)),
        "result": made_up({"mstflow": [0.5]}),
    }
    records.write(record, root / records.RESULTS / "here")
    return root


def stale_quotes(root):
    return [reason for _, reason in pages.stale_quotes(root)]


def rewrite(path, before, after):
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))


@pytest.mark.parametrize(
    ("file", "before", "after"),
    [
        ("join.py", '"""Join."""', '"""Join two trees."""'),
        ("join.py", "def join(a):\n", 'def join(a):\n    """Join."""\n    # One more.\n'),
        ("join.py", "a + 1", "(a  +  1)"),
        ("join.cu", "// one", "/* the first */"),
    ],
)
def test_prose_keeps_a_record_current(tree, file, before, after):
    rewrite(tree / "stages" / file, before, after)
    assert stale_quotes(tree) == []


@pytest.mark.parametrize(
    ("file", "before", "after"),
    [
        ("join.py", "a + 1", "a + 2"),
        ("join.py", "    return", "    a = a\n    return"),
        ("join.cu", "a = 1", "a = 2"),
    ],
)
def test_code_makes_a_record_stale(tree, file, before, after):
    rewrite(tree / "stages" / file, before, after)
    assert stale_quotes(tree) == ["stages has changed"]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"commit": ""}, "it names no commit"),
        ({"dirty": True}, "the measured code was not committed"),
        ({"options": {}}, "the options of the benchmark have changed"),
    ],
)
def test_records_without_a_commit_are_stale(tree, changes, reason):
    path = tree / records.RESULTS / "here" / "codes.json"
    records.write({**records.read(path), **changes}, path.parent)
    assert stale_quotes(tree) == [reason]


def test_new_files_make_a_record_stale(tree):
    (tree / "stages" / "other.py").write_text("1\n")
    assert stale_quotes(tree) == ["stages has changed"]


def test_quotes_need_a_record(tree):
    (tree / records.RESULTS / "here" / "codes.json").unlink()
    assert stale_quotes(tree) == ["it was never measured"]


def test_stale_exits_with_1(tree, capsys):
    assert commands.main(["stale"], tree) == 0
    assert capsys.readouterr().out == "here/codes: current\n"
    rewrite(tree / "stages" / "join.py", "a + 1", "a + 2")
    assert commands.main(["stale"], tree) == 1
    assert "docs/page.md quotes codes of here: stages has changed" in capsys.readouterr().out


def test_tables_are_written_between_marks(tree):
    page = tree / "docs" / "page.md"
    text = pages.written(page, tree)
    assert "| g |  | 100 | 0.5 |" in text
    assert "Commit 0123456, 2026-01-01" in text
    assert "Other programs kept 0.3 processors busy." in text
    assert text.endswith("<!-- end -->\nText.\n")
    page.write_text(text)
    assert pages.written(page, tree) == text  # again is the same


@pytest.fixture
def repository(tmp_path):
    """A repository whose only file has no code."""
    if not shutil.which("git"):
        pytest.skip("needs git")
    root = tmp_path / "repository"
    root.mkdir()
    (root / "notes.txt").write_text("\n")
    author = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    for words in (["init"], ["add", "."], [*author, "commit", "-m", "notes"]):
        subprocess.run(["git", *words], cwd=root, check=True, capture_output=True)
    return root


def test_record_measures_only_stale_records(repository, capsys):
    benchmark = suite.Benchmark("", lambda size: {"rows": [size]}, ("notes.txt",), {"size": 7})
    path = repository / records.RESULTS / "here" / "sizes.json"

    def record():
        assert commands.main(["record", "--machine", "here"], repository, {"sizes": benchmark}) == 0
        return capsys.readouterr().out

    record()
    assert records.read(path)["result"] == {"rows": [7]}
    assert "sizes: current" in record()
    records.write({**records.read(path), "measured": {"notes.txt": "another"}}, path.parent)
    assert "sizes: current" not in record()


# The suite and the pages of this repository.


#: Those that a processor can run, except for a slow one, whose function others call too.
TRIED = [name for name, each in suite.SUITE.items() if each.usual and name != "disk"]


@pytest.mark.parametrize("name", TRIED)
def test_benchmark_on_a_tiny_graph(name):
    benchmark = suite.SUITE[name]
    here = {"run": in_this_process} if benchmark.measure is turns.compare else {}
    result = benchmark.measure(**{**benchmark.options, **benchmark.tiny, **here})
    record = {"result": result, "commit": "", "date": "", "versions": {}, "others": 0.0}
    assert not [run["error"] for run in result.get("runs", ()) if "error" in run]
    for table, (of, _) in tables.TABLES.items():
        if of == name:
            assert tables.markdown(table, {**record, "machine": machine.about()})


def test_measured_paths_exist():
    paths = {path for benchmark in suite.SUITE.values() for path in benchmark.measured}
    assert not [path for path in paths if not (ROOT / path).exists()]


def test_pages_match_the_records():
    for page in pages.all_pages(ROOT):
        assert pages.written(page, ROOT) == page.read_text(), "run `python -m benchmarks tables`"


def test_usual_benchmarks_are_quoted():
    quoted = {quote.benchmark for page in pages.all_pages(ROOT) for quote in pages.quotes(page)}
    assert quoted >= {name for name, benchmark in suite.SUITE.items() if benchmark.usual}
