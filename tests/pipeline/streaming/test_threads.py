"""Threads read blocks ahead of those that compute, and the results keep the order."""

import threading
import time

import numpy as np
import pytest

from mstflow.pipeline.streaming.threads import in_order, read_in_order
from mstflow.primitives import Backend
from waiting import PATIENCE


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_a_block_is_read_while_others_are_computed(threads):
    is_read = [threading.Event() for _ in range(8)]

    def read(number):
        is_read[number].set()
        return (np.full(3, number),)

    def compute(block):
        assert is_read[threads].wait(PATIENCE)  # the first block that no thread can compute yet
        return int(block[0][0])

    calls = ((lambda number=number: read(number), compute) for number in range(8))
    assert [*read_in_order(calls, Backend("numpy", threads))] == [*range(8)]


@pytest.mark.parametrize("threads", [1, 2])
def test_no_more_threads_compute_than_the_backend_has(threads):
    lock, computing, most = threading.Lock(), 0, 0

    def compute(block):
        nonlocal computing, most
        with lock:
            computing += 1
            most = max(most, computing)
        time.sleep(0.001)
        with lock:
            computing -= 1

    calls = ((lambda: (), compute) for _ in range(20))
    assert len([*read_in_order(calls, Backend("numpy", threads))]) == 20
    assert most <= threads


def test_an_error_of_a_reader_ends_the_scan():
    def fail():
        raise OSError("unreadable")

    with pytest.raises(OSError, match="unreadable"):
        [*read_in_order(((fail, len) for _ in range(5)), Backend("numpy", 1))]
    assert [*in_order((lambda i=i: i for i in range(9)), Backend("numpy", 2))] == [*range(9)]
