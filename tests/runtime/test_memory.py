"""Tests of the memory pool: what it holds at most, and offers to the system."""

import collections
import errno
import mmap
import os
import re
import resource
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mstflow.runtime import memory

#: Blocks consist of whole pages: the system returns no less.
page_sizes = st.integers(1, 40).map(lambda pages: pages * mmap.PAGESIZE)


@pytest.mark.parametrize("runs", [0, 1])
@pytest.mark.parametrize("reserve", [0, 50 * mmap.PAGESIZE, memory._RESERVE])
@given(sizes=st.lists(page_sizes, max_size=40), data=st.data())
def test_the_pool_holds_little_more_than_the_peak(runs, reserve, sizes, data):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "_RESERVE", reserve)
        pool = memory._Pool()
        for _ in range(2 * runs):
            pool.begin()
            pool.end()
        check_that_the_pool_holds_little_more_than_the_peak(pool, sizes, data)


def check_that_the_pool_holds_little_more_than_the_peak(pool, sizes, data):
    leases, most = [], 0
    for place, size in enumerate(sizes):
        block = pool.take(size)
        assert block.size == size
        block.array()[:] = place % 256
        leases.append((block, place % 256))
        most = max(most, sum(block.size for block, _ in leases))
        assert pool.held == sum(block.size for block in [*pool.idle, *(b for b, _ in leases)])
        assert pool.held <= pool._bound(most)
        while leases and data.draw(st.booleans()):
            block, value = leases.pop(data.draw(st.integers(0, len(leases) - 1)))
            assert (block.array() == value).all()  # no other block overlaps it
            pool.give_back(block)
            for blocks in (pool.idle, pool.unused):
                assert not any(a.precedes(b) for a in blocks for b in blocks)
    for block, _ in leases:
        pool.give_back(block)
    assert (pool.leases, pool.used) == (0, 0)
    assert pool.held == sum(block.size for block in pool.idle)
    assert pool.held <= (pool._bound(most) if pool.reuses else 0)


def test_blocks_are_joined_where_mappings_are_arrays(monkeypatch):
    """Windows has no anonymous mappings."""
    monkeypatch.delattr(mmap, "MAP_ANONYMOUS", raising=False)
    monkeypatch.setattr(memory, "_RESERVE", 0)
    pool = memory._Pool()
    first, other = pool.take(2), pool.take(1)
    pool.give_back(first)
    half = pool.take(1)
    pool.begin()
    pool.give_back(other)
    pool.give_back(half)
    assert sorted(block.size for block in pool.idle) == [1, 2]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_released_memory_is_returned_to_the_system():
    """A part of a mapping is returned while another part is in use."""

    def resident():
        return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE

    size = 2**26
    pool, before = memory._Pool(), resident()
    block, after = pool.take(2 * size), pool.take(2**21)
    block.array()[:] = 1
    pool.begin()
    pool.give_back(block)
    small = pool.take(2**21)
    pool.most = 0
    pool.take(3 * size)  # there is no such block: the rest of the first one is released
    assert resident() - before < size
    assert (small.array() == 1).all()
    assert after.size == 2**21  # if no block were in use here, the first one would be extended


@pytest.fixture
def pool(monkeypatch):
    """A pool of its own."""
    monkeypatch.setattr(memory, "_pool", found := memory._Pool())
    return found


def test_blocks_are_kept_until_the_outermost_context_ends(pool):
    with memory.keeping_blocks():
        with memory.keeping_blocks():
            memory.empty(2**21, np.uint8)
        (block,) = pool.idle
        array = memory.empty(2**21, np.uint8)
        assert array.ctypes.data == block.array().ctypes.data
        del array
        assert (pool.leases, pool.held) == (0, 2**21)
    assert (pool.used, pool.most, pool.held, pool.idle) == (0, 0, 0, [])


@pytest.mark.skipif(not memory._OFFERS, reason="the system cannot take pages later")
def test_later_runs_keep_little_more_than_the_last_peaks_for_the_next_run(pool, monkeypatch):
    monkeypatch.setattr(pool, "peaks", collections.deque(maxlen=2))
    held = []
    for size, for_next in ((4, True), (5, True), (2, True), (2, True), (3, False), (1, True)):
        with memory.keeping_blocks(for_next):
            memory.empty(size * 2**21, np.uint8)
        held.append(pool.held >> 21)
    assert held == [0, 5, 5, 3, 0, 1]  # at most half more


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts page faults")
def test_a_repeated_run_writes_to_no_new_pages(pool):
    """Even though the idle blocks between others are too small for the last array."""
    page = 2**21
    for _ in range(4):
        with memory.keeping_blocks():  # of another function
            memory.empty(page, np.uint8)[:] = 1
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        with memory.keeping_blocks():
            arrays = [memory.empty(8 * page, np.uint8) for _ in range(4)]
            del arrays[2], arrays[0]
            arrays.append(memory.empty(12 * page, np.uint8))
            for array in arrays:
                array[:] = 1
            del arrays, array
    assert resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before < 8


def test_arrays_that_outlive_a_run_are_returned_like_its_idle_blocks(pool):
    """Such as the forest, of which a run returns a copy."""
    held = []
    for for_next in (True, True, False):
        with memory.keeping_blocks(for_next):
            array = memory.empty(2**21, np.uint8)
        del array
        held.append(pool.held >> 21)
    assert held == [0, int(memory._OFFERS), 0]


def test_a_limit_of_addresses(pool, monkeypatch):
    monkeypatch.setattr(memory, "addresses_are_limited", lambda: True)
    for _ in range(3):
        with memory.keeping_blocks():
            memory.empty(2**21, np.uint8)
        assert (pool.held, pool.idle, pool.unused) == (0, [], [])


def lazily_freed():
    """Return the bytes that the system takes from this process when it is short of memory."""
    rollup = Path("/proc/self/smaps_rollup").read_text()
    return 1024 * int(re.search(r"LazyFree: *(\d+)", rollup)[1])


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_idle_blocks_are_offered_to_the_system(pool):
    size = 2**26
    before = lazily_freed()
    for run in range(2):
        with memory.keeping_blocks():
            memory.empty(size, np.uint8)[:] = 1
            assert lazily_freed() == before
        assert lazily_freed() == before + run * size
    array = memory.empty(size, np.uint8)
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    array[:] = 2
    assert resource.getrusage(resource.RUSAGE_SELF).ru_minflt - faults < size / 2**21
    assert lazily_freed() == before
    del array  # outside of a run
    assert lazily_freed() == before + size


def test_a_system_that_cannot_take_pages_later_takes_them_now():
    class Mapping:
        def madvise(self, advice, *place):
            if advice == mmap.MADV_FREE:
                raise OSError(errno.EINVAL, "Invalid argument")
            taken.append((advice, place))

    taken = []
    memory._Block(Mapping(), 3, 5).offer()
    assert taken == [(mmap.MADV_DONTNEED, (3, 5))]


def test_too_large_arrays_raise_memory_error():
    state = [memory._pool.leases, memory._pool.used]
    with pytest.raises(MemoryError):
        memory.empty(2**60, np.uint8)
    assert [memory._pool.leases, memory._pool.used] == state


@pytest.mark.skipif(not hasattr(mmap, "MAP_ANONYMOUS"), reason="Windows reserves no addresses")
def test_a_system_may_have_fewer_addresses_than_the_pool_reserves(monkeypatch):
    """Such as a system of 32 bits."""
    monkeypatch.setattr(memory, "_RESERVE", 2**64)
    assert memory._Pool().take(2**21).size == 2**21


def ended(program):
    """Return the exit code of a process that runs a program."""
    imports = "import numpy as np; from mstflow.runtime import memory\n"
    return subprocess.run([sys.executable, "-c", imports + textwrap.dedent(program)]).returncode


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("kind", ["AS", "DATA"])
def test_other_arrays_use_the_addresses_below_a_limit(kind):
    program = f"""
        import resource
        from pathlib import Path
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + 5 * 2**30
        resource.setrlimit(resource.RLIMIT_{kind}, (limit, limit))
        pooled = memory.empty(2**21, np.uint8)
        np.empty(4 * 2**30, np.uint8)
    """
    assert ended(program) == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_can_use_the_pool_whose_lock_another_thread_had():
    program = """
        import os, signal, threading, time
        locked = threading.Event()
        def hold():
            with memory._pool.lock:
                locked.set()
                time.sleep(0.2)
        threading.Thread(target=hold).start()
        locked.wait()
        child = os.fork()
        if not child:
            signal.alarm(20)  # ends the process
        memory.empty(2**21, np.uint8)
        if child:
            assert os.waitpid(child, 0)[1] == 0
    """
    assert ended(program) == 0


def test_huge_pages_are_optional(pool, monkeypatch):
    """Linux without huge pages refuses the advice."""

    class Mapping(mmap.mmap):
        def madvise(self, *_):
            raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(mmap, "mmap", Mapping)
    block = memory.empty(2**20, np.uint8)
    block[:] = 1
    assert block.sum() == 2**20


def test_a_block_may_return_while_another_is_taken():
    """The garbage collector may run at any time, even between search and removal."""

    class Block(memory._Block):
        @property
        def size(self):
            if returning:
                pool.give_back(returning.pop())
            return self[2]

    pool = memory._Pool()
    returning = [pool.take(2), pool.take(2)]
    pool.idle = [Block(bytearray(8), 0, 8)]
    pool.held += 8
    assert pool.take(7).size == 7
    assert not pool.returned
    assert (pool.leases, pool.used, len(pool.idle)) == (1, 7, 2)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="Windows has no timers")
def test_interrupts_do_not_keep_the_lock():
    program = """
        import contextlib, signal, sys
        sys.unraisablehook = lambda *_: None  # an interrupt in a finalizer
        count = 0
        def interrupt(_, frame):
            global count
            if frame.f_globals is memory.__dict__:
                count += 1
                raise KeyboardInterrupt
        signal.signal(signal.SIGALRM, interrupt)
        signal.setitimer(signal.ITIMER_REAL, 1e-3, 1e-3)
        while count < 2000:
            with contextlib.suppress(KeyboardInterrupt):
                memory.empty(2**21, np.uint8)
        signal.setitimer(signal.ITIMER_REAL, 0)
        assert memory._pool.lock.acquire(timeout=5)
    """
    assert ended(program) == 0
