"""The work of compiled primitives does not grow with the number of threads."""

from itertools import pairwise

import numpy as np
import pytest

import mstflow
import primitive_cases  # noqa: F401  # it adds those of points
from mstflow.primitives import Backend, array_module
from mstflow.runtime.sizes import tuned
from mstflow.runtime.team import Team
from mstflow.testing.primitive_cases import CASES, Draws

pytestmark = pytest.mark.skipif("numba" not in mstflow.backends(), reason="needs numba")

#: Their helpers read later pairs again and again, while the main thread joins earlier ones.
READ_AGAIN = {"join_with_helpers"}


@pytest.fixture
def ranges(monkeypatch):
    """Return the list of the ranges that the shares of each call process."""
    found, call = [], Team.call

    def recording(self, function, arguments):
        calls = [*arguments]
        found.append([each[:2] for each in calls if len(each) > 1])
        return call(self, function, calls)

    monkeypatch.setattr(Team, "call", recording)
    return found


def are_ranges(shares):
    return all(isinstance(end, int) for share in shares for end in share)


@pytest.mark.parametrize("name", sorted(CASES.keys() - READ_AGAIN))
def test_no_element_is_in_two_shares_of_a_call(ranges, name):
    """A share is the first two arguments of a kernel, if these are numbers."""
    module = type(array_module(Backend("numba", wing="pointsets")))
    dtypes, build = CASES[name]
    for dtype in [each for each in dtypes if each and each.itemsize in (4, 8)] or dtypes:
        arguments, options, _ = build(Draws(500, dtypes.index(dtype)), dtype, 500)
        with tuned(smallest_share=3, sorted_together=2, lowered_together=2, run=4):
            getattr(module(16), name)(*arguments, **options)
    print("SHARED", name, max(map(len, ranges), default=0))
    for shares in filter(are_ranges, ranges):
        ends = np.array(sorted(shares), np.int64).ravel()
        assert (ends[1:] >= ends[:-1]).all(), shares


def test_helpers_read_again_only_after_progress(monkeypatch):
    """Otherwise they would slow down the main thread if there are more threads than processors."""
    from mstflow.primitives.compiled import shared_trees

    passes = []

    def recording(start, stop, *arguments):
        passes.append((start, int(arguments[-1][0])))
        reject(start, stop, *arguments)

    reject = shared_trees.reject_cycles
    monkeypatch.setattr(shared_trees, "reject_cycles", recording)
    u, v = np.random.default_rng(1).integers(0, 1000, (2, 300_000))
    with tuned(smallest_share=3):
        array_module(Backend("numba", 4)).join_with_helpers(u, v, 1000)
    for start in {start for start, _ in passes}:
        reached = [0, *(progress for first, progress in passes if first == start)]
        halved = [2 * (start - after) <= start - now + 1 for now, after in pairwise(reached)]
        assert all(halved)


def test_few_places_are_lowered_without_atomic_operations(ranges):
    """These take several times as long in a cache, so two threads lower separate rows instead."""
    u, v = np.random.default_rng(0).integers(0, 60, (2, 90), np.int32)
    with tuned(smallest_share=3, lowered_together=61):
        array_module(Backend("numba", 16)).scatter_argmin((u, v), u, 60)
    assert [len(shares) for shares in ranges if shares[-1][1] == 90] == [2]


@pytest.mark.parametrize(("lowered_together", "shares"), [(61, 1), (60, 3)])
def test_few_values_for_each_place_are_reduced_by_few_threads(ranges, lowered_together, shares):
    """Each thread has a row of places, and combining rows that fit in a cache takes long."""
    index = np.random.default_rng(0).integers(0, 60, 180, np.int32)
    with tuned(smallest_share=3, lowered_together=lowered_together):
        array_module(Backend("numba", 16)).scatter_reduce(index, index, 60, "sum", 0)
    assert [len(each) for each in ranges if each[-1][1] == 180] == [shares]


def test_four_columns_are_dealt_by_all_threads(ranges):
    index = np.random.default_rng(0).integers(0, 3, 180, np.int32)
    with tuned(smallest_share=3):
        array_module(Backend("numba", 4)).deal(index, 3, *[index] * 4)
    assert [len(each) for each in ranges if each[-1][1] == 180] == [4, 4]
