"""Progress: one protocol that all long work tells, and bars that only patience brings up."""

import contextlib
import gzip
import io
import os
import re
import sys
import threading
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

import mstflow
from mstflow.__main__ import main
from mstflow.errors import OptionError
from mstflow.progress import DELAY, delayed, notebook_bar, report_progress, set_listener

GRAPH = tuple(np.random.default_rng(2).integers(0, 500, (2, 2000)))


class Ear(list):
    """A listener that keeps what it hears."""

    def __call__(self, *told):
        self.append(told)

    def check(self):
        """Within a step nothing is undone, and all is done at the end of the last."""
        for step in {told[0] for told in self}:
            done = [told[1] for told in self if told[0] == step]
            assert done == sorted(done)
            assert all(0 <= told[1] <= told[2] for told in self if told[0] == step)
        assert self[-1][1] == self[-1][2]


def test_every_algorithm_tells_its_stages(algorithm):
    ear = Ear()
    forest = mstflow.minimum_spanning_forest(GRAPH, algorithm=algorithm, progress=ear)
    ear.check()
    calls = [f"round {call.round}: {call.stage}" for call in forest.report.calls]
    assert [step for step, *_ in ear] == [*calls, "done"]
    assert [done for _, done, _ in ear] == sorted(done for _, done, _ in ear)


@pytest.mark.parametrize("strategy", ["whole", "fold", "two-scan", "tree", "iterate"])
@pytest.mark.parametrize("scheduler", ["inline", "synchronous", "threads"])
def test_every_way_to_run_tells(strategy, scheduler):
    ear = Ear()
    partitions = 3 if strategy in ("tree", "iterate") else None
    options = {"strategy": strategy, "scheduler": scheduler, "partitions": partitions}
    mstflow.minimum_spanning_forest(GRAPH, progress=ear, **options)
    ear.check()
    assert len(ear) > 1 or strategy in ("fold", "two-scan")


def test_all_long_work_tells(tmp_path):
    random = np.random.default_rng(5)
    u, v, weight = random.integers(0, 140_000, (3, 250_000))
    lines = "\n".join(map("{} {} {}".format, u.tolist(), v.tolist(), weight.tolist()))
    (tmp_path / "graph.txt.gz").write_bytes(gzip.compress(lines.encode(), 1))
    path, folder = str(tmp_path / "graph.txt.gz"), str(tmp_path / "graph")
    ear = Ear()
    with set_listener(ear):
        assert main(["convert", path, "-o", folder]) == 0
        assert main(["info", folder]) == 0
        assert main(["solve", folder, "--memory", "8GB", "-o", str(tmp_path / "f.npz")]) == 0
        assert main(["verify", folder, str(tmp_path / "f.npz")]) == 0
    ear.check()
    steps = list(dict.fromkeys(step for step, *_ in ear))
    assert steps == [
        "read graph.txt.gz", "write edges", "count degrees", "scan 1", "done", "scan 2",
        "compare paths",
    ]  # fmt: skip
    assert len([step for step, *_ in ear if step == "read graph.txt.gz"]) > 2
    told = Ear()
    mstflow.read(path, progress=told)
    assert told[-1][2] == os.path.getsize(path)


def test_silence_is_kept():
    ear = Ear()
    with set_listener(ear):
        mstflow.minimum_spanning_forest(GRAPH, progress=False)
        assert ear == []
        with set_listener(False):
            mstflow.minimum_spanning_forest(GRAPH)
        assert ear == []
        mstflow.minimum_spanning_forest(GRAPH)
    assert ear != []
    ear.clear()
    report_progress("nobody listens any more", 1, 2)
    assert ear == []


@pytest.mark.parametrize("progress", [None, 1, "auto"])
def test_what_cannot_listen(progress):
    with pytest.raises(OptionError, match="progress must be True, False or a callable"):
        mstflow.minimum_spanning_forest(GRAPH, progress=progress)


def test_patience():
    now, ear, log = 100.0, Ear(), []

    @contextlib.contextmanager
    def display():
        log.append("opened")
        yield ear
        log.append("closed")

    with delayed(display, clock=lambda: now) as listen:
        listen("a", 1, 9)
        now += DELAY - 0.01
        listen("a", 2, 9)
        assert log == []
        now += 0.01
        listen("a", 3, 9)
        listen("a", 4, 9)  # too soon for another picture
        now += 0.2
        listen("b", 5, 9)
        assert log == ["opened"]
    assert ear == [("a", 3, 9), ("b", 5, 9)]
    assert log == ["opened", "closed"]
    with delayed(display, clock=lambda: now) as listen:
        listen("a", 1, 9)
    assert log == ["opened", "closed"]


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def watched(monkeypatch):
    """Call a function with a terminal as standard error and no patience; return what is drawn."""
    monkeypatch.setattr("mstflow.progress.DELAY", 0.0)
    monkeypatch.setenv("TERM", "xterm-256color")

    def watch(function, screen=Terminal):
        with contextlib.redirect_stderr(screen()) as drawn:
            function()
        return drawn.getvalue()

    return watch


def solve(**options):
    mstflow.minimum_spanning_forest(GRAPH, **options)


def test_bar_on_a_terminal(watched, tmp_path):
    np.savez(tmp_path / "g.npz", u=GRAPH[0], v=GRAPH[1], weight=GRAPH[0], n=500)
    command = ["solve", str(tmp_path / "g.npz"), "--strategy", "whole"]
    for call in (solve, partial(main, command)):
        drawn = watched(call)
        assert "round 0: " in drawn
        assert "total weight" not in drawn
        assert drawn.endswith("\x1b[2K")  # wiped
    assert watched(partial(main, [*command, "--quiet"])) == ""


def test_names_are_no_markup(watched):
    def read():
        report_progress("read [red]roads[/blue].gr", 1, 2)
        report_progress("count edges", 1, 0)

    assert "[red]roads[/blue].gr" in watched(set_listener(True)(read))


@pytest.mark.parametrize("stdout", [Terminal, io.StringIO])
def test_what_is_printed_meanwhile(watched, stdout):
    def listen_and_print():
        report_progress("a", 1, 2)
        print("printed")

    with contextlib.redirect_stdout(stdout()) as printed:
        drawn = watched(set_listener(True)(listen_and_print))
    assert ("printed" in drawn) == (stdout is Terminal)  # above the bar
    assert ("printed" in printed.getvalue()) == (stdout is io.StringIO)


def test_no_bar_where_none_belongs(watched):
    def solve_beside():
        thread = threading.Thread(target=solve)
        thread.start()
        thread.join()

    assert watched(partial(solve, progress=False)) == ""
    assert watched(solve_beside) == ""
    assert watched(solve, io.StringIO) == ""


@pytest.fixture
def notebook(monkeypatch):
    """What IPython's kernel would be sent."""
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


def test_bar_in_a_notebook(notebook, monkeypatch):
    monkeypatch.setattr("mstflow.progress.DELAY", 0.0)
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
