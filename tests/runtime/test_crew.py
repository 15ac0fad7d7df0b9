"""Tests of crews: kernels on several threads, with errors, forks, exits and concurrent callers."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import mstflow
from mstflow.errors import KernelError
from mstflow.runtime import crew as crew_module
from mstflow.runtime import team as team_module
from mstflow.runtime.native import Each, Kernels
from mstflow.runtime.team import Step, Team

pytestmark = [
    pytest.mark.skipif("numba" not in mstflow.backends(), reason="needs numba"),
    pytest.mark.skipif(not crew_module.FUTEX, reason="crews need Linux"),
]
elements = Kernels("mstflow.primitives.numba.elements")
#: A kernel that fails for one place, and writes to its row for the others.
FAILING = """
from mstflow.runtime.intrinsics import kernel

@kernel(2, 1, [3, 4])
def write_or_fail(place, wrong, row):
    if place == wrong:
        raise ValueError
    row[:] = place
    return place
"""
#: Ends while the threads of a crew look for work, which they do forever.
PROGRAM = """
import numpy as np
from mstflow.runtime import crew, native, team
from mstflow.runtime.native import Kernels
crew._LOOKS, team.processors = 2**60, lambda: 64
fill, out = Kernels("mstflow.primitives.numba.elements").fill, np.zeros(9, np.uint64)
threads = team.Team(4)
for _ in range(50):
    threads.run(fill, 4, native.Each((0, 2, 4, 6)), 9, 1, out)
print(out.sum())
"""


@pytest.fixture
def write_or_fail(tmp_path, monkeypatch):
    (tmp_path / "mstflow_failing.py").write_text(FAILING)
    monkeypatch.syspath_prepend(tmp_path)
    return Kernels("mstflow_failing").write_or_fail


@pytest.fixture(params=[0, 2**12])
def looks(request, monkeypatch):
    """Let idle threads sleep at once, or look for work even without a processor for each."""
    monkeypatch.setattr(crew_module, "_LOOKS", request.param)
    monkeypatch.setattr(team_module, "processors", lambda: 64)


def fill(team, count, rows):
    """Write to each row by a kernel; return its sum."""
    size = rows.shape[1]
    team.run(elements.fill, count, 0, size, Each(range(count)), Each(rows))
    return rows.sum()


@pytest.mark.usefixtures("looks")
@pytest.mark.parametrize("threads", [2, 4, 8, 33])
def test_each_share_runs_once(threads):
    team = Team(threads)
    for count in [*range(1, threads + 1)] * 3 + [threads] * 200:
        rows = np.zeros((count, 3), np.int64)
        assert fill(team, count, rows) == 3 * count * (count - 1) // 2
        if count == 2:
            time.sleep(0.001)  # idle threads fall asleep


@pytest.mark.usefixtures("looks")
def test_results_and_errors_come_in_order(write_or_fail):
    team, rows = Team(8), np.zeros((8, 5), np.int32)
    assert team.run(write_or_fail, 8, Each(range(8)), 8, Each(rows)) == [*range(8)]
    assert rows.tolist() == [[place] * 5 for place in range(8)]
    rows[:] = 0
    with pytest.raises(KernelError, match="write_or_fail raised an exception"):
        team.run(write_or_fail, 8, Each(range(8)), 3, Each(rows))
    assert rows[:, 0].tolist() == [0, 1, 2, 0, 4, 5, 6, 7]  # all other shares have ended
    assert fill(team, 8, np.zeros((8, 3), np.int64)) == 84


@pytest.mark.usefixtures("looks")
@pytest.mark.parametrize("threads", [2, 4, 8])
def test_steps_follow_one_another(threads):
    team = Team(threads)
    for count in [*range(1, threads + 1)] * 50:
        rows, sums = np.zeros((count, 9), np.int64), np.zeros((count, 9), np.int64)
        later = np.zeros(9 * count, np.int64)
        shares = Each(range(count)), Each(rows)
        ranges = Each(range(0, 9 * count, 9)), Each(range(9, 9 * count + 9, 9))
        every, values = np.arange(9 * count)[::-1].copy(), rows.ravel()
        team.run_all(
            Step(elements.fill, count, (0, 9, *shares)),
            Step(elements.gather, count, (*ranges, values, every, later)),
            Step(elements.move, 1, (0, 0, 9 * count, later, sums.ravel())),
        )
        assert rows.tolist() == [[place] * 9 for place in range(count)]
        assert np.array_equal(sums, rows[::-1])


@pytest.mark.usefixtures("looks")
def test_a_step_after_an_error_does_not_begin(write_or_fail):
    team, rows = Team(4), np.zeros((4, 5), np.int32)
    failing = Step(write_or_fail, 4, (Each(range(4)), 2, Each(rows)))
    for _ in range(3):
        with pytest.raises(KernelError, match="write_or_fail raised an exception"):
            team.run_all(failing, Step(elements.fill, 4, (0, 5, 7, Each(rows))))
        assert rows[:, 0].tolist() == [0, 1, 0, 3]
    with team._is_claimed, pytest.raises(KernelError):  # as if another caller used the threads
        team.run_all(failing, Step(elements.fill, 4, (0, 5, 7, Each(rows))))
    assert rows[:, 0].tolist() == [0, 1, 0, 3]


@pytest.mark.parametrize("values", [[3, 1, 2], np.array([3, 1, 2], np.uint32)])
def test_integers_differ_between_shares(values):
    out = np.zeros(3, np.int64)
    Team(4).run(elements.move, 3, Each(values), Each(range(3)), 1, np.arange(10, 14), out)
    assert out.tolist() == [13, 11, 12]


def test_different_kernels_run_together(write_or_fail):
    rows = np.zeros((2, 9), np.int64)
    first = elements.fill, (1, 3, 7, rows[0])
    results = Team(4).together(first, (write_or_fail, (5, 0, rows[1])))
    assert results == [None, 5]
    assert rows.tolist() == [[0, 7, 7, *[0] * 6], [5] * 9]


@pytest.mark.usefixtures("looks")
def test_concurrent_callers_share_a_team():
    team, sums = Team(4), []

    def call():
        sums.extend(fill(team, 4, np.zeros((4, 1000), np.int64)) for _ in range(100))

    callers = [threading.Thread(target=call) for _ in range(5)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert sums == [6000] * 500


def test_interrupts_leave_the_threads_to_later_calls():
    def interrupt(*_):
        raise InterruptedError

    def run_until_interrupted(seconds):
        signal.setitimer(signal.ITIMER_REAL, seconds)
        while True:
            fill(team, 2, rows)

    team, rows = Team(4), np.zeros((2, 3), np.int64)
    fill(team, 2, rows)  # starts a thread
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for turn in range(5000):
            with pytest.raises(InterruptedError):
                run_until_interrupted(1e-5 * (1 + turn % 10))
            assert not team._is_claimed.locked()
    finally:
        signal.signal(signal.SIGALRM, before)


def test_a_system_without_further_threads(monkeypatch):
    def refuse(_):
        message = "can't start new thread"
        raise RuntimeError(message)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert fill(Team(4), 4, np.zeros((4, 3), np.int64)) == 18


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_starts_threads_of_its_own():
    team = Team(4)
    assert fill(team, 3, np.zeros((3, 4), np.int64)) == 12
    child = os.fork()
    if not child:
        try:
            os._exit(int(fill(team, 3, np.zeros((3, 4), np.int64)) != 12))
        finally:  # after an error
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert fill(team, 3, np.zeros((3, 4), np.int64)) == 12


def test_a_process_ends_while_threads_look_for_work():
    command = [sys.executable, "-c", PROGRAM]
    assert subprocess.check_output(command, timeout=60) == b"9\n"
