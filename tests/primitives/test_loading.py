"""When a process loads or compiles kernels."""

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from mstflow.primitives.loading import Losses, loading_pays


@pytest.mark.parametrize(
    ("are_cached", "lost", "expected"),
    [(True, 0.4, True), (True, 0.39, False), (False, 0.99, False), (False, 1.0, True)],
)
def test_when_kernels_are_loaded_and_compiled(are_cached, lost, expected):
    assert loading_pays(lost, 0.4, 1.0, lambda: are_cached) is expected


@pytest.mark.parametrize("loss", [0.01, 0.13, 0.4, 3.0])
@pytest.mark.parametrize("runs", [1, 2, 5, 40, 41, 1000])
def test_the_rule_takes_at_most_twice_the_best_choice(loss, runs):
    """The best choice loads kernels at the start, or never."""
    loading, losses = 0.4, Losses()
    lost = [losses.add(loss) for _ in range(runs)]
    rented = sum(not loading_pays(each, loading, 1.0, lambda: True) for each in lost)
    seconds = rented * loss + loading * (rented < runs)
    assert seconds <= 2 * min(runs * loss, loading) + 1e-9


def test_threads_add_to_one_sum():
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        losses = Losses()
        with ThreadPoolExecutor(4) as pool:
            sums = sorted(pool.map(losses.add, [1] * 2000))
    finally:
        sys.setswitchinterval(interval)
    assert sums == list(range(1, 2001))
