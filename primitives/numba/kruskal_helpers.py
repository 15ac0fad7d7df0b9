"""Kernels of Kruskal's algorithm with helper threads, which reject pairs ahead of the main thread.

Helpers read `parent` while the main thread joins sets. An ancestor of a node stays in the same set
forever, so it is safe to read an old value.
"""

import numpy as np

from ...runtime.intrinsics import fetch, load, store
from ...runtime.kernels import AHEAD, BLOCK, ONE, helper, kernel
from .trees import join


@kernel
def join_undecided(start, stop, u, v, parent, undecided, reached, joining):
    """Join the undecided pairs in order; return the numbers of joining and of undecided pairs."""
    hits = np.empty(BLOCK, np.uint64)
    joined = examined = 0
    for first in range(start, stop, BLOCK):
        store(reached, np.uint64(0), np.uint64(first))
        count = np.uint64(0)
        for i in range(np.uint64(first), np.uint64(min(first + BLOCK, stop))):
            hits[count] = i
            count += np.uint64(undecided[i])
        for hit in range(count):
            ahead, i = hits[min(hit + np.uint64(AHEAD), count - ONE)], hits[hit]
            fetch(parent, u[ahead])
            fetch(parent, v[ahead])
            if join(np.uint64(u[i]), np.uint64(v[i]), parent):
                joining[joined] = i
                joined += 1
        examined += np.int64(count)
    return joined, examined


@helper
def is_inside(a, b, parent):
    """Return whether two nodes are found to be in the same set.

    No node is smaller than its parent. So the larger node climbs until both nodes are equal, or the
    larger node is a root. In the latter case, it is not an ancestor of the smaller node.
    """
    a, b = np.uint64(load(parent, a)), np.uint64(load(parent, b))  # mostly equal already
    while a != b:
        a, b = max(a, b), min(a, b)
        above = np.uint64(load(parent, a))
        if above == a:
            return False
        a = above
    return True


@kernel
def reject_cycles(start, stop, u, v, parent, undecided, reached):
    """Mark the pairs inside a set as decided, repeatedly until the main thread reaches the range.

    The last pass ends when the main thread overtakes it.
    """
    zero = np.uint64(0)
    while load(reached, zero) < start:
        for first in range(start, stop, BLOCK):
            if load(reached, zero) > np.uint64(first):
                return
            last = min(first + BLOCK, stop) - 1
            for i in range(first, last + 1):
                fetch(parent, u[min(i + 2 * AHEAD, last)])
                fetch(parent, v[min(i + 2 * AHEAD, last)])
                if undecided[i] and is_inside(np.uint64(u[i]), np.uint64(v[i]), parent):
                    undecided[i] = 0
