"""Kernels over trees of nodes; each node has a parent, and a root is its own parent."""

import numpy as np

from ...runtime.intrinsics import fetch, highest_bit
from ...runtime.kernels import AHEAD, NONE, ONE, helper, kernel
from ..paths import BLOCK_BITS

_BLOCK_BITS = np.uint64(BLOCK_BITS)


@kernel
def cut_mirrors(start, stop, target, ids, parent, kept):
    """Cut one of two opposite arrows; write the ids of the others to `kept`, from `start` on.

    Return the number of these ids.
    """
    place = np.uint64(start)
    for i in range(start, stop):
        fetch(target, target[min(i + AHEAD, stop - 1)])
        head = target[i]
        is_cut = (i < head) & (target[head] == i)
        parent[i] = head ^ ((head ^ np.uint64(i)) * np.uint64(is_cut))
        kept[place] = ids[i]
        place += np.uint64(parent[i] != i)
    return np.int64(place) - start


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


@kernel
def find_roots(start, stop, parent, root):
    """Find the root of each node.

    Threads share `parent`. They write only ancestors of a node, so the old and the new value lead
    to the same root. A late write may undo a newer one, so the roots go to a separate array.
    """
    for i in range(start, stop):
        fetch(parent, parent[min(i + 2 * AHEAD, stop - 1)])
        fetch(parent, parent[parent[min(i + AHEAD, stop - 1)]])
        root[i] = find_root(np.uint64(i), parent)


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


@helper
def fetch_ends(u, v, i, last, words, mask):
    """Prefetch the words that the pairs after pair i need, up to pair `last`.

    These are the words of a pair's nodes and of their parents. The bits of `mask` hold the parent.
    """
    far, near = min(i + 2 * AHEAD, last), min(i + AHEAD, last)
    fetch(words, u[far])
    fetch(words, v[far])
    fetch(words, np.uint64(words[u[near]]) & mask)
    fetch(words, np.uint64(words[v[near]]) & mask)


@kernel
def join_in_order(u, v, parent, joining):
    """Join pairs by union-find; the root of a set is its smallest node.

    Return the number of pairs that joined two sets; write their positions to `joining`.
    """
    count = 0
    for i in range(len(u)):
        fetch_ends(u, v, i, len(u) - 1, parent, NONE)
        if join(np.uint64(u[i]), np.uint64(v[i]), parent):
            joining[count] = i
            count += 1
    return count


@kernel
def contract_tile(u, v, records, tree, fragment, is_open, certain, undecided, counts):
    """Join pairs of a subgraph in order; write the positions of certain and of undecided pairs.

    The lower halves of `records` are positions. `tree` has the sets that all pairs inside join, and
    `fragment` has those that certain pairs join. A fragment is open if an earlier pair joins it to
    a node outside. A pair of two open fragments is undecided, because earlier pairs may join them
    outside the subgraph.
    """
    size, last, below = len(fragment), len(records) - 1, np.uint64(2**32 - 1)
    for i in range(len(records)):
        ahead, pair = records[min(i + AHEAD, last)] & below, records[i] & below
        fetch(u, ahead)
        fetch(v, ahead)
        a, b = np.uint64(u[pair]), np.uint64(v[pair])
        if max(a, b) >= size:
            if a != b:
                is_open[find_root(min(a, b), fragment)] = 1
        elif join(a, b, tree):
            a, b = find_root(a, fragment), find_root(b, fragment)
            if is_open[a] & is_open[b]:
                undecided[counts[1]] = pair
                counts[1] += np.uint64(1)
            else:
                fragment[max(a, b)] = min(a, b)
                is_open[min(a, b)] = is_open[a] | is_open[b]
                certain[counts[0]] = pair
                counts[0] += np.uint64(1)


@kernel
def flatten(parent):
    """Make the root the parent of each node; no node may be smaller than its parent."""
    for i in range(len(parent)):  # the parents of smaller nodes are roots already
        parent[i] = parent[parent[i]]


@helper
def find_set(node, words, top):
    """Return the root of a node, and halve the path to it.

    The word of a root has the bit `top`, and a value in the lower bits. The word of any other node
    is its parent.
    """
    above = np.uint64(words[node])
    while not above & top:
        higher = np.uint64(words[above])
        if higher & top:
            return above
        words[node] = higher
        node = higher
        above = np.uint64(words[node])
    return node


@kernel
def merge_in_order(u, v, top, words, parent, count):
    """Write the tree of the sets that pairs create, and the number of nodes of each set.

    The word of a root holds the number of its set in the tree. Initially, each node is a set.
    """
    size = np.uint64(len(words))
    for i in range(len(u)):
        fetch_ends(u, v, i, len(u) - 1, words, ~top)
        new, nodes = size + np.uint64(i), np.uint64(0)
        a, b = find_set(np.uint64(u[i]), words, top), find_set(np.uint64(v[i]), words, top)
        for root in (a, b):
            merged = np.uint64(words[root]) & ~top
            parent[merged] = new
            nodes += np.uint64(count[merged - size]) if merged >= size else ONE
        count[i] = nodes
        parent[new] = new
        words[max(a, b)] = min(a, b)
        words[min(a, b)] = top | new


@kernel
def join_levels(u, v, ends, top, words, parent, level, tally):
    """Join the sets of pairs by level; write when each node stops being the smallest of its set.

    The word of a root holds the number of nodes of its set. `tally` has a row for each level.
    """
    start = np.uint64(0)
    for step in range(len(ends)):
        for place in range(64 if step else 0):
            tally[step, place] = tally[step - 1, place]
        row, largest = tally[step], np.uint64(tally[step, 63])
        for i in range(start, ends[step]):
            fetch_ends(u, v, i, len(u) - 1, words, ~top)
            a, b = find_set(np.uint64(u[i]), words, top), find_set(np.uint64(v[i]), words, top)
            if a != b:
                x, y = np.uint64(words[a]) & ~top, np.uint64(words[b]) & ~top
                row[highest_bit(x)] -= ONE
                row[highest_bit(y)] -= ONE
                row[highest_bit(x + y)] += ONE
                largest = max(largest, x + y)
                a, b = min(a, b), max(a, b)
                words[a], words[b] = top | (x + y), a
                parent[b], level[b] = a, step
        row[63], start = largest, np.uint64(ends[step])
    for node in range(len(parent)):  # the parents of smaller nodes are final
        fetch(level, parent[min(node + AHEAD, len(parent) - 1)])
        above = parent[node]
        if level[above] == level[node]:
            parent[node] = parent[above]


@kernel
def label_level(parent, level, step, label):
    """Write the number of the set of each node at a level; return the number of sets."""
    number = np.uint64(0)
    for i in range(len(parent)):
        fetch(label, parent[min(i + AHEAD, len(parent) - 1)])
        node, above = np.uint64(i), np.uint64(parent[i])
        is_smallest = np.uint64(level[i] > step)
        label[i] = number
        label[i] = label[above ^ (node ^ above) * is_smallest]  # smaller nodes have their numbers
        number += is_smallest
    return np.int64(number)


@kernel
def path_sums(parent, values, out):
    """Write the sum of the values of each node and its ancestors, which have larger numbers."""
    for i in range(len(parent) - 1, -1, -1):
        fetch(out, parent[max(i - AHEAD, 0)])
        out[i] = 0
        above = out[parent[i]]
        out[i] = values[i] + above


@helper
def window_max(table, size, level, first, last):
    """Return the maximum of two windows of 2^level, one from `first` on and one up to `last`."""
    row = level * size
    return max(table[row + first], table[row + last + ONE - (ONE << level)])


@kernel
def range_max(start, stop, near, far, size, first, last, out):
    """Write the maximum of each range."""
    size = np.uint64(size)
    blocks = (size + (ONE << _BLOCK_BITS) - ONE) >> _BLOCK_BITS
    for i in range(start, stop):
        ahead = min(i + AHEAD, stop - 1)
        fetch(near, np.uint64(first[ahead]) + _BLOCK_BITS * size)
        fetch(near, np.uint64(last[ahead]) + _BLOCK_BITS * size)
        low, high = np.uint64(first[i]), np.uint64(last[i])
        level = min(highest_bit(high - low + ONE), _BLOCK_BITS)
        largest = window_max(near, size, level, low, high)
        low, high = (low + (ONE << _BLOCK_BITS) - ONE) >> _BLOCK_BITS, (high + ONE) >> _BLOCK_BITS
        if low < high:  # the blocks from `low` to `high` - 1 are inside
            level = highest_bit(high - low)
            largest = max(largest, window_max(far, blocks, level, low, high - ONE))
        out[i] = largest
