"""Tests of teams: several threads return the results and raise the errors of one thread."""

import operator
import os
import signal
import subprocess
import sys
import threading
import time
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import mstflow
from mstflow.runtime import columns, team
from mstflow.runtime.sizes import tuned
from waiting import PATIENCE


@pytest.fixture(scope="module", autouse=True)
def _small_shares():
    with tuned(smallest_share=3):
        yield


ids = st.sampled_from(["i4", "u4", "i8", "u8"])


@given(
    st.integers(1, 40).flatmap(
        lambda length: st.tuples(
            arrays(ids, length),
            arrays(ids, length),
            arrays(st.sampled_from(["?", "u1", "i2", "f2", "f4", "f8", "u8", "i8"]), length),
        )
    ),
    st.integers(1, 5),
    st.booleans(),
)
def test_surveys_equal_those_of_numpy(graph, threads, are_equal):
    u, v, weight = graph
    if are_equal:
        weight = np.broadcast_to(weight[:1], weight.shape)
    with team.sharing(threads):
        found = columns.survey(u, v, weight)
    assert found[:2] == tuple(int(each.view(f"u{each.itemsize}").max()) for each in (u, v))
    is_signed = weight.dtype.kind not in "bu"
    assert (found.has_nan, found.may_be_signed) == (np.isnan(weight).any(), is_signed)


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("length", [0, 1, 2, 7, 30])
def test_order_and_copies_in_shares(threads, length):
    ascending = np.arange(length, dtype=np.int32)
    with team.sharing(threads):
        copy, ascend = columns.copied(ascending, np.int64)
        assert ascend
        for place in range(1, length):  # also between two shares
            equal = ascending.copy()
            equal[place] -= 1
            assert not columns.copied(equal, np.int64)[1]
    np.testing.assert_array_equal(copy, np.arange(length, dtype=np.int64), strict=True)
    assert not np.shares_memory(copy, ascending)


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("edge", [0, 17, 39])
def test_errors_name_the_edge_in_any_share(threads, edge):
    u, weight = np.zeros(40, int), np.ones(40)
    weight[edge] = np.nan
    with pytest.raises(mstflow.errors.GraphError, match=f"edge {edge}: the weight is NaN"):
        mstflow.minimum_spanning_forest((u, u, weight), threads=threads)
    u[edge] = -1
    with pytest.raises(mstflow.errors.GraphError, match=f"edge {edge}: v is -1"):
        mstflow.minimum_spanning_forest((u * 0, u, u), threads=threads)


def test_an_error_propagates_after_the_other_calls_have_ended():
    begun, finished = threading.Barrier(4), []

    def work(place):
        if place == 4:
            finished.append(place)  # no call begins after a failure
        begun.wait(PATIENCE)
        if place < 2:
            message = str(place)
            raise ValueError(message)
        time.sleep(0.2)
        finished.append(place)

    with pytest.raises(ValueError, match="0"):
        team.Team(4).call(work, [(place,) for place in range(5)])
    assert sorted(finished) == [2, 3]


@pytest.mark.parametrize("seconds", [0, 60])
def test_an_interrupt_propagates_after_the_other_calls_have_ended(seconds):
    """It comes while the main thread waits for the other call, or while it computes."""
    main, begun, finished = threading.main_thread(), threading.Barrier(2), []

    def work(_):
        begun.wait(PATIENCE)
        if threading.current_thread() is main:
            time.sleep(seconds)
            return
        time.sleep(0.1)
        signal.pthread_kill(main.ident, signal.SIGINT)
        time.sleep(0.2)
        finished.append(seconds)

    with pytest.raises(KeyboardInterrupt):
        team.Team(2).call(work, [(0,), (1,)])
    assert finished == [seconds]


@pytest.mark.parametrize("size", [2, 3])
def test_a_call_may_use_the_same_team(size):
    """All threads may wait for calls that no thread has begun."""
    own = team.Team(size)

    def nested(depth):
        if not depth:
            return 1
        return sum(own.call(nested, [(depth - 1,)] * 3))

    assert own.call(nested, [(3,)] * 4) == [27] * 4


def test_several_threads_may_call_teams_at_once():
    results = {}

    def calls(caller):
        results[caller] = [team.Team(size).call(pow, [(caller, 2)] * 5) for size in (2, 3, 8) * 100]

    callers = [threading.Thread(target=calls, args=(caller,)) for caller in range(6)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(PATIENCE)
    assert results == {caller: [[caller**2] * 5] * 300 for caller in range(6)}


def _printed(code):
    # Python 3.12 and later warn of a fork while there are other threads.
    command = [sys.executable, "-W", "ignore:This process:DeprecationWarning", "-c", code]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert not ran.stderr
    return ran.stdout.split("\n")[:-1]


def test_threads_end_at_exit():
    """Functions that are registered earlier run later."""
    code = """
import atexit, threading
atexit.register(lambda: print(threading.active_count()))
from mstflow.runtime.team import Team
Team(3).call(abs, [(1,), (2,), (3,)])
print(threading.active_count())
"""
    assert _printed(code) == ["3", "1"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_starts_its_own_threads():
    code = """
import os, threading
from mstflow.runtime.team import Team
def names():
    barrier = threading.Barrier(3)
    return len(Team(3).call(lambda place: barrier.wait(300), [(1,), (2,), (3,)]))
names()
if os.fork() == 0:
    print(names(), threading.active_count(), flush=True)
    os._exit(0)
os.wait()
"""
    assert _printed(code) == ["3 3"]


def test_calls_use_the_threads_that_the_system_allows(monkeypatch):
    """A call may wait for the end of an earlier one, as in `join_with_helpers`."""

    def refuse(_):
        raise RuntimeError("can't start new thread")

    ended = threading.Event()
    monkeypatch.setattr(threading.Thread, "start", refuse)  # no setting refuses threads to root
    monkeypatch.setattr(team, "_workers", team._Workers())
    calls = [(ended.set,), (partial(ended.wait, PATIENCE),), (ended.is_set,)]
    assert team.Team(3).call(operator.call, calls) == [None, True, True]
