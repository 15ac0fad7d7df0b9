"""The benchmarks: their graphs, their measurements, the records, and the tables on pages."""

import json
import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path

import pytest

import mstflow
from benchmarks import __main__ as commands
from benchmarks import (
    codes,
    files,
    graphs,
    machine,
    measure,
    records,
    suite,
    tables,
)
from benchmarks.device import run
from mstflow.errors import OptionError
from processes import run_python

ROOT = Path(__file__).parents[1]
SMALL = "random:n=300,m=900"
RIVAL = """
import sys
from pathlib import Path
assert Path(sys.argv[1], "u.npy").is_file()
print("a line that does not matter")
print('{"seconds": 0.5, "found": 7, "weight": 1.5}')
"""


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


@pytest.mark.parametrize("name", ["random:n=5", "random:n=5,m=2,x=1", "random:n=500,m=9,ids=int8"])
def test_graph_refused(cache, name):
    with pytest.raises(OptionError, match=r"graph 'random:n=5"):
        graphs.ensure(name)
    assert not cache.exists()


# Measurements.


def test_run(tmp_path):
    programs = {
        "other": RIVAL,
        "broken": "raise SystemExit('no such luck')",
        "silent": "print('done')",
    }
    code = "mstflow:algorithm=kruskal,backend=numpy"  # loads no kernels
    options = ["--graphs", SMALL, "--codes", code, "--rounds", "2"]
    for name, program in programs.items():
        path = tmp_path / f"{name}.py"
        path.write_text(program)
        options.append(f"--external={name}@1.2={sys.executable} {path}")
    command = ["-m", "benchmarks", "run", *options]
    done = run_python(*command, cwd=ROOT, variables={"TMPDIR": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(f"{SMALL} broken: failed: no such luck") == 1  # it has no more turns
    assert f"{SMALL} silent: printed 'done', not an object of JSON" in done.stdout
    assert "| 500\\* |" in done.stdout  # another result


def in_this_process(command, threads, *_):
    """Return the facts that a process of this command prints."""
    *_, code, folder = command
    return codes.solve_one(*codes.prepare(code, Path(folder), threads))


def test_comparison():
    same = ["mstflow", "mstflow:algorithm=boruvka-edgelist,backend=numpy"]
    every = [*same, "mstflow:threads=1"]
    rows = list(codes.compare([SMALL], every, threads=[1, 2], rounds=1, run=in_this_process))
    assert [(row["code"], row["threads"]) for row in rows] == [
        *((code, 1) for code in every),
        *((code, 2) for code in same),
    ]
    assert len({(*row["found"], *row["checksum"]) for row in rows}) == 1
    assert rows[1]["solver"] == ["boruvka-edgelist, numpy"]
    assert not any(tables.differs(row, rows[0]) for row in rows)


def test_rounds():
    """Warm-ups are not recorded; a case ends with its budget or an error."""
    seconds = {"quick": 0.1, "slow": 3.0}
    cases = [({"code": code}, partial(dict, seconds=spent)) for code, spent in seconds.items()]
    cases.append(({"code": "broken"}, lambda: {"error": "no"}))
    rows = list(measure.in_turn(cases, rounds=4, budget=5, warm_ups=1))
    assert rows == [
        {"code": "quick", "seconds": [0.1] * 4},
        {"code": "slow", "seconds": [3.0] * 2},
        {"code": "broken", "error": ["no"]},
    ]


def test_limit():
    slow = "import subprocess; subprocess.run(['sleep', '60'])"
    facts = measure.run([sys.executable, "-c", slow], 1, 0.5)
    assert facts == {"error": "passed the limit of 0.5 s"}


def test_scipy():
    # Zeros, ties, loops and parallel edges.
    folder = graphs.ensure("random:n=60,m=400,weights=int:0:3")
    ours, scipy = (
        answer(solve())
        for solve, answer in (codes.prepare(code, folder, 1) for code in ("mstflow", "scipy"))
    )
    assert scipy["found"] < ours["found"]


def test_missing_library(tmp_path):
    (tmp_path / "igraph.py").write_text("raise ModuleNotFoundError('x', name='igraph')")
    command = ["-m", "benchmarks.codes", "igraph", graphs.ensure("chain:n=5")]
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
    ],
)
def test_refused(capsys, arguments, complaint):
    with pytest.raises(SystemExit):
        commands.main(arguments)
    assert complaint in capsys.readouterr().err


def test_files(tmp_path):
    files.write_files(tmp_path, 50)
    for path in tmp_path.glob("*.*"):
        assert files.readers_of(path)["mstflow"]().num_edges == 50


def test_steps_on_a_device(tmp_path, monkeypatch):
    """Failures and limits are recorded, and the steps after them run."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # for the graphs of the steps
    chosen = ["facts", "work", "racecheck"]
    *_, steps = run.measure(tmp_path, 20_000, chosen, is_tiny=True)  # no limit on a busy machine
    assert [*steps] == chosen
    if "cupy" not in mstflow.backends():
        assert "OptionError: backend 'cupy' is not usable" in steps["facts"]["failure"]
    assert steps["work"]["failure"] is None
    if not shutil.which("compute-sanitizer"):
        assert "'compute-sanitizer'" in steps["racecheck"]["failure"]
    head, *lines = tables.body(suite.TABLES["device-threads"][1], steps)
    assert (head[:4], len(lines)) == (["algorithm", "graph", "T = 1, ms", "T = 2, ms"], 3)
    written = [*map(json.loads, (tmp_path / "work.jsonl").read_text().splitlines())]
    assert written == steps["work"]["rows"]
    *_, late = run.measure(tmp_path, 1e-3, ["work"], is_tiny=True)
    assert late["work"]["failure"].startswith("passed its limit")
    with pytest.raises(OptionError, match="step 'other' is not known; choose from: facts, "):
        next(run.measure(tmp_path, 1, ["other"]))


# Tables and records.


def made_up(code, seconds, threads=1, **facts):
    """Return a row of a comparison."""
    answer = {"found": [9], "weight": [4.0], "checksum": ["00"], "peak": [7400]}
    return {"graph": "g", "edges": 100, "code": code, "threads": threads, "seconds": seconds} | {
        **answer,
        **facts,
    }


def test_table_of_ratios():
    """Ratios are medians over rounds, of the reference with the same number of threads."""
    rows = [
        made_up("mstflow", [1.0, 2.0, 4.0]),
        made_up("b", [3.0, 4.0, 2.0], checksum=["11"]),  # ratios 3, 2 and 1/2
        made_up("mstflow", [1.0, 1.0, 1.0], threads=2),
        made_up("b", [5.0, 5.0, 5.0], threads=2, peak=[9900]),
    ]
    columns = [f"{code}, T = {count}" for count in (1, 2) for code in ("mstflow", "b")]
    assert tables.body(codes.RATIOS, rows) == [
        ["graph", "edges", *(f"{column}, ms" for column in columns)]
        + [f"{column}, ratio" for column in columns[1::2]],
        ["g", "100", "2,000", "3,000\\*", "1,000", "5,000", "2\\*", "5"],
    ]
    memory = tables.Table(("graph",), ("code", "threads"), {"bytes": tables.peak("edges")})
    assert tables.body(memory, rows)[1] == ["g", "74", "74\\*", "74", "99"]


@pytest.mark.parametrize(
    ("answer", "is_other"),
    [
        ({"found": [8], "checksum": ["01"]}, True),
        ({"checksum": ["00", "01"]}, True),
        ({"checksum": ["00", "00"]}, False),
    ],
)
def test_differences(answer, is_other):
    assert tables.differs(made_up("b", [1.0], **answer), made_up("mstflow", [1.0])) == is_other
    other = {"found": [9], "weight": [4.1 if is_other else 4.0000001]}
    assert tables.differs(other, made_up("mstflow", [1.0])) == is_other


def test_failed_codes_have_a_dash():
    failed = {"graph": "g", "edges": 100, "code": "c", "threads": 1, "error": ["no"]}
    table = tables.Table(("graph", "code"), (), {"ms": tables.milliseconds()})
    assert tables.body(table, [made_up("b", [1.0]), failed])[1:] == [
        ["g", "b", "1,000"],
        ["g", "c", "-"],
    ]


def test_records_without_git(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert records.make("sizes", {}, [], 0.0)["commit"] == "unknown+"
    assert records.make("sizes", {}, [], 0.0, commit="0123456")["commit"] == "0123456"


def test_use_by_other_programs():
    others = machine.others()
    assert sum(range(10**6)) > 0
    assert 0 <= others() < 100


def test_a_record_is_measured_once(tmp_path, capsys):
    """Named records are measured again; the tables on pages are written from them."""
    table = tables.Table(("size",), (), {"s": tables.median()})
    benchmark = measure.Benchmark(
        "", lambda size: [{"size": size, "seconds": [2.0]}], {"size": 7}, {}, {"sizes": table}
    )
    path = tmp_path / records.RESULTS / "here" / "sizes.json"

    def record(*names):
        arguments = ["record", *names, "--machine", "here"]
        assert commands.main(arguments, tmp_path, {"sizes": benchmark}) == 0
        return capsys.readouterr().out

    record()
    assert records.read(path)["rows"] == [{"size": 7, "seconds": [2.0]}]
    assert record() == "sizes: is recorded\n"
    assert "recorded" not in record("sizes")
    page = tmp_path / "page.md"
    page.write_text("<!-- benchmark: sizes here -->\n<!-- end -->\nText.\n")
    known = {**records.read(path), "commit": "0123456789", "others": 0.3}
    text = tables.written(page, {"sizes": ("sizes", table)}, lambda *_: known)
    assert "| size | s |\n| --- | ---: |\n| 7 | 2 |\n" in text
    assert "Commit 0123456, " in text
    assert "Other programs kept 0.3 processors busy." in text
    assert "other programs was not measured." in tables.origin({**known, "others": None})
    assert text.endswith("<!-- end -->\nText.\n")
    page.write_text(text)
    assert tables.written(page, {"sizes": ("sizes", table)}, lambda *_: known) == text
    assert "Not measured yet" in tables.written(page, {"sizes": ("sizes", table)}, lambda *_: None)


#: Those that take seconds; the others call the same functions.
TRIED = [name for name, each in suite.SUITE.items() if each.usual]


@pytest.mark.parametrize("name", TRIED)
def test_benchmark_on_a_tiny_graph(name):
    benchmark = suite.SUITE[name]
    here = {"run": in_this_process} if benchmark.rows is codes.compare else {}
    rows = list(benchmark.rows(**{**benchmark.options, **benchmark.tiny, **here}))
    assert not [row["error"] for row in rows if "error" in row]
    for table in benchmark.tables.values():
        assert tables.body(table, rows)


def test_pages_match_the_records():
    assert commands.main(["tables", "--check"]) == 0, "run `python -m benchmarks tables`"


def test_usual_benchmarks_are_quoted():
    pages = tables.all_pages(ROOT)
    quoted = {suite.TABLES[table][0] for page in pages for table, _ in tables.quotes(page)}
    assert quoted >= {name for name, benchmark in suite.SUITE.items() if benchmark.usual}
