"""Plugins: the example passes the usual checks, and errors name the distribution."""

import re
import tomllib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import mstflow
from entry_points import forget_plugins, register
from graph_strategies import edge_lists
from mstflow import plugins
from mstflow.__main__ import main
from mstflow.doors.formats import format_names
from mstflow.errors import FileFormatError, MemoryBoundError, OptionError
from processes import run_python

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "mstflow_plugin"


def register_example(folder):
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    register(folder, project["name"], project["version"], project["entry-points"])


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder on the import path, where tests put distributions and modules."""
    monkeypatch.syspath_prepend(tmp_path)
    forget_plugins()
    yield tmp_path
    forget_plugins()


@pytest.fixture
def example(site, monkeypatch):
    register_example(site)
    monkeypatch.syspath_prepend(EXAMPLE / "src")


@pytest.mark.usefixtures("example")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edge_lists())
def test_example_computes_the_same_forest(graph):
    expected = mstflow.minimum_spanning_forest(graph).edge_ids
    for how in ({"partitions": 3, "strategy": "iterate"}, {"backend": "numpy-sorting"}):
        forest = mstflow.minimum_spanning_forest(graph, algorithm="boruvka-kruskal", **how)
        np.testing.assert_array_equal(forest.edge_ids, expected)


@pytest.mark.usefixtures("example")
def test_example_stages_pass_check_stage():
    pipeline = mstflow.algorithm("boruvka-kruskal")
    for name in ("start_rounds", "count_round", "rounds_over"):
        stage = next(stage for stage in pipeline.stages() if stage.name == name)
        mstflow.testing.check_stage(stage, pipeline)


@pytest.mark.usefixtures("example")
def test_example_on_the_command_line(capsys):
    names = ["--algorithm", "boruvka-kruskal", "--backend", "numpy-sorting"]
    assert main(["solve", str(EXAMPLE / "example.stp"), *names]) == 0
    out = capsys.readouterr().out
    assert "total weight  15" in out
    assert "boruvka-kruskal on numpy-sorting" in out
    assert main(["algorithms"]) == 0
    assert "two rounds of Boruvka, then Kruskal\n" in capsys.readouterr().out
    assert main(["info"]) == 0
    out = capsys.readouterr().out
    for plugin in ("algorithm 'boruvka-kruskal'", "reader 'stp'", "backend 'numpy-sorting'"):
        assert f"plugin        {plugin} of mstflow-plugin 0.1.0\n" in out


@pytest.mark.usefixtures("example")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0 1 5\n", ": expected a section Graph with a line Nodes"),
        ("SECTION Graph\nNodes x\n", ": line 2: expected 1 integers, found 'nodes x'"),
        ("SECTION Graph\nNodes 2\nE 1 2\n", ": line 3: expected 3 integers, found 'E 1 2'"),
        ("SECTION Graph\nE 1 2 3\n", ": line 2: expected one line Nodes, and then the edges"),
    ],
)
def test_example_reader_errors(tmp_path, text, expected):
    path = tmp_path / "bad.stp"
    path.write_text(text)
    with pytest.raises(FileFormatError) as raised:
        mstflow.read(path)
    assert str(raised.value).lower() == f"{path}{expected}".lower()


@pytest.mark.usefixtures("example")
def test_example_round_trip(tmp_path):
    path = tmp_path / "copy.stp"
    assert main(["convert", str(EXAMPLE / "example.stp"), "-o", str(path)]) == 0
    found, known = mstflow.read(path), mstflow.read(EXAMPLE / "example.stp")
    assert found.num_vertices == known.num_vertices
    for name in ("u", "v", "weight"):
        np.testing.assert_array_equal(getattr(found, name), getattr(known, name))


READERS = """
import numpy as np
from mstflow import EdgeList
from mstflow.doors.formats.file_format import Format
from mstflow.doors.formats.text.blocks import Header

VERTICES, BLOCK, BLOCKS = 10**5, 10**5, 160

def block(number):
    u, v = np.random.default_rng(number).integers(0, VERTICES, (2, BLOCK))
    return u, v, np.arange(BLOCK) + number

def blocks(path):
    yield Header(VERTICES)
    yield from map(block, range(BLOCKS))

def whole(path):
    return EdgeList([0, 1], [1, 2], [3, 4])

def mixed(path):
    u, v, weight = block(0)
    yield Header()
    yield from [(u, v, None), (u, v, weight)]

pieces = Format("pieces", (".pieces",), blocks=blocks)
mixed = Format("mixed", (".mixed",), blocks=mixed)
sized = Format("sized", (".sized",), whole, size=lambda path: 10**9)
"""


@pytest.fixture
def readers(site):
    (site / "some_readers.py").write_text(READERS)
    names = {name: f"some_readers:{name}" for name in ("pieces", "mixed", "sized", "whole")}
    register(site, "readers", "1", {"mstflow.readers": names})
    return site


def test_reader_that_is_a_function(readers):
    path = readers / "graph.whole"
    path.touch()
    assert mstflow.read(path).num_edges == 2
    forest = mstflow.minimum_spanning_forest(path)
    with pytest.raises(OptionError, match=r"cannot write '\.whole'"):
        forest.save(readers / "out.whole")


def test_blocks_with_and_without_weights_are_an_error(readers):
    path = readers / "graph.mixed"
    path.touch()
    for options in ({}, {"strategy": "fold"}):
        with pytest.raises(FileFormatError, match=r"graph\.mixed: some blocks have weights"):
            mstflow.minimum_spanning_forest(path, **options)


def test_reader_in_blocks_keeps_to_a_bound(readers):
    path = readers / "graph.pieces"
    path.touch()
    program = (
        "import sys; from mstflow.__main__ import main; assert main(sys.argv[1:]) == 0;"
        "print(open('/proc/self/status').read())"  # rusage would also count the memory of pytest
    )
    # "auto" takes kernels, which need more memory, if the cache has them.
    options = "--memory", "430MB", "--backend", "numpy"
    done = run_python("-c", program, "solve", path, *options, path=[readers])
    assert done.stderr == ""
    assert "16,000,000" in done.stdout  # edges, 384 MB
    assert int(re.search(r"VmHWM:\s+(\d+)", done.stdout)[1]) < 430e3


@pytest.mark.parametrize(
    ("name", "size", "needed"),
    [("whole", 0, "47 MB"), ("whole", 10**7, "700.98 MB"), ("sized", 0, "2.06 GB")],
)
def test_reader_of_whole_files_states_what_it_may_need(readers, name, size, needed):
    path = readers / f"graph.{name}"
    path.write_bytes(bytes(size))
    problem = f"at least {needed} to read {path}, which cannot be read in small blocks by format"
    with pytest.raises(MemoryBoundError, match=re.escape(problem)):
        mstflow.minimum_spanning_forest(path, memory="30MB")
    assert len(mstflow.minimum_spanning_forest(path, memory="20GB").edge_ids) == 2


def test_example_backend_conforms(tmp_path):
    register_example(tmp_path)
    chosen = ["tests/primitives/test_conformance.py", "-k", "numpy-sorting and scatter_reduce"]
    command = ["-m", "pytest", "-q", "-p", "no:cacheprovider", *chosen, "--examples", "20"]
    done = run_python(*command, path=[tmp_path, EXAMPLE / "src"], cwd=ROOT)
    assert done.returncode == 0, done.stdout


BROKEN = r"x' of absent 1 cannot be loaded: ModuleNotFoundError: No module named 'no_such_module'"


def test_plugins_that_fail_to_load(site, tmp_path, capsys):
    """A plugin is listed before it is loaded."""
    targets = {group: {"x": "no_such_module:x"} for group in plugins.GROUPS.values()}
    register(site, "absent", "1", targets)
    assert mstflow.algorithms()[-1] == mstflow.backends()[-1] == format_names()[-1] == "x"
    (tmp_path / "graph.x").write_text("0 1\n")
    with pytest.raises(OptionError, match="algorithm '" + BROKEN):
        mstflow.algorithm("x")
    with pytest.raises(OptionError, match="reader '" + BROKEN):
        mstflow.read(tmp_path / "graph.x")
    with pytest.raises(OptionError, match="backend '" + BROKEN):
        mstflow.minimum_spanning_forest(([0], [1]), backend="x")
    assert main(["algorithms"]) == 0
    assert "(algorithm 'x' of absent 1 cannot be loaded" in capsys.readouterr().out


def test_plugins_of_the_wrong_type(site, tmp_path):
    targets = {group: {"y": "math:pi"} for group in plugins.GROUPS.values()}
    register(site, "wrong", "2", targets)
    with pytest.raises(OptionError, match="algorithm 'y' of wrong 2 must be a Pipeline, not 3"):
        mstflow.algorithm("y")
    with pytest.raises(
        OptionError, match="reader 'y' of wrong 2 must be a Callable or Format, not 3"
    ):
        mstflow.read(tmp_path / "any", format="y")
    with pytest.raises(OptionError, match="backend 'y' of wrong 2 must be a type, not 3"):
        mstflow.minimum_spanning_forest(([0], [1]), backend="y")


def test_name_clashes(site):
    register(site, "alpha", "1", {"mstflow.algorithms": {"new": "math:pi"}})
    register(site, "beta", "1", {"mstflow.algorithms": {"new": "math:e", "kruskal": "math:e"}})
    with pytest.warns(UserWarning, match="is ignored") as warned:
        names = mstflow.algorithms()
    assert [str(warning.message) for warning in warned] == [
        "algorithm 'kruskal' of beta 1 is ignored: the name is taken by mstflow",
        "algorithm 'new' of beta 1 is ignored: the name is taken by alpha 1",
    ]
    assert (names.count("kruskal"), names[-1]) == (1, "new")
    assert mstflow.algorithm("kruskal").name == "kruskal"


def test_name_clashes_on_the_command_line(tmp_path):
    register(tmp_path, "beta", "1", {"mstflow.algorithms": {"kruskal": "math:e"}})
    done = run_python("-m", "mstflow", "algorithms", path=[tmp_path])
    warning = "warning: algorithm 'kruskal' of beta 1 is ignored: the name is taken by mstflow\n"
    assert (done.returncode, done.stderr) == (0, warning)
