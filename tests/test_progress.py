"""Progress: all long work reports to the listener, and bars appear after a delay."""

import contextlib
import gzip
import io
import os
import re
import sys
import threading
import time
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

import mstflow
from mstflow.__main__ import main
from mstflow.errors import OptionError
from mstflow.progress import DELAY, delayed, notebook_bar, report_progress, set_listener
from strategy_names import PARTITIONS

GRAPH = tuple(np.random.default_rng(2).integers(0, 500, (2, 2000)))


class Recorder(list):
    """A listener that records all reports."""

    def __call__(self, *report):
        self.append(report)

    def check(self):
        """Check that `done` never decreases within a step, and that the last step is complete."""
        for step in {report[0] for report in self}:
            done = [report[1] for report in self if report[0] == step]
            assert done == sorted(done)
            assert all(0 <= report[1] <= report[2] for report in self if report[0] == step)
        assert self[-1][1] == self[-1][2]


def test_every_algorithm_reports_its_stages(algorithm):
    recorder = Recorder()
    forest = mstflow.minimum_spanning_forest(GRAPH, algorithm=algorithm, progress=recorder)
    recorder.check()
    calls = [f"round {call.round}: {call.stage}" for call in forest.report.calls]
    assert [step for step, *_ in recorder] == [*calls, "done"]
    assert [done for _, done, _ in recorder] == sorted(done for _, done, _ in recorder)


@pytest.mark.parametrize(("strategy", "partitions"), PARTITIONS.items())
@pytest.mark.parametrize("scheduler", ["inline", "synchronous", "threads"])
def test_every_strategy_and_scheduler_reports(strategy, partitions, scheduler):
    recorder = Recorder()
    options = {"strategy": strategy, "scheduler": scheduler, "partitions": partitions}
    mstflow.minimum_spanning_forest(GRAPH, progress=recorder, **options)
    recorder.check()
    assert len(recorder) > 1 or strategy == "fold"


def test_the_scans_of_a_run_share_one_bar():
    recorder, (u, v) = Recorder(), np.random.default_rng(3).integers(0, 200, (2, 5000))
    found = mstflow.minimum_spanning_forest((u, v, u), strategy="two-scan", progress=recorder)
    scans = [report for report in recorder if report[0].startswith("scan")]
    assert found.report.final["num_scans"] == 2
    assert list(dict.fromkeys(step for step, *_ in scans)) == ["scan 1 of 2", "scan 2 of 2"]
    assert [done for _, done, _ in scans] == sorted({done for _, done, _ in scans})
    assert {total for *_, total in scans} == {scans[-1][1]} == {10_000}


@pytest.mark.parametrize(("scheduler", "total"), [("inline", 2000), ("threads", 11)])
def test_a_tree_counts_edges_inline_and_tasks_on_a_scheduler(scheduler, total):
    """The tasks are five scans, two merges and four others."""
    recorder = Recorder()
    options = {"strategy": "tree", "scheduler": scheduler, "partitions": 5}
    mstflow.minimum_spanning_forest(GRAPH, progress=recorder, **options)
    done = [done for _, done, _ in recorder]
    assert done == sorted(done)
    assert recorder[-1][1:] == (total, total)


def test_every_command_reports(tmp_path):
    random = np.random.default_rng(5)
    u, v, weight = random.integers(0, 140_000, (3, 250_000))
    lines = "\n".join(map("{} {} {}".format, u.tolist(), v.tolist(), weight.tolist()))
    (tmp_path / "graph.txt.gz").write_bytes(gzip.compress(lines.encode(), 1))
    path, folder = str(tmp_path / "graph.txt.gz"), str(tmp_path / "graph")
    forest, steps = str(tmp_path / "f.npz"), []
    for command in (
        ["convert", path, "-o", folder],
        ["info", folder],
        ["solve", folder, "--memory", "8GB", "-o", forest],
        ["verify", folder, forest],
    ):
        recorder = Recorder()
        with set_listener(recorder):
            assert main(command) == 0
        recorder.check()
        steps += [step for step, *_ in recorder if not step.startswith("compiling")]
    assert list(dict.fromkeys(steps)) == [
        "read graph.txt.gz", "write edges", "count degrees", "scan 1 of 1", "done", "compare paths",
    ]  # fmt: skip
    assert steps.count("read graph.txt.gz") > 2
    reports = Recorder()
    mstflow.read(path, progress=reports)
    assert reports[-1][2] == os.path.getsize(path)


def test_no_reports_without_a_listener():
    recorder = Recorder()
    with set_listener(recorder):
        mstflow.minimum_spanning_forest(GRAPH, progress=False)
        assert recorder == []
        with set_listener(False):
            mstflow.minimum_spanning_forest(GRAPH)
        assert recorder == []
        mstflow.minimum_spanning_forest(GRAPH)
    assert recorder != []
    recorder.clear()
    report_progress("no listener", 1, 2)
    assert recorder == []


@pytest.mark.parametrize("progress", [None, 1, "auto"])
def test_bad_listener(progress):
    with pytest.raises(OptionError, match="progress must be True, False or a callable"):
        mstflow.minimum_spanning_forest(GRAPH, progress=progress)


def test_display_is_delayed():
    now, recorder, log = 100.0, Recorder(), []

    @contextlib.contextmanager
    def display():
        log.append("opened")
        yield recorder
        log.append("closed")

    with delayed(display, clock=lambda: now) as listen:
        listen("a", 1, 9)
        now += DELAY - 0.01
        listen("a", 2, 9)
        assert log == []
        now += 0.01
        listen("a", 3, 9)
        listen("a", 4, 9)  # too soon after the last update
        now += 0.2
        listen("b", 5, 9)
        assert log == ["opened"]
    assert recorder == [("a", 3, 9), ("b", 5, 9)]
    assert log == ["opened", "closed"]
    with delayed(display, clock=lambda: now) as listen:
        listen("a", 1, 9)
    assert log == ["opened", "closed"]


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def watched(monkeypatch):
    """A function that returns what a call draws on standard error, after a delay."""
    monkeypatch.setenv("TERM", "xterm-256color")

    def watch(function, screen=Terminal, delay=0.0):
        with contextlib.redirect_stderr(screen()) as drawn, set_listener(True, delay):
            function()
        return drawn.getvalue()

    return watch


def solve(**options):
    mstflow.minimum_spanning_forest(GRAPH, **options)


def slow_chunks():
    yield GRAPH
    time.sleep(DELAY)
    yield GRAPH


def test_long_work_shows_a_bar_without_being_asked(monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")

    def draw(function):
        with contextlib.redirect_stderr(Terminal()) as drawn:
            function()
        return drawn.getvalue()

    assert any(draw(solve) == "" for _ in range(5))  # a busy machine may delay some
    drawn = draw(partial(mstflow.minimum_spanning_forest, slow_chunks(), num_vertices=500))
    assert drawn.endswith("\x1b[2K")  # cleared


def test_bar_on_a_terminal(watched, tmp_path):
    np.savez(tmp_path / "g.npz", u=GRAPH[0], v=GRAPH[1], weight=GRAPH[0], n=500)
    command = ["solve", str(tmp_path / "g.npz"), "--strategy", "whole"]
    for call in (solve, partial(main, command)):
        drawn = watched(call)
        assert "round 0: " in drawn
        assert "total weight" not in drawn
        assert drawn.endswith("\x1b[2K")  # cleared
    assert watched(partial(main, [*command, "--quiet"])) == ""


def test_markup_in_names_is_escaped(watched):
    def read():
        report_progress("read [red]roads[/blue].gr", 1, 2)
        report_progress("count edges", 1, 0)

    assert "[red]roads[/blue].gr" in watched(read)


@pytest.mark.parametrize("stdout", [Terminal, io.StringIO])
def test_print_during_progress(watched, stdout):
    def listen_and_print():
        report_progress("a", 1, 2)
        print("printed")

    with contextlib.redirect_stdout(stdout()) as printed:
        drawn = watched(listen_and_print)
    assert ("printed" in drawn) == (stdout is Terminal)  # above the bar
    assert ("printed" in printed.getvalue()) == (stdout is io.StringIO)


def test_no_bar_in_threads_and_files(watched):
    def solve_beside():
        thread = threading.Thread(target=solve)
        thread.start()
        thread.join()

    assert watched(partial(solve, progress=False)) == ""
    assert watched(solve_beside) == ""
    assert watched(solve, io.StringIO) == ""


@pytest.fixture
def notebook(monkeypatch):
    """The messages that IPython's kernel would receive."""
    shown = []

    def display(data, *, raw, display_id):
        assert raw
        assert display_id
        shown.append(data)
        return SimpleNamespace(update=lambda data, *, raw: shown.append(data))

    kernel = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=True))
    monkeypatch.setitem(sys.modules, "IPython", kernel)
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    return shown


def test_bar_in_a_notebook(notebook):
    with set_listener(True, delay=0.0):
        mstflow.minimum_spanning_forest(GRAPH)
    assert re.search(r'<progress value="0" max="500"></progress> round 0: ', str(notebook))
    assert notebook[-1] == {"text/plain": "", "text/html": ""}


def test_bar_in_a_notebook_is_escaped(notebook):
    with notebook_bar() as show:
        show("read <b>.txt", 0, 0)
    assert notebook[1] == {
        "text/plain": "read <b>.txt",
        "text/html": "<progress ></progress> read &lt;b&gt;.txt",
    }
