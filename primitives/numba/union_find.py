"""Compiled loops over sets that several threads read and join at once, without locks.

A node points at its parent, a root at itself. Whatever a thread writes to a node is an ancestor of
it, so that others may read the old or the new value. What they shall see change is read by `load`,
or the compiler might read it once and never again.
"""

import numpy as np

from ...runtime.intrinsics import AHEAD, ONE, compare_and_swap, fetch, helper, kernel, load

#: A word holds a node's parent below its rank, which is at most the logarithm of their number.
RANK = np.uint64(58)
PARENT = np.uint64(2**58 - 1)


@helper
def find(words, node):
    """Find the root, and let nodes skip their parents; a swap that changes nothing is left out."""
    while True:
        word = np.uint64(load(words, node))
        above = word & PARENT
        if above == node:
            return node
        higher = np.uint64(load(words, above)) & PARENT
        if higher != above:
            compare_and_swap(words, node, word, word & ~PARENT | higher)
        node = higher


@helper
def update(words, node, rank, parent, new_rank):
    """Make a root of that rank the child of another node, or raise its rank, if it still is one."""
    return compare_and_swap(words, node, rank << RANK | node, new_rank << RANK | parent)


@helper
def union(words, u, v, by_rank):
    """Without ranks all stay 0, and the larger number is the higher node."""
    while True:
        u, v = find(words, u), find(words, v)
        if u == v:
            return False
        rank_u, rank_v = load(words, u) >> RANK, load(words, v) >> RANK
        if (rank_u, u) > (rank_v, v):
            u, rank_u, v, rank_v = v, rank_v, u, rank_u
        if update(words, u, rank_u, v, rank_u):
            if by_rank and rank_u == rank_v:
                update(words, v, rank_v, v, rank_v + ONE)
            return True


@kernel(0, 3, [0, 1, 2, 3], [0, 1, 2], [1, 0, 3], True, [0] * 3)
def unite(start, stop, words, u, v, by_rank, is_joining):
    for i in range(start, stop):
        far, near = min(i + 2 * AHEAD, stop - 1), min(i + AHEAD, stop - 1)
        fetch(words, u[far])
        fetch(words, v[far])
        fetch(words, words[u[near]] & PARENT)
        fetch(words, words[v[near]] & PARENT)
        is_joining[i] = union(words, np.uint64(u[i]), np.uint64(v[i]), by_rank)


@kernel(0, 3, [0, 0, 1], [0] * 3)
def list_parents(start, stop, words, parent):
    for i in range(start, stop):
        parent[i] = words[i] & PARENT
