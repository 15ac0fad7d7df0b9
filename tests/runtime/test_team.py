"""Tests of teams: several threads return the results and raise the errors of one thread."""

import operator
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import mstflow
from mstflow.runtime import team
from mstflow.runtime.sizes import tuned


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
def test_surveys_equal_those_of_numpy(columns, threads, are_equal):
    u, v, weight = columns
    if are_equal:
        weight = np.broadcast_to(weight[:1], weight.shape)
    with team.sharing(threads):
        found = team.survey(u, v, weight)
    assert found[:2] == tuple(int(each.view(f"u{each.itemsize}").max()) for each in (u, v))
    is_signed = weight.dtype.kind not in "bu"
    assert (found.has_nan, found.may_be_signed) == (np.isnan(weight).any(), is_signed)


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("length", [0, 1, 2, 7, 30])
def test_order_and_copies_in_shares(threads, length):
    ascending = np.arange(length, dtype=np.int32)
    with team.sharing(threads):
        copy, ascend = team.copied(ascending, np.int64)
        assert ascend
        for place in range(1, length):  # also between two shares
            equal = ascending.copy()
            equal[place] -= 1
            assert not team.copied(equal, np.int64)[1]
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
        begun.wait(60)  # a call that has not begun is dropped
        if place < 2:
            message = str(place)
            raise ValueError(message)
        time.sleep(0.2)
        finished.append(place)

    with pytest.raises(ValueError, match="0"):
        team.Team(4).call(work, [(place,) for place in range(4)])
    assert sorted(finished) == [2, 3]


@pytest.mark.parametrize("size", [2, 3])
def test_a_call_may_use_the_same_team(size):
    """All threads may wait for calls that no thread has begun."""
    own = team.Team(size)

    def nested(depth):
        if not depth:
            return 1
        return sum(own.call(nested, [(depth - 1,)] * 3))

    assert own.call(nested, [(3,)] * 4) == [27] * 4


def test_helpers_end_if_a_thread_does_not_start(monkeypatch):
    """The helpers of `join_with_helpers` run until the first call ends.

    The system refuses threads only to a process that has too many, so the library's pool does.
    """
    submit, started = ThreadPoolExecutor.submit, []

    def submit_once(pool, *call):
        if started:
            raise RuntimeError("can't start new thread")
        started.append(call)
        return submit(pool, *call)

    ended = threading.Event()
    monkeypatch.setattr(ThreadPoolExecutor, "submit", submit_once)
    calls = [(ended.set,), (partial(ended.wait, 60),), (ended.wait,)]
    with pytest.raises(RuntimeError, match="start new thread"):
        team.Team(3).call(operator.call, calls)
    assert ended.is_set()
