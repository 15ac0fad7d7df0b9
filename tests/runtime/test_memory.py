"""The memory pool: its blocks, its limits, and the pages that the system may take back."""

import errno
import mmap
import os
import re
import resource
import signal
import sys
import textwrap
import threading
import weakref
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mstflow.runtime import memory
from processes import run_python

sizes = st.lists(st.integers(1, 40).map(lambda pages: pages * memory.PAGE), max_size=40)


def block(lease):
    return np.asarray(lease)


@given(sizes, st.data())
def test_blocks_do_not_overlap(sizes, data):
    pool, leases = memory.Pool(), []
    runs = data.draw(st.integers(0, 3))
    for _ in range(runs):
        with pool.keeping_blocks():
            pass
    with pool.keeping_blocks():
        for place, size in enumerate(sizes):
            leases.append((pool.take(size), place))
            assert len(block(leases[-1][0])) == size
            block(leases[-1][0])[::4096] = place
            while leases and data.draw(st.booleans()):
                lease, value = leases.pop(data.draw(st.integers(0, len(leases) - 1)))
                assert (block(lease)[::4096] == value).all()
                del lease
            assert not any(one[1] == two[0] for one in pool.free for two in pool.free)
            in_use = sum(len(block(lease)) for lease, _ in leases)
            assert in_use + sum(stop - start for start, stop in pool.free) == pool.size
        lease = None
        leases.clear()
    assert pool.leases == 0
    assert bool(pool.free) == (pool.mapping is not None) == bool(sizes and runs)


@pytest.fixture
def pool():
    """A pool that only one test uses."""
    with mock.patch.object(memory, "_pool", memory.Pool()) as pool:
        yield pool


def counted(pool, name):
    """Return the bytes of the range of a pool that Linux counts under a name.

    Other threads of this process allocate and free memory, too. Linux joins adjacent ranges, such
    as those of two pools, unless their flags differ.
    """
    if pool.mapping is None:
        return 0
    pool.mapping.madvise(mmap.MADV_DONTDUMP)
    first, total, overlaps = np.frombuffer(pool.mapping, "u1").ctypes.data, 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if found := re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line):
            start, stop = (int(end, 16) for end in found.groups())
            overlaps = start < first + len(pool.mapping) and first < stop
        elif overlaps and line.startswith(f"{name}:"):
            total += 1024 * int(line.split()[1])
    return total


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_pages_are_kept_until_the_outermost_context_ends(pool):
    size = 2**26
    with memory.keeping_blocks():
        with memory.keeping_blocks():
            memory.empty(size, np.uint8)[:] = 1
        assert counted(pool, "Rss") > size // 2
        array = memory.empty(size, np.uint8)
        assert (array == 1).all()
        mapping = weakref.ref(pool.mapping)
        del array
    assert (pool.leases, pool.mapping, pool.free) == (0, None, [])
    assert mapping() is None


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_pages_are_released_while_another_block_is_in_use(pool):
    size = 2**26
    with memory.keeping_blocks():
        arrays = [memory.empty(size, np.uint8) for _ in range(3)]
        for array in arrays:
            array[:] = 1
        assert counted(pool, "Rss") > 2.5 * size
        del arrays[1], array
    assert counted(pool, "Rss") < 2.5 * size
    assert all((array == 1).all() for array in arrays)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts page faults")
def test_a_repeated_run_writes_to_no_new_pages(pool):
    """The idle blocks between others are too small for the last array."""
    page = 2**21
    for _ in range(4):
        with memory.keeping_blocks():  # of another function
            memory.empty(page, np.uint8)[:] = 1
        before = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
        with memory.keeping_blocks():
            arrays = [memory.empty(8 * page, np.uint8) for _ in range(4)]
            del arrays[2], arrays[0]
            arrays.append(memory.empty(12 * page, np.uint8))
            for array in arrays:
                array[:] = 1
            del arrays, array
    assert resource.getrusage(resource.RUSAGE_THREAD).ru_minflt - before < 8


def test_arrays_that_outlive_a_run_are_returned_like_its_free_blocks(pool):
    """The forest is such an array: a run returns a copy of it."""
    held = []
    for for_next in (True, True, False):
        with memory.keeping_blocks(for_next):
            array = memory.empty(2**21, np.uint8)
        del array
        held.append(pool.mapping is not None)
    assert held == [False, hasattr(mmap, "MADV_FREE"), False]


def test_larger_arrays_than_the_range_come_from_numpy():
    with mock.patch.object(memory, "_pool", memory.Pool(memory.PAGE)) as pool:
        arrays = [memory.empty(2**21, np.uint8) for _ in range(3)]
        assert pool.leases == bool(pool.mapping)
    assert [len(array) for array in arrays] == [2**21] * 3


def offered(pool):
    """Return the bytes that Linux takes from a pool when it is short of memory.

    It counts the last few small pages later.
    """
    return pytest.approx(counted(pool, "LazyFree"), abs=memory.PAGE)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_idle_blocks_are_offered_to_the_system(pool):
    size = 2**26
    for run in range(2):
        with memory.keeping_blocks():
            memory.empty(size, np.uint8)[:] = 1
            assert offered(pool) == 0
        assert offered(pool) == run * size
    array = memory.empty(size, np.uint8)
    faults = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
    array[:] = 2
    assert resource.getrusage(resource.RUSAGE_THREAD).ru_minflt - faults < size / 2**21
    assert offered(pool) == 0
    del array  # outside of a run
    assert offered(pool) == size


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_an_idle_process_keeps_at_most_a_bound(pool):
    size, most = 2**26, 2**24
    for _ in range(3):
        with memory.keeping_blocks(most=most):
            memory.empty(size, np.uint8)[:] = 1
    assert offered(pool) == most
    assert counted(pool, "Rss") < size // 2
    pool.trim()
    assert offered(pool) == 0


def test_too_large_arrays_raise_memory_error():
    leases = memory.pool().leases
    with pytest.raises(MemoryError):
        memory.empty(2**60, np.uint8)
    assert memory.pool().leases == leases


@pytest.mark.skipif(not hasattr(mmap, "MAP_ANONYMOUS"), reason="Windows has no such range")
def test_a_system_may_have_fewer_addresses_than_the_range():
    """A system of 32 bits has fewer."""
    with mock.patch.object(memory, "_pool", memory.Pool(2**64)) as pool:
        assert len(memory.empty(2**21, np.uint8)) == 2**21
        assert (pool.leases, pool.mapping) == (0, None)


def ended(program):
    """Return the exit code of a process that runs a program."""
    imports = "import numpy as np; from mstflow.runtime import memory\n"
    return run_python("-c", imports + textwrap.dedent(program)).returncode


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
        assert memory.pool().mapping is None
        np.empty(4 * 2**30, np.uint8)
    """
    assert ended(program) == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_can_use_the_pool_whose_lock_another_thread_had():
    program = """
        import os, signal, threading, time
        locked = threading.Event()
        def hold():
            with memory.pool().lock:
                locked.set()
                time.sleep(0.2)
        threading.Thread(target=hold).start()
        locked.wait()
        child = os.fork()
        if not child:
            signal.alarm(300)  # ends the process
        memory.empty(2**21, np.uint8)
        if child:
            assert os.waitpid(child, 0)[1] == 0
    """
    assert ended(program) == 0


def test_huge_pages_are_optional(pool, monkeypatch):
    """Linux without huge pages refuses the advice, which no parameter of the pool can imitate."""

    class Mapping(mmap.mmap):
        def madvise(self, *_):
            raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(mmap, "mmap", Mapping)
    block = memory.empty(2**20, np.uint8)
    block[:] = 1
    assert block.sum() == 2**20


class Collecting:
    """A lock that frees a list as soon as it is held, as the garbage collector may."""

    def __init__(self, leases):
        self._lock, self._leases, self.locked = (
            threading.Lock(),
            leases,
            lambda: self._lock.locked(),
        )

    def __enter__(self):
        self._lock.acquire()
        self._leases.clear()

    def __exit__(self, *_):
        self._lock.release()


def test_a_block_may_return_while_another_is_taken(pool):
    returning = [pool.take(memory.PAGE) for _ in range(2)]
    pool.lock = Collecting(returning)
    lease = pool.take(memory.PAGE)
    assert not pool.returned
    assert (pool.leases, len(pool.free)) == (1, 1)
    del lease


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
        assert memory.pool().lock.acquire(timeout=60)
    """
    assert ended(program) == 0
