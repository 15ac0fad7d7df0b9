"""Kernels over trees of nodes; each node has a parent, and a root is its own parent."""

import numpy as np

from ...runtime.intrinsics import AHEAD, fetch, helper, kernel


@kernel(0, 4, [1, 0, 1, 3], [0] * 4)
def cut_mirrors(start, stop, target, parent):
    """Cut one of two opposite arrows; return the number of roots in the range."""
    roots = 0
    for i in range(start, stop):
        fetch(target, target[min(i + AHEAD, stop - 1)])
        there = target[i]
        is_cut = (i < there) & (target[there] == i)
        parent[i] = there ^ ((there ^ np.uint64(i)) * np.uint64(is_cut))
        roots += parent[i] == i
    return roots


@kernel(0, 4, 0, 2, [0, 0, 1, 3], [5, 6, 7, 8], [0] * 2)
def list_others(start, stop, place, end, parent, ids, out):
    """Write the ids of the nodes that are not roots, from `place` up to `end`."""
    for i in range(start, stop):
        if place < end:
            out[place] = ids[i]
        place += parent[i] != i


@helper
def find_root(node, parent):
    """Return the root of a node, and halve the path to it.

    A child of a root is not written, so threads can share its cache line.
    """
    above = np.uint64(parent[node])
    while parent[above] != above:
        parent[node] = parent[above]
        node = np.uint64(parent[above])
        above = np.uint64(parent[node])
    return above


@kernel(0, 4, [0, 0, 1, 2], [0] * 4)
def find_roots(start, stop, parent, root):
    """Find the root of each node.

    Threads share `parent`. They write only ancestors of a node, so the old and the new value lead
    to the same root. But a late write may undo a newer write. So the roots are written to a
    separate array.
    """
    for i in range(start, stop):
        fetch(parent, parent[min(i + 2 * AHEAD, stop - 1)])
        fetch(parent, parent[parent[min(i + AHEAD, stop - 1)]])
        root[i] = find_root(np.uint64(i), parent)


@kernel(0, 4, [0, 0, 2, 2])
def count_roots(start, stop, root):
    """Return the number of roots in the range."""
    count = 0
    for i in range(start, stop):
        count += root[i] == i
    return count


@kernel([0, 0, 2, 2], [0] * 4)
def number_in_order(root, out):
    """Give numbers to trees in one pass; return the count, or -1 if a node precedes its root."""
    number, last = np.uint64(0), len(root) - 1
    for i in range(len(root)):
        fetch(out, root[min(i + AHEAD, last)])
        if root[i] > np.uint64(i):
            return -1
        out[i] = number
        out[i] = out[root[i]]
        number += root[i] == np.uint64(i)
    return np.int64(number)


@kernel(0, 4, 0, 2, [1, 1, 2, 1], [0] * 4)
def number_roots(start, stop, number, end, root, out):
    """Assign consecutive numbers from `number` on to the roots in the range."""
    for i in range(start, stop):
        out[i] = number
        number += root[i] == i


@helper
def join(a, b, parent):
    """Make the smaller of two roots the root of both sets; return whether the roots differed."""
    left, right = np.uint64(parent[a]), np.uint64(parent[b])
    if left == right:  # the most frequent case
        return False
    left, right = np.uint64(parent[left]), np.uint64(parent[right])
    if left == right:
        parent[a] = parent[b] = left
        return False
    left, right = find_root(left, parent), find_root(right, parent)
    root = min(left, right)
    parent[a] = parent[b] = parent[max(left, right)] = root
    return left != right


@kernel([0, 1, 2], [1, 0, 3], [0, 1, 2, 3], [0] * 3)
def join_in_order(u, v, parent, joining):
    """Join pairs by union-find; the root of a set is its smallest node.

    Return the number of pairs that joined two sets; write their positions to `joining`.
    """
    count = 0
    last = len(u) - 1
    for i in range(len(u)):
        far, near = min(i + 2 * AHEAD, last), min(i + AHEAD, last)
        fetch(parent, u[far])
        fetch(parent, v[far])
        fetch(parent, parent[u[near]])
        fetch(parent, parent[v[near]])
        if join(np.uint64(u[i]), np.uint64(v[i]), parent):
            joining[count] = i
            count += 1
    return count


@kernel([0, 0, 1, 2])
def flatten(parent):
    """Make the root the parent of each node; no node may be smaller than its parent."""
    for i in range(len(parent)):  # the parents of smaller nodes are roots already
        parent[i] = parent[parent[i]]
