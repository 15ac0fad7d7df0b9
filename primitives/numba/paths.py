"""Kernels over paths in trees and ranges of arrays.

Before paths are covered, the nodes of each tree get consecutive numbers in preorder: a node comes
after its parent, and the nodes below it follow it. So most steps of a path stay in the cache.
"""

import numpy as np

from ...runtime.intrinsics import AHEAD, ONE, fetch, helper, highest_bit, kernel
from ..paths import BLOCK

_BLOCK, _ZERO, _THREE = np.uint64(BLOCK), np.uint64(0), np.uint64(3)
_NEAR, _FAR = np.uint64(AHEAD), np.uint64(2 * AHEAD)


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
    """Count the edges of each node, and combine their other ends by XOR."""
    last = len(u) - 1
    for i in range(len(u)):
        ahead = min(i + AHEAD, last)
        fetch(nodes, _THREE * u[ahead])
        fetch(nodes, _THREE * v[ahead])
        a, b = np.uint64(u[i]), np.uint64(v[i])
        nodes[a, 0] += ONE
        nodes[a, 1] ^= b
        nodes[b, 0] += ONE
        nodes[b, 1] ^= a


@kernel([[1, 1, 0], [2, 2, 0], [1, 1, 0]], [0] * 4)
def strip_leaves(nodes, queue):
    """Strip leaves from the trees until no node remains; append them to the queue.

    A leaf is a node with one remaining edge, and `nodes` has the other end of this edge: its
    parent. In the queue, children come before their parent. The root of a tree is its own parent.
    The third word of a node becomes the number of nodes below it.
    """
    tail = _ZERO
    for node in range(len(nodes)):
        queue[tail] = node
        tail += np.uint64(nodes[node, 0] <= 1)
    place = _ZERO
    while place < tail:
        fetch(nodes, _THREE * queue[min(place + _FAR, tail - ONE)])
        fetch(nodes, _THREE * nodes[queue[min(place + _NEAR, tail - ONE)], 1])
        node = np.uint64(queue[place])
        above = np.uint64(nodes[node, 1])
        if nodes[node, 0] == 0:
            nodes[node, 1] = node
        else:
            left = nodes[above, 0] - ONE
            nodes[above, 0] = left
            nodes[above, 1] ^= node
            nodes[above, 2] += nodes[node, 2] + ONE
            queue[tail] = above
            tail += np.uint64(left == 1)
        place += ONE


@kernel([[0, 1, 0], [1, 1, 2], [0, 1, 0]], [0, 2, 1], [0] * 3)
def number_nodes(nodes, queue, up):
    """Give numbers to the nodes in preorder; write twice the parent of each number to `up`.

    The words of a node become the next free number below it, its parent, and its number.
    """
    free, last = _ZERO, len(nodes) - 1
    for place in range(last, -1, -1):
        fetch(nodes, _THREE * queue[max(place - 2 * AHEAD, 0)])
        fetch(nodes, _THREE * nodes[queue[max(place - AHEAD, 0)], 1])
        node = np.uint64(queue[place])
        above, size = np.uint64(nodes[node, 1]), np.uint64(nodes[node, 2]) + ONE
        number = np.uint64(nodes[above, 0])
        if above == node:
            number = free
            nodes[node, 2] = number
            free += size
        nodes[above, 0] = number + size
        up[number] = np.uint64(nodes[above, 2]) << ONE
        nodes[node, 0], nodes[node, 2] = number + ONE, number


@helper
def find_top(node, up):
    """Return the topmost node that paths join to a node, and halve the path to it."""
    above = np.uint64(up[node])
    while above & ONE:
        beyond = np.uint64(up[above >> ONE])
        if not beyond & ONE:
            return above >> ONE
        up[node] = beyond
        node = beyond >> ONE
        above = np.uint64(up[node])
    return node


@kernel([0], [2], [5], [0, 0, 2], [9] * 3)
def cover_paths(a, b, ids, up, first):
    """Join the nodes on each path; write the id of the first path to the parent of each node.

    A word of `up` is twice the parent, plus 1 if a path contains the edge to the parent. In this
    case, the word may refer to a higher node on these paths instead of the parent.

    If two nodes differ, the larger one is not an ancestor of the other. So the path between them
    contains the parent of the larger one.
    """
    last = len(a) - 1
    for i in range(len(a)):
        far, near = min(i + 2 * AHEAD, last), min(i + AHEAD, last)
        fetch(up, a[far])
        fetch(up, b[far])
        fetch(up, up[a[near]] >> ONE)
        fetch(up, up[b[near]] >> ONE)
        low, high = find_top(np.uint64(a[i]), up), find_top(np.uint64(b[i]), up)
        while low != high:
            low, high = max(low, high), min(low, high)
            above = np.uint64(up[low])
            if above >> ONE == low:  # not in the same tree
                break
            first[low], up[low] = ids[i], above | ONE
            low = find_top(above >> ONE, up)


@kernel([0, 1, 2], [0] * 3)
def find_tops(up, top):
    """Write the topmost node that paths join to each node."""
    for node in range(len(up)):  # smaller nodes have their tops
        top[node] = node
        top[node] = top[up[node] >> ONE] if up[node] & ONE else node


@kernel(0, 2, [0, 1], [1, 2], [2, 0, 1], [5, 6, 7], [0] * 2)
def list_covering(start, stop, u, v, number, first, covering):
    """Write the first path that covers each edge."""
    for i in range(start, stop):
        far, near = min(i + 2 * AHEAD, stop - 1), min(i + AHEAD, stop - 1)
        fetch(number, u[far])
        fetch(number, v[far])
        fetch(first, max(number[u[near]], number[v[near]]))
        covering[i] = first[max(number[u[i]], number[v[i]])]


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
