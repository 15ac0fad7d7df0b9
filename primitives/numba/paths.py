"""Kernels over paths in trees and ranges of arrays.

`cover_paths` stores each node in two adjacent words, so that one access to memory loads both. The
second word is twice the parent, plus 1 if a path contains the edge to the parent. In this case, the
word may refer to a higher node on these paths instead of the parent.
"""

import numpy as np

from ...runtime.intrinsics import AHEAD, ONE, fetch, helper, highest_bit, kernel
from ..paths import BLOCK

_BLOCK, _ZERO, _TWO = np.uint64(BLOCK), np.uint64(0), np.uint64(2)
_NEAR, _FAR = np.uint64(AHEAD), np.uint64(2 * AHEAD)


@kernel([1, 2, 2], [1, 2, 3], [0] * 3)
def path_sums(parent, values, out):
    """Write the sum of the values of each node and its ancestors, which have larger numbers."""
    for i in range(len(parent) - 1, -1, -1):
        fetch(out, parent[max(i - AHEAD, 0)])
        out[i] = 0
        above = out[parent[i]]
        out[i] = values[i] + above


@kernel([0, 1], [1, 2], [[0] * 2] * 3)
def count_neighbors(u, v, nodes):
    """Count the edges of each node, and combine their other ends by XOR."""
    last = len(u) - 1
    for i in range(len(u)):
        ahead = min(i + AHEAD, last)
        fetch(nodes, _TWO * u[ahead])
        fetch(nodes, _TWO * v[ahead])
        a, b = np.uint64(u[i]), np.uint64(v[i])
        nodes[a, 0] += ONE
        nodes[a, 1] ^= b
        nodes[b, 0] += ONE
        nodes[b, 1] ^= a


@kernel([[1, 1], [2, 2], [1, 1]], [0] * 4)
def strip_leaves(nodes, queue):
    """Strip leaves from the trees until no node remains; write their places in the queue.

    A leaf is a node with one remaining edge, and `nodes` has the other end of this edge: its
    parent. In the queue, children come before their parent. The root of a tree is its own parent.
    """
    tail = _ZERO
    for node in range(len(nodes)):
        queue[tail] = node
        tail += np.uint64(nodes[node, 0] <= 1)
    place = _ZERO
    while place < tail:
        fetch(nodes, _TWO * queue[min(place + _FAR, tail - ONE)])
        fetch(nodes, _TWO * nodes[queue[min(place + _NEAR, tail - ONE)], 1])
        node = np.uint64(queue[place])
        above = np.uint64(nodes[node, 1])
        if nodes[node, 0] == 0:
            above = node
        else:
            left = nodes[above, 0] - ONE
            nodes[above, 0] = left
            nodes[above, 1] ^= node
            queue[tail] = above
            tail += np.uint64(left == 1)
        nodes[node, 0], nodes[node, 1] = place, above << ONE
        place += ONE


@kernel(0, 2, [0, 1], [1, 2], [[0, 2], [2, 2], [1, 2]], [0] * 2)
def find_children(start, stop, u, v, nodes, child):
    """Write the lower end of each edge."""
    for i in range(start, stop):
        fetch(nodes, _TWO * u[min(i + AHEAD, stop - 1)])
        a, b = np.uint64(u[i]), np.uint64(v[i])
        child[i] = a if nodes[a, 1] >> ONE == b else b


@helper
def find_top(node, nodes):
    """Return the topmost node that paths join to a node, and halve the path to it."""
    above = np.uint64(nodes[node, 1])
    while above & ONE:
        beyond = np.uint64(nodes[above >> ONE, 1])
        if not beyond & ONE:
            return above >> ONE
        nodes[node, 1] = beyond
        node = beyond >> ONE
        above = np.uint64(nodes[node, 1])
    return node


@kernel([0], [2], [[0, 2], [2, 2], [1, 2]])
def cover_paths(a, b, nodes):
    """Join the nodes on each path; replace the place of a node by the first path to its parent.

    A node has a smaller place than its parent. So if two nodes differ, the one with the smaller
    place is not an ancestor of the other, and the path between them contains its parent.
    """
    last = len(a) - 1
    for i in range(len(a)):
        far, near = min(i + 2 * AHEAD, last), min(i + AHEAD, last)
        fetch(nodes, _TWO * a[far])
        fetch(nodes, _TWO * b[far])
        fetch(nodes, np.uint64(nodes[a[near], 1]))
        fetch(nodes, np.uint64(nodes[b[near], 1]))
        low, high = find_top(np.uint64(a[i]), nodes), find_top(np.uint64(b[i]), nodes)
        while low != high:
            if nodes[low, 0] > nodes[high, 0]:
                low, high = high, low
            above = np.uint64(nodes[low, 1])
            if above >> ONE == low:  # not in the same tree
                break
            nodes[low, 0], nodes[low, 1] = i, above | ONE
            low = find_top(above >> ONE, nodes)


@kernel(0, 2, [0, 2], [[0, 3], [2, 2], [0, 3]], 1, [0] * 2)
def list_covering(start, stop, child, nodes, none, first):
    """Write the first path that covers each edge, or `none`."""
    for i in range(start, stop):
        fetch(nodes, _TWO * child[min(i + AHEAD, stop - 1)])
        node = np.uint64(child[i])
        first[i] = nodes[node, 0] if nodes[node, 1] & ONE else none


@kernel([[0, 3], [2, 2], [0, 3]], [9] * 3, [0] * 3)
def smallest_joined(nodes, smallest, root):
    """Write the smallest node that is joined to each node; `smallest` starts with large numbers."""
    last = len(nodes) - 1
    for node in range(len(nodes)):
        fetch(nodes, np.uint64(nodes[min(node + AHEAD, last), 1]))
        top = find_top(np.uint64(node), nodes)
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
