"""Kernels over trees that several threads read and modify at once.

Each node has a parent, and a root is its own parent. Threads write only ancestors of a node, which
stay in the same set forever, so other threads may read the old or the new value. Values that other
threads modify are read by `load`, because the compiler could otherwise keep them in registers.
"""

import numpy as np

from ...runtime.intrinsics import compare_and_swap, fetch, load, store
from ...runtime.kernels import AHEAD, BLOCK, ONE, helper, kernel
from .trees import fetch_ends, join

#: A word has the rank of a node in its upper bits and the parent in its lower bits. The rank is at
#: most the binary logarithm of the number of nodes.
RANK = np.uint64(58)
PARENT = np.uint64(2**58 - 1)


@helper
def find(words, node):
    """Return the root of a node, and make its nodes on the path children of their grandparents."""
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
def update_root(words, node, rank, parent, new_rank):
    """Replace the parent and rank of a node if it is still a root of rank `rank`."""
    return compare_and_swap(words, node, rank << RANK | node, new_rank << RANK | parent)


@helper
def union(words, u, v, by_rank):
    """Join the sets of two nodes; return whether the sets differed.

    The root of lower rank becomes a child of the other root; ties are broken by number. If
    `by_rank` is false, all ranks remain 0.
    """
    while True:
        u, v = find(words, u), find(words, v)
        if u == v:
            return False
        rank_u, rank_v = load(words, u) >> RANK, load(words, v) >> RANK
        if (rank_u, u) > (rank_v, v):
            u, rank_u, v, rank_v = v, rank_v, u, rank_u
        if update_root(words, u, rank_u, v, rank_u):
            if by_rank and rank_u == rank_v:
                update_root(words, v, rank_v, v, rank_v + ONE)
            return True


@kernel
def unite(start, stop, words, u, v, by_rank, is_joining):
    """Join the sets of each pair, and write whether it joined two sets."""
    for i in range(start, stop):
        fetch_ends(u, v, i, stop - 1, words, PARENT)
        is_joining[i] = union(words, np.uint64(u[i]), np.uint64(v[i]), by_rank)


@kernel
def list_parents(start, stop, words, parent):
    """Write the parent of each node."""
    for i in range(start, stop):
        parent[i] = words[i] & PARENT


# Kruskal's algorithm with helper threads, which reject pairs ahead of the main thread.


@kernel
def join_undecided(u, v, parent, undecided, reached, joining):
    """Join the undecided pairs in order; return the numbers of joining and of undecided pairs."""
    hits = np.empty(BLOCK, np.uint64)
    joined = examined = 0
    for first in range(0, len(u), BLOCK):
        store(reached, np.uint64(0), np.uint64(first))
        count = np.uint64(0)
        for i in range(np.uint64(first), np.uint64(min(first + BLOCK, len(u)))):
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
    """Mark the pairs inside a set as decided, until the main thread overtakes this pass."""
    for first in range(start, stop, BLOCK):
        if load(reached, np.uint64(0)) > np.uint64(first):
            return
        last = min(first + BLOCK, stop) - 1
        for i in range(first, last + 1):
            fetch(parent, u[min(i + 2 * AHEAD, last)])
            fetch(parent, v[min(i + 2 * AHEAD, last)])
            if undecided[i] and is_inside(np.uint64(u[i]), np.uint64(v[i]), parent):
                undecided[i] = 0
