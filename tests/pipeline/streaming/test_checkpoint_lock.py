"""The lock of a checkpoint: one run at a time, and none is held by a process that was killed."""

import errno
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

import mstflow
from graph_files import save_columns
from mstflow.__main__ import main
from mstflow.errors import CheckpointWarning, OptionError
from mstflow.pipeline.streaming.checkpoint import hold_checkpoint
from processes import run_python

RANDOM = np.random.default_rng(5)
GRAPH = (*RANDOM.integers(0, 20_000, (2, 200_000)), RANDOM.random(200_000))
EXPECTED = mstflow.minimum_spanning_forest(GRAPH).edge_ids
#: Takes hold of a checkpoint, says so, and waits.
HOLD = (
    "import sys, time; from mstflow.pipeline.streaming.checkpoint import hold_checkpoint\n"
    "with hold_checkpoint(sys.argv[1]): print('held', flush=True); time.sleep(600)"
)


@pytest.fixture
def graph(tmp_path):
    return save_columns(tmp_path / "graph", *GRAPH)


@pytest.fixture
def owner(tmp_path):
    """Another process that holds the checkpoint `kept`."""
    command = [sys.executable, "-c", HOLD, tmp_path / "kept"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def solve(graph, kept, **options):
    return mstflow.minimum_spanning_forest(graph, checkpoint=kept, **options).edge_ids


@pytest.mark.parametrize("strategy", ["sweep", "tree", "two-scan"])
def test_a_second_run_is_refused(graph, owner, tmp_path, strategy):
    message = rf"kept: another run is using the checkpoint \(process {owner.pid} on .*; wait until"
    with pytest.raises(OptionError, match=message):
        solve(graph, tmp_path / "kept", strategy=strategy)
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    assert np.array_equal(solve(graph, tmp_path / "kept", strategy=strategy), EXPECTED)


def test_names_are_not_numbered_in_a_checkpoint_of_another_run(owner, tmp_path, capsys):
    (tmp_path / "pairs.csv").write_text("u,v,weight\nx,y,1\n")
    pairs = str(tmp_path / "pairs.csv")
    with pytest.raises(OptionError, match="another run is using"):
        solve(pairs, tmp_path / "kept", ends=("u", "v"), strategy="fold", memory="2GB")
    command = ["solve", pairs, "--ends", "u", "v", "--memory", "2GB", "--checkpoint"]
    assert main([*command, str(tmp_path / "kept")]) == 2
    assert "another run is using" in capsys.readouterr().err


def test_threads_exclude_each_other(tmp_path):
    message = f"another run .*process {os.getpid()} on"
    with hold_checkpoint(tmp_path / "kept"), pytest.raises(OptionError, match=message):
        solve(GRAPH, tmp_path / "kept", strategy="fold")
    assert np.array_equal(solve(GRAPH, tmp_path / "kept", strategy="fold"), EXPECTED)


def test_runs_at_once_damage_nothing(graph, tmp_path):
    program = (
        "import sys, mstflow\n"
        "try: found = mstflow.minimum_spanning_forest(sys.argv[1], checkpoint=sys.argv[2],"
        " strategy='sweep'); print(found.edge_ids.sum())\n"
        "except mstflow.errors.OptionError as error: print(error)"
    )
    command = [sys.executable, "-c", program, graph, tmp_path / "kept"]
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    outputs = [run.communicate()[0].strip() for run in runs]
    right = str(EXPECTED.sum())
    assert right in outputs
    assert all(text == right or "another run is using" in text for text in outputs)
    assert run_python(*command[1:]).stdout.strip() == right


def test_a_refused_run_leaves_no_folder(tmp_path):
    with pytest.raises(OptionError, match="partitions"):
        solve(GRAPH, tmp_path / "kept", strategy="fold", partitions=-1)
    assert not list(tmp_path.iterdir())


def test_files_that_are_no_checkpoint_stay(tmp_path):
    (tmp_path / "lock").write_text("mine")
    with pytest.raises(OptionError, match="is not a checkpoint"):
        solve(GRAPH, tmp_path, strategy="fold")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("lock", "mine")]


def test_a_file_system_without_locks_is_named(tmp_path):
    def refuse(_):
        raise OSError(errno.ENOLCK, "No locks available")

    with (
        pytest.warns(CheckpointWarning, match="kept: the file system has no locks; make sure"),
        hold_checkpoint(tmp_path / "kept", refuse),
    ):
        assert list((tmp_path / "kept").iterdir())
