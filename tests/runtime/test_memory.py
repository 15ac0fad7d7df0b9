"""Tests of the memory pool: it holds at most the peak in use, and nothing at the end."""

import errno
import mmap

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mstflow.runtime import memory


@given(sizes=st.lists(st.integers(1, 2**14), max_size=40), data=st.data())
def test_the_pool_holds_at_most_twice_the_peak(sizes, data):
    pool, leases, most = memory._Pool(), [], 0
    for size in sizes:
        block = pool.take(size)
        assert size <= len(block)
        assert len(block) <= 2 * size
        leases.append((block, size))
        most = max(most, sum(size for _, size in leases))
        lent = sum(len(block) for block, _ in leases)
        assert pool.held == lent + sum(map(len, pool.idle))
        assert pool.held <= 2 * most  # a block may be twice as large as requested
        while leases and data.draw(st.booleans()):
            pool.give_back(*leases.pop(data.draw(st.integers(0, len(leases) - 1))))
    for lease in leases:
        pool.give_back(*lease)
    assert (pool.leases, pool.used, pool.held, pool.idle) == (0, 0, 0, [])


def test_blocks_are_kept_until_the_outermost_context_ends(monkeypatch):
    monkeypatch.setattr(memory, "_pool", pool := memory._Pool())
    with memory.keeping_blocks():
        with memory.keeping_blocks():
            memory.empty(2**21, np.uint8)
        (block,) = pool.idle
        array = memory.empty(2**21, np.uint8)
        assert array.ctypes.data == block.ctypes.data
        del array
        assert (pool.leases, pool.held) == (0, 2**21)
    assert (pool.used, pool.most, pool.held, pool.idle) == (0, 0, 0, [])


def test_too_large_arrays_raise_memory_error():
    state = [memory._pool.leases, memory._pool.used]
    with pytest.raises(MemoryError):
        memory.empty(2**60, np.uint8)
    assert [memory._pool.leases, memory._pool.used] == state


def test_huge_pages_are_optional(monkeypatch):
    """Linux without huge pages refuses the advice."""

    class Mapping(mmap.mmap):
        def madvise(self, *_):
            raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(mmap, "mmap", Mapping)
    block = memory.fresh(2**20, np.uint8)
    block[:] = 1
    assert block.sum() == 2**20


def test_a_block_may_return_while_another_is_taken():
    """The garbage collector may run at any time, even between search and removal."""

    class Block:
        def __init__(self, size, before):
            self.size, self.before = size, before

        def __len__(self):
            self.before()
            return self.size

    pool = memory._Pool()
    returning = [pool.take(2), pool.take(2)]
    pool.idle = [Block(8, lambda: returning and pool.give_back(returning.pop(), 2))]
    pool.held += 8
    block = pool.take(7)
    assert len(block) == 8
    assert not pool.returned
    assert (pool.leases, pool.used, len(pool.idle)) == (1, 7, 2)
