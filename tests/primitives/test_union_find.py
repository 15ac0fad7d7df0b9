"""Tests of the kernels whose threads share sets: visibility of writes, and termination."""

import numpy as np
import pytest

from mstflow.primitives.compiled.arrays import NumbaArrays, shared_trees
from mstflow.primitives.compiled.shared_trees import PARENT, RANK
from mstflow.runtime.sizes import tuned
from mstflow.runtime.team import Team


def test_a_helper_rejects_pairs_that_the_main_thread_has_not_reached():
    parent = np.array([0, 0, 1, 3, 3], np.uint32)
    u, v = np.array([9, 2, 2, 4], np.uint32), np.array([9, 0, 3, 4], np.uint32)
    undecided, reached = np.ones(4, np.uint8), np.zeros(1, np.uint64)
    arguments = 1, 4, u, v, parent, undecided, reached
    shared_trees.reject_cycles(*arguments)
    assert undecided.tolist() == [1, 0, 1, 0]
    parent[3] = 0  # as if the main thread joined them
    shared_trees.reject_cycles(*arguments)
    assert undecided.tolist() == [1, 0, 0, 0]
    undecided[:], reached[0] = 1, 2
    shared_trees.reject_cycles(*arguments)
    assert undecided.tolist() == [1, 1, 1, 1]
    assert parent.tolist() == [0, 0, 1, 0, 3]


def test_helpers_end_if_the_main_thread_fails(monkeypatch):
    def fail(*_):
        raise MemoryError

    monkeypatch.setattr(shared_trees, "join_undecided", fail)  # no input makes this kernel fail
    u = np.arange(40)
    with tuned(smallest_share=2), pytest.raises(MemoryError):
        NumbaArrays(4).join_with_helpers(u, u, 40)


@pytest.mark.parametrize("by_rank", [True, False])
def test_concurrent_unions_of_the_same_pairs(by_rank):
    """Each thread joins all pairs of a path, so threads compete for each union."""
    size, team = 20_000, Team(8)
    pairs = np.random.default_rng(4).permutation(size - 1).astype(np.uint64)
    for _ in range(20):
        words = np.arange(size, dtype=np.uint64)

        def unite(part, words=words):
            u, is_joining = np.roll(pairs, part), np.zeros(len(pairs), np.uint8)
            shared_trees.unite(0, len(u), words, u, u + np.uint64(1), by_rank, is_joining)
            return int(is_joining.sum())

        joined = team.call(unite, [(part,) for part in range(8)])
        assert sum(joined) == size - 1
        parent = (words & PARENT).astype(np.int64)
        assert len(set(NumbaArrays().pointer_jump(parent).tolist())) == 1
        assert int((words >> RANK).max()) <= (15 if by_rank else 0)
