"""The campaign of tests/soak: each kind of case runs, and failures are reported."""

import ast
import contextlib
import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import mstflow
from processes import run_python
from soak import campaign, graphs, inputs, oracle, solve
from soak.case import Case, WrongError, check_ending
from waiting import wait_until

ROOT = Path(__file__).parents[1]
COMMAND = [str(ROOT / "tests" / "soak"), "--processes", "1", "--seed", "3"]


def test_graphs_and_oracle_share_nothing_with_the_package():
    for module in (graphs, oracle):
        names = ast.walk(ast.parse(Path(module.__file__).read_text()))
        found = {
            (name.module if isinstance(name, ast.ImportFrom) else name.names[0].name)
            for name in names
            if isinstance(name, ast.Import | ast.ImportFrom)
        }
        assert found <= {"__future__", *sys.stdlib_module_names}


def test_the_oracle_on_a_known_graph():
    u, v, weight = [0, 1, 2, 0, 3, 3], [1, 2, 0, 2, 3, 4], [1.0, 2.0, 2.0, 0.5, -9.0, -0.5]
    least = oracle.solve(u, v, weight, 6, maximum=False)
    assert (least.edge_ids, least.total_weight) == ([0, 3, 5], 1.0)
    assert (least.labels, least.num_components) == ([0, 0, 0, 1, 1, 2], 3)
    assert oracle.solve(u, v, weight, 6, maximum=True).edge_ids == [1, 2, 5]


#: The number of cases of each kind that take a second or two.
CASES = {
    "solve": 15,
    "cluster": 1,
    "medium": 2,
    "resume": 1,
    "workers": 1,
    "changed": 2,
    "malformed": 5,
    "bomb": 1,
    "cache": 1,
    "table": 20,
    "neighbors": 20,
    "points": 20,
}


@pytest.fixture(scope="module")
def worker():
    """Start a process of a campaign, which takes a second."""
    worker = campaign.Worker(os.devnull, 1)
    yield worker
    worker.end()


@pytest.mark.parametrize("kind", campaign.KINDS)
def test_each_kind(kind, worker):
    events = {}
    for number in range(CASES[kind]):
        worker.begin(kind, 3, number)
        found, failure, _ = worker.pipe.recv()
        assert failure is None
        events |= found
    assert events


def test_kinds_draw_the_same_case_again():
    drawn = [graphs.random_graph(Case("solve", 3, number).rng) for number in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_wrong_forests_are_reported():
    """The solvers lose an edge, break ties differently, close a cycle, or change weights."""

    def changed(**values):
        return lambda *given, **options: dataclasses.replace(
            mstflow.minimum_spanning_forest(*given, **options), **values
        )

    edges = (graphs.Edge(0, 1, 5), graphs.Edge(1, 0, 5), graphs.Edge(1, 2, 5))
    graph = graphs.Graph(3, edges, weight_dtype="i4")
    given = inputs.Input(tuple(inputs.arrays(graph)), graph)
    options = {"algorithm": "auto", "backend": "numpy", "strategy": "whole", "scheduler": "inline"}
    options["maximum"] = False
    solve.check(Case("solve", 3, 0), given, options)
    for wrong in ([0], [1, 2], [0, 1, 2]):
        solver = changed(edge_ids=np.array(wrong), known=())
        with pytest.raises(WrongError, match="edge ids: expected"):
            solve.check(Case("solve", 3, 0), given, options, solver)
    columns = (graph.column(0), graph.column(1), [1, 1, 1])
    lighter = mstflow.EdgeList(*columns)
    with pytest.raises(WrongError, match="total weight: expected 10, found 2"):
        solve.check(Case("solve", 3, 0), given, options, changed(graph=lighter, known=()))


def test_a_failure_has_a_command_that_repeats_it(monkeypatch):
    monkeypatch.setattr(solve, "run", lambda case: case.expect("answer", 41, 42))
    events, failure = campaign.run_case("solve", 3, 17)
    assert (events, failure["what"]) == ({}, "WrongError: answer: expected 42, found 41")
    assert failure["repeat"] == "python tests/soak --kind solve --seed 3 --case 17"
    done = run_python(*failure["repeat"].split()[1:], cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["solves"] >= 1


@pytest.mark.parametrize(
    ("code", "message", "is_fine"),
    [
        (0, "", True),
        (2, "error: u.npy: ends at edge 3\n", True),
        (0, "warning: a.txt: vertex ids start at 1\n", True),
        (0, "Warning: overflow\n", False),
        (2, "Warning: overflow\nerror: u.npy: ends at edge 3\n", False),
        (1, "Traceback (most recent call last):\n", False),
        (-signal.SIGBUS, "", False),
    ],
)
def test_allowed_endings_of_a_command(code, message, is_fine):
    if is_fine:
        check_ending(code, message)
    else:
        with pytest.raises(WrongError, match="the command ended with"):
            check_ending(code, message)


def test_a_campaign_continues_where_it_stopped(tmp_path):
    file = tmp_path / "counts.json"
    for total in (2, 4):
        run_python(*COMMAND, "--kind", "solve", "--cases", 2, "--json", file)
        counts = json.loads(file.read_text())
        assert counts["cases"] == {"solve": total}
        assert counts["begun"] == {"3": {"solve": total}}
        assert len(counts["runs"]) == total // 2


def test_a_campaign_that_is_killed_takes_all_its_processes_with_it(tmp_path):
    """This holds even if a process waits for another process that does not answer."""
    environment = {**os.environ, "SOAK_TEST": str(tmp_path), "TMPDIR": str(tmp_path)}
    command = [sys.executable, *COMMAND, "--kind", "malformed"]
    running = subprocess.Popen(command, env=environment)
    wait_until(lambda: any(b"fork()" in command for command in processes_of(tmp_path).values()))
    for pid, command in processes_of(tmp_path).items():
        if b"fork()" in command:
            os.kill(pid, signal.SIGSTOP)
    running.kill()
    running.wait()
    wait_until(lambda: not processes_of(tmp_path))


def processes_of(mark):
    """Return the processes with a variable in their environment, and their command lines."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"SOAK_TEST={mark}".encode() in (folder / "environ").read_bytes():
                found[int(folder.name)] = (folder / "cmdline").read_bytes()
    return found


def test_a_process_that_dies_or_hangs_is_a_failure(monkeypatch):
    """The case it ran is reported, and another process takes its place."""
    kind = campaign.Kind("solve.run", 1, 60)
    monkeypatch.setitem(campaign.KINDS, "solve", kind)
    running = campaign.Campaign(1, 1, 3, {"solve": 1.0}, cases=2)
    (worker,) = running.workers
    os.kill(worker.process.pid, signal.SIGSTOP)
    running.begin(worker)
    monkeypatch.setitem(campaign.KINDS, "solve", kind._replace(seconds=0.1))
    time.sleep(0.2)
    other = running.take(worker)
    monkeypatch.setitem(campaign.KINDS, "solve", kind)
    os.kill(other.process.pid, signal.SIGSEGV)
    running.begin(other)
    running.take(other).end()
    counts = running.counts
    what = [failure["what"] for failure in counts.failures]
    assert [text.partition(";")[0] for text in what] == [
        "did not end in 0 s",
        f"the process died with exit code -{signal.SIGSEGV.value}",
    ]
    assert counts.cases == {"solve": 2}
