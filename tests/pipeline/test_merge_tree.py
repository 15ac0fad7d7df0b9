"""Merge trees: every leaf is joined once, in order, and few results exist at a time."""

import itertools

import pytest

from mstflow.pipeline.execute import joins_after


@pytest.mark.parametrize("split_every", [2, 3, 4, 7])
@pytest.mark.parametrize("leaves", [*range(1, 20), 64, 65, 100])
def test_a_merge_tree_joins_neighbours(leaves, split_every):
    waiting, joined = [], set()
    levels = next(n for n in itertools.count() if split_every**n >= leaves)
    for leaf in range(leaves):
        waiting.append([leaf])
        for level, number, size in joins_after(leaf, leaves, split_every):
            assert 2 <= size <= split_every
            assert (level, number) not in joined
            joined.add((level, number))
            waiting[-size:] = [list(itertools.chain(*waiting[-size:]))]
        assert len(waiting) <= levels * (split_every - 1) + 1
    assert waiting == [list(range(leaves))]
    assert max((level for level, _ in joined), default=0) == levels
