"""Kernels over paths in trees and ranges of arrays."""

import numpy as np

from ...runtime.intrinsics import AHEAD, NONE, ONE, fetch, helper, highest_bit, kernel
from ..paths import BLOCK

_BLOCK, _ZERO = np.uint64(BLOCK), np.uint64(0)


@kernel([1, 2, 2], [1, 2, 3], [0] * 3)
def path_sums(parent, values, out):
    """Write the sum of the values of each node and its ancestors, which have larger numbers."""
    for i in range(len(parent) - 1, -1, -1):
        fetch(out, parent[max(i - AHEAD, 0)])
        out[i] = 0
        above = out[parent[i]]
        out[i] = values[i] + above


@kernel([0, 1], [1, 2], [[0] * 3] * 3)
def count_neighbors(u, v, nodes):
    """Count the edges of each node, and combine their other ends and positions by XOR."""
    last = len(u) - 1
    for i in range(len(u)):
        ahead = min(i + AHEAD, last)
        fetch(nodes, np.uint64(3) * u[ahead])
        fetch(nodes, np.uint64(3) * v[ahead])
        a, b = np.uint64(u[i]), np.uint64(v[i])
        for end, other in ((a, b), (b, a)):
            nodes[end, 0] += ONE
            nodes[end, 1] ^= other
            nodes[end, 2] ^= np.uint64(i)


@kernel([[1, 1, 0], [2, 1, 1], [1, 1, 1]], [0] * 3, [0] * 3, [0] * 3)
def strip_leaves(nodes, number, parent, edge):
    """Strip leaves from the trees until no node remains, and number the nodes in this order.

    A leaf is a node with one remaining edge. For a leaf, `nodes` has the other end and the position
    of this edge. A node comes after its children. `parent` has the old number of each parent. The
    root of a tree is its own parent.
    """
    count = _ZERO
    for i in range(len(nodes)):
        node = np.uint64(i)
        while nodes[node, 0] == 1:
            above, place = np.uint64(nodes[node, 1]), nodes[node, 2]
            nodes[node, 0] = NONE
            number[node], parent[count], edge[count] = count, above, place
            count += ONE
            nodes[above, 0] -= ONE
            nodes[above, 1] ^= node
            nodes[above, 2] ^= place
            node = above
        if nodes[node, 0] == 0:
            nodes[node, 0] = NONE
            number[node], parent[count] = count, node
            count += ONE


@helper
def find_above(node, joined):
    """Return the topmost node that paths join to a node, and halve the path to it."""
    above = np.uint64(joined[node])
    while joined[above] != above:
        joined[node] = joined[above]
        node = np.uint64(joined[above])
        above = np.uint64(joined[node])
    return above


@kernel([0], [2], [0, 1, 2], [1, 2, 2], [0, 1, 0], [0, 1, 2], [0] * 2)
def cover_paths(a, b, number, parent, edge, joined, first):
    """Write the first path that covers each edge, and join the nodes on all paths.

    A node has a smaller number than its parent. So if two nodes differ, the smaller one is not an
    ancestor of the other, and the path between them contains its parent.
    """
    last = len(a) - 1
    for i in range(len(a)):
        far, near = min(i + 2 * AHEAD, last), min(i + AHEAD, last)
        fetch(number, a[far])
        fetch(number, b[far])
        fetch(joined, number[a[near]])
        fetch(joined, number[b[near]])
        low = find_above(np.uint64(number[a[i]]), joined)
        high = find_above(np.uint64(number[b[i]]), joined)
        while low != high:
            low, high = min(low, high), max(low, high)
            above = np.uint64(parent[low])
            if above == low:  # not in the same tree
                break
            first[edge[low]] = i
            joined[low] = above
            low = find_above(above, joined)


@kernel([0, 1, 2], [0, 1, 1], [9] * 3, [0] * 3)
def smallest_joined(number, joined, smallest, root):
    """Write the smallest node that is joined to each node; `smallest` starts with large numbers."""
    for top in range(len(joined) - 1, -1, -1):
        joined[top] = joined[joined[top]]
    for node in range(len(number)):
        fetch(joined, number[min(node + AHEAD, len(number) - 1)])
        top = joined[number[node]]
        smallest[top] = min(smallest[top], node)
        root[node] = smallest[top]


@helper
def window_max(table, size, level, first, last):
    """Return the maximum of two windows of 2^level, one from `first` on and one up to `last`."""
    row = level * size
    return max(table[row + first], table[row + last + ONE - (ONE << level)])


@kernel(0, 2, list(range(5)), [4], 1, [0, 0], [0, 0], [0] * 2)
def range_max(start, stop, near, far, size, first, last, out):
    """Write the maximum of each range."""
    size = np.uint64(size)
    blocks = (size + (ONE << _BLOCK) - ONE) >> _BLOCK
    for i in range(start, stop):
        ahead = min(i + AHEAD, stop - 1)
        fetch(near, np.uint64(first[ahead]) + _BLOCK * size)
        fetch(near, np.uint64(last[ahead]) + _BLOCK * size)
        low, high = np.uint64(first[i]), np.uint64(last[i])
        level = min(highest_bit(high - low + ONE), _BLOCK)
        found = window_max(near, size, level, low, high)
        low, high = (low + (ONE << _BLOCK) - ONE) >> _BLOCK, (high + ONE) >> _BLOCK
        if low < high:  # the blocks from `low` to `high` - 1 are inside
            level = highest_bit(high - low)
            found = max(found, window_max(far, blocks, level, low, high - ONE))
        out[i] = found
