"""The command line as a process: signals, closed pipes, full disks, and too little memory."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

import mstflow
from covering import covering
from graph_files import ROADS, save_columns
from mstflow.__main__ import main
from mstflow.commands.shared.terminal import Stopwatch
from processes import run_python

COMMAND = "-m", "mstflow"
PIPES = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}


@pytest.mark.parametrize(
    ("argument", "unbuffered"), [("algorithms", ""), ("algorithms", "1"), ("--help", "")]
)
def test_closed_pipe(argument, unbuffered):
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "mstflow", argument]
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, env=environment)
    os.close(writer)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, which only Linux has")
def test_standard_output_on_a_full_disk():
    command = [sys.executable, "-m", "mstflow", "algorithms"]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("error: ")


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_signals_leave_no_files(tmp_path, name):
    program = (
        "import signal, sys; from mstflow.__main__ import main;"
        f"signal.signal(signal.{name}, signal.SIG_DFL);"  # nohup ignores SIGHUP
        "sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", program, "generate", "random", "--vertices", "1000000"]
    command += ["--edges", "100000000", "-o", str(tmp_path / "graph")]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    while not list(tmp_path.glob("*/draft/*")):
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(getattr(signal, name))
    assert process.wait() == 128 + getattr(signal, name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        (
            "os.kill(os.getpid(), signal.SIGINT)\nfor _ in range(900): time.sleep(0.01)",
            130,
            "error: interrupted\n",
        ),
        ("warnings.warn('x'); raise MemoryError", 2, "error: not enough memory\n"),
        (
            "raise ImportError('Advice.\\n\\ncannot map')",
            2,
            "error: cannot load a library: cannot map\n",
        ),
    ],
)
def test_errors_while_libraries_are_loaded(tmp_path, line, code, message):
    (tmp_path / "numpy.py").write_text(f"import os, signal, time, warnings\n{line}\n")
    done = run_python(*COMMAND, "info", path=[tmp_path])  # which replaces NumPy
    assert (done.returncode, done.stdout, done.stderr) == (code, "", message)


def test_the_least_memory_of_a_plan_suffices():
    """Both commands open the file before they measure the memory of the process."""
    planned = run_python(*COMMAND, "plan", ROADS, "--memory", "9GB", "--json")
    least = json.loads(planned.stdout)["least"]
    done = run_python(*COMMAND, "solve", ROADS, "--memory", int(1.05 * least))
    assert (done.returncode, done.stderr) == (0, "")


def test_workers_do_not_log_errors(tmp_path):
    """A stated number of vertices lets only a worker read the edges."""
    graph = save_columns(tmp_path / "graph", [0, 1], [1, -1], n=2)
    options = ["--scheduler", "processes", "--strategy", "tree", "--partitions", "1"]
    done = run_python(*COMMAND, "solve", graph, *options)
    message = f"error: {graph}: edge 1: v is -1; vertex ids must not be negative (on worker tcp://"
    assert done.stderr.startswith(message)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)


def test_full_disk_names_file_and_bytes(tmp_path):
    """`test_a_full_disk_names_the_file_and_the_bytes` in tests/doors tests each format."""
    (tmp_path / "path.txt").write_text("".join(f"{i} {i + 1} 1\n" for i in range(20_000)))
    command = [*COMMAND, "solve", tmp_path / "path.txt", "-o", tmp_path / "forest"]
    limits = resource.RLIMIT_FSIZE, (50_000, 50_000)
    done = run_python(*command, preexec_fn=lambda: resource.setrlimit(*limits))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith(f"error: {tmp_path / 'forest'}: ")
    assert done.stderr.endswith(" bytes\n")
    assert [path.name for path in tmp_path.iterdir()] == ["path.txt"]


def test_seconds_are_those_of_the_command(tmp_path, capsys):
    path = tmp_path / "graph.txt"
    path.write_text("".join(f"{i} {i + 1} {i % 7}\n" for i in range(100_000)))
    started = time.perf_counter()
    assert main(["solve", str(path), "--memory", "8GB", "--json"]) == 0
    passed = time.perf_counter() - started
    seconds = json.loads(capsys.readouterr().out)["seconds"]
    assert 0 < sum(seconds.values()) <= passed
    assert list(seconds) == ["start", "read", "solve"]


def test_seconds_add_up():
    times = iter([3.0, 7.5])
    watch = Stopwatch(1.0, clock=times.__next__)
    for step in ("start", "read"):
        watch.stop(step)
    assert watch.seconds == {"start": 2.0, "read": 4.5}


def test_hangup_of_a_terminal_prints_nothing():
    program = (
        "import signal, sys; from mstflow.__main__ import main;"
        "signal.signal(signal.SIGHUP, signal.SIG_DFL);"  # nohup ignores SIGHUP
        "sys.exit(main())"
    )
    options = ["--scheduler", "processes", "--strategy", "iterate", "--partitions", "8"]
    command = [sys.executable, "-c", program, "solve", str(ROADS), *options, "--threads", "2"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, start_new_session=True, **pipes) as process:
        while len(psutil.Process(process.pid).children()) < 3:  # two workers and the tracker
            assert process.poll() is None
            time.sleep(0.05)
        time.sleep(0.5)
        os.killpg(process.pid, signal.SIGHUP)
        assert process.communicate() == (b"", b"")
    assert process.returncode == 128 + signal.SIGHUP


def in_shell(line, cwd):
    """Run a line of the shell, which can close the streams of a command."""
    python = f"{sys.executable} -m mstflow"
    done = subprocess.run(["sh", "-c", line.replace("mstflow", python)], cwd=cwd, **PIPES)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("mstflow solve - <&-", "-: standard input is closed"),
        ("mstflow clusters graph.txt - --at 1 <&-", "-: standard input is closed"),
        ("mstflow solve graph.txt --json >&-", "standard output is closed"),
        ("mstflow solve graph.txt -o - >&-", "standard output is closed"),
        ("mstflow convert graph.txt -o - >&-", "standard output is closed"),
        ("mstflow info graph.txt >&-", "standard output is closed"),
        ("mstflow algorithms >&-", "standard output is closed"),
    ],
)
def test_closed_streams(tmp_path, line, message):
    (tmp_path / "graph.txt").write_text("0 1 3\n")
    assert in_shell(line, tmp_path) == (2, "", f"error: {message}\n")


def test_closed_streams_get_nothing(tmp_path):
    """A file that takes the number of a closed stream would get what is printed to the stream."""
    (tmp_path / "graph.txt").write_text("0 1 3\n")
    for name in ("a.csv", "b.npz"):
        line = f"mstflow solve graph.txt -o {name}"
        assert in_shell(f"{line} <&- >&- 2>&-", tmp_path) == (0, "", "")
        assert mstflow.read(tmp_path / name).num_edges == 1
    assert in_shell("mstflow solve missing.txt 2>&-", tmp_path) == (2, "", "")


@pytest.mark.parametrize(
    ("variable", "folder", "line"),
    covering(
        ["TMPDIR", "TEMP", "TMP"],
        ["missing", "file"],
        [
            "mstflow solve pairs.csv --columns a b --strategy sweep",
            "mstflow solve pairs.csv --columns a b --scheduler processes",
            "mstflow solve - --ends a b < pairs.csv",
            "mstflow convert pairs.csv --columns a b -o -",
        ],
    ),
)
def test_an_unusable_temporary_folder_is_refused(tmp_path, variable, folder, line):
    """Python would take another folder, which may be too small."""
    (tmp_path / "pairs.csv").write_text("a,b,weight\n0,1,3\n")
    (tmp_path / "file").touch()
    place = f"{tmp_path}/{folder}"
    found = in_shell(f"unset TMPDIR TEMP TMP; {variable}={place} {line}", tmp_path)
    message = f"the environment variable {variable} names {place}, which is not a folder"
    assert found == (2, "", f"error: {message}\n")
