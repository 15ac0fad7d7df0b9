"""Kernels over paths in trees and ranges of arrays.

Before paths are covered, leaves are stripped from the trees, and nodes are numbered in the reverse
order. The nodes that remain after some rounds are the *core*; the others are the *fringe*, subtrees
of small height. Most paths join two of these subtrees or core nodes, so they contain all nodes from
both ends up to the core: each path lowers the records of its ends, and one pass over the fringe
finds the first path at each node. Only the core, which fits in a cache, is covered path by path, in
order. Few of the paths cover all of it.
"""

import numpy as np

from ...runtime.intrinsics import (
    AHEAD,
    BLOCK,
    NONE,
    ONE,
    claim,
    compare_and_swap,
    fetch,
    helper,
    highest_bit,
    kernel,
    load,
    scratch,
)
from ..paths import BLOCK as WINDOWS
from .kruskal import is_before
from .pairs import find_outside, id_at

_BLOCK, _ZERO = np.uint64(WINDOWS), np.uint64(0)
_NEAR = np.uint64(AHEAD)
_HALF, _BELOW, _EDGE = np.uint64(32), np.uint64(2**32 - 1), np.uint64(2**32)


@kernel([1, 2, 2], [1, 2, 3], [0] * 3)
def path_sums(parent, values, out):
    """Write the sum of the values of each node and its ancestors, which have larger numbers."""
    for i in range(len(parent) - 1, -1, -1):
        fetch(out, parent[max(i - AHEAD, 0)])
        out[i] = 0
        above = out[parent[i]]
        out[i] = values[i] + above


@kernel([0, 1], [1, 2], [0] * 3)
def count_neighbors(u, v, nodes):
    """Add 2^32 plus the other end of each edge to the words of both ends.

    When all but one edge are subtracted again, the upper half of a word is 1, and the lower half is
    the other end of this edge.
    """
    last = len(u) - 1
    for i in range(len(u)):
        ahead = min(i + AHEAD, last)
        fetch(nodes, u[ahead])
        fetch(nodes, v[ahead])
        a, b = np.uint64(u[i]), np.uint64(v[i])
        nodes[a] += _EDGE | b
        nodes[b] += _EDGE | a


@kernel([0] * 3, 2, [0] * 4, [0] * 4)
def strip_leaves(nodes, rounds, queue, above):
    """Strip leaves until no node remains; return the number of nodes left after these rounds.

    A leaf is a node with one remaining edge, and its word has the other end of this edge: its
    parent. A root is its own parent. Write the nodes in the order of their rounds, and the parent
    of each. Both arrays have one more place.
    """
    tail = place = _ZERO
    for node in range(np.uint64(len(nodes))):  # write all, and keep nodes with at most one edge
        word = nodes[node]
        queue[tail] = node
        above[tail] = word & _BELOW if word else node
        tail += np.uint64(word < _EDGE << ONE)
    end, core = tail, np.uint64(len(nodes))
    while place < tail:
        if place == end and rounds:
            rounds -= 1
            end, core = tail, np.uint64(len(nodes)) - place
        fetch(nodes, above[min(place + _NEAR, tail - ONE)])
        node, parent = np.uint64(queue[place]), np.uint64(above[place])
        word = nodes[parent]
        if word:
            left = word - (_EDGE | node)
            nodes[parent] = left
            queue[tail], above[tail] = parent, left & _BELOW
            tail += np.uint64(left >> _HALF == ONE)
            if not left:  # the parent is a leaf too, and comes later: it is the root
                nodes[node] = left
        else:
            above[place] = node
        place += ONE
    return np.int64(0 if rounds else core)


@kernel(0, 3, [2, 0, 1], [0] * 3)
def number_nodes(start, stop, queue, number):
    """Assign numbers to the nodes, in reverse order: parents have smaller ones."""
    last = np.uint64(len(number) - 1)
    for i in range(np.uint64(start), np.uint64(stop)):
        claim(number, queue[min(i + _NEAR, last)])
        number[queue[i]] = last - i


@kernel(0, 3, [2, 2, 0], [2, 0, 1], [0] * 3)
def number_parents(start, stop, above, number, parent):
    """Write the number of the parent of each number."""
    last = np.uint64(len(parent) - 1)
    for i in range(np.uint64(start), np.uint64(stop)):
        fetch(number, above[min(i + _NEAR, last)])
        parent[last - i] = number[above[i]]


@kernel([0, 0, 1, 2], 2, [0] * 4)
def climb_to_core(parent, core, top):
    """Write the lowest ancestor of each node in the core."""
    for node in range(np.uint64(len(parent))):  # smaller nodes have theirs
        top[node] = node
        top[node] = node if node < np.uint64(core) else top[parent[node]]


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


@kernel([0, 2], [2, 3], [0, 0, 2], [0, 1, 2, 2], [9] * 4)
def cover_core(a, b, up, top, first):
    """Join the core nodes on each path; write the position of the first path to each node.

    A word of `up` is twice the parent, plus 1 if a path contains the edge to the parent. In this
    case, the word may refer to a higher node on these paths instead of the parent.

    If two nodes differ, the larger one is not an ancestor of the other. So the path between them
    contains the parent of the larger one.
    """
    last, left = len(a) - 1, np.uint64(0)
    for node in range(np.uint64(len(up))):
        left += np.uint64(up[node] != node << ONE)
    for i in range(len(a)):
        if not left:  # later pairs cover nothing
            break
        far, near = min(i + 2 * AHEAD, last), min(i + AHEAD, last)
        fetch(top, a[far])
        fetch(top, b[far])
        fetch(up, top[a[near]])
        fetch(up, top[b[near]])
        low, high = np.uint64(top[a[i]]), np.uint64(top[b[i]])
        if low != high:  # otherwise, the path may be in a tree without a core
            low, high = find_top(low, up), find_top(high, up)
        while low != high:
            low, high = max(low, high), min(low, high)
            above = np.uint64(up[low])
            if above >> ONE == low:  # not in the same tree
                break
            first[low], up[low], left = i, above | ONE, left - ONE
            low = find_top(above >> ONE, up)


@helper
def earlier(a, b, whole):
    """Return the earlier of two records, both of which may be none; see `is_before`."""
    if len(whole) and a != b and a >> _HALF == b >> _HALF:
        return a if is_before(a, b, whole) else b
    return min(a, b)


@helper
def record_of(i, key, ids, first_id, lowest, cut):
    """Return the record of a pair: its key, without the lowest `cut` bits, above its id."""
    return (np.uint64(key[i]) - lowest) >> cut << _HALF | id_at(i, ids, first_id)


@kernel(0, 4, [0, 1, 2, 3], [0, 0, 1, 1], [0] * 4)
def pack_tops(start, stop, number, top, labels):
    """Write the number of each node, and above it the lowest ancestor in the core."""
    for i in range(start, stop):
        fetch(top, number[min(i + AHEAD, stop - 1)])
        labels[i] = np.uint64(top[number[i]]) << _HALF | np.uint64(number[i])


@kernel(0, 2, [0, 1, 2, 3], [3, 2], [2, 1], [5, 4], [], 7, 4, 0, [], [0] * 4, [0] * 2)
def lower_fringe(
    start, stop, labels, u, v, key, ids, first_id, lowest, cut, whole, own, inside
):  # fmt: skip
    """Lower the records of both ends of each pair to that of the pair, key above id.

    A path contains all nodes from both ends up to the core, unless its ends are below the same core
    node. Write the positions of these other pairs to `inside`, from `start` on, and return the
    place after them. If records lack the lowest `cut` bits of keys, `whole` has the key of each id.
    """
    count, last, cut = np.uint64(start), stop - 1, np.uint64(cut)
    own[:] = NONE
    for i in range(start, stop):
        far, near = min(i + 2 * AHEAD, last), min(i + AHEAD, last)
        fetch(labels, u[far])
        fetch(labels, v[far])
        fetch(own, labels[u[near]] & _BELOW)
        fetch(own, labels[v[near]] & _BELOW)
        a, b = labels[u[i]], labels[v[i]]
        record = record_of(i, key, ids, first_id, lowest, cut)
        inside[count] = i
        is_inside = a >> _HALF == b >> _HALF
        count += np.uint64(is_inside)
        if not is_inside:
            a, b = a & _BELOW, b & _BELOW
            own[a] = earlier(record, np.uint64(own[a]), whole)
            own[b] = earlier(record, np.uint64(own[b]), whole)
    return np.int64(count)


@kernel(
    *([0, 0, 1, 1], 1, [[5, 6, 7, 8]] * 3, [0], [0, 1, 2, 3], [3, 2], [2, 1], [5, 4], [], 7, 4, 0),
    *([], 4, [0] * 4),
)  # fmt: skip
def raise_fringe(
    parent, core, rows, inside, number, u, v, key, ids, first_id, lowest, cut, whole, none, out
):  # fmt: skip
    """Write the id of the first path that contains each node of the fringe and its parent.

    The paths of the pairs `inside` are followed last, because their records must not be raised.
    """
    core, cut = np.int64(core), np.uint64(cut)
    for node in range(np.int64(len(parent)) - 1, core - 1, -1):  # children come first
        fetch(rows[0], parent[max(node - AHEAD, 0)])
        record = np.uint64(rows[0, node])
        for row in range(1, len(rows)):
            record = earlier(np.uint64(rows[row, node]), record, whole)
        rows[0, node] = record
        rows[0, parent[node]] = earlier(record, np.uint64(rows[0, parent[node]]), whole)
    last = len(inside) - 1
    for place in range(len(inside)):
        far, near = inside[min(place + 2 * AHEAD, last)], inside[min(place + AHEAD, last)]
        fetch(number, u[far])
        fetch(number, v[far])
        fetch(rows[0], number[u[near]])
        fetch(rows[0], number[v[near]])
        i = inside[place]
        record = record_of(i, key, ids, first_id, lowest, cut)
        low, high = np.uint64(number[u[i]]), np.uint64(number[v[i]])
        while low != high:
            low, high = max(low, high), min(low, high)
            rows[0, low] = earlier(record, np.uint64(rows[0, low]), whole)
            low = np.uint64(parent[low])
    for node in range(core, len(parent)):
        out[node] = min(np.uint64(rows[0, node]) & _BELOW, np.uint64(none))


@kernel(5, [0, 0, 1], [5, 5, 2], [0] * 3, [0] * 4)
def number_tops(none, parent, first, number, tops):
    """Assign consecutive numbers to the top nodes: those whose edge to the parent is on no path.

    Return their count. Write the number of the lowest top node above each node to `number`.
    """
    count, none = _ZERO, np.uint64(none)
    for node in range(np.uint64(len(parent))):  # smaller nodes have their numbers
        is_top = np.uint64(first[node]) == none
        number[node], tops[count] = count, node
        number[node] = number[parent[node]] if not is_top else count
        count += np.uint64(is_top)
    return np.int64(count)


@kernel([0, 0, 1, 2], [0] * 4)
def climb_to_branch(parent, branch):
    """Write the highest ancestor of each node below its root."""
    for node in range(np.uint64(len(parent))):  # smaller nodes have theirs
        above = parent[node]
        branch[node] = node
        branch[node] = node if parent[above] == above else branch[above]


@kernel(
    *(0, 3, [0, 1, 2, 3], [], [0, 1, 2], [2, 3, 3], [5, 4, 4], [], 7, 4, 0, [], [2, 0]),
    *([0, 0, 1, 1], [0, 1, 2, 2], [127] * 4, [127] * 4),
)
def lower_ends(
    start, stop, label, outside, u, v, key, ids, first_id, lowest, cut, whole, ignored,
    parent, branch, own, paths,
):  # fmt: skip
    """Lower the records of nodes on the path of each pair to that of the pair, key above id.

    A path between branches contains all nodes from both ends up to a branch: only the records of
    both ends are lowered, in `own`. Any other path is followed in `paths`, which threads share. If
    records lack the lowest `cut` bits of keys, `whole` has the key of each id.
    """
    cut, hits = np.uint64(cut), scratch(np.uint64, BLOCK)
    left, right = scratch(np.uint64, BLOCK), scratch(np.uint64, BLOCK)
    for first in range(np.uint64(start), np.uint64(stop), np.uint64(BLOCK)):
        end, count = min(first + np.uint64(BLOCK), np.uint64(stop)), _ZERO
        found = find_outside(first, end, np.uint64(BLOCK), label, outside, u, v, hits)
        for hit in range(found):
            i, ahead = hits[hit], hits[min(hit + _NEAR, found - ONE)]
            fetch(label, u[ahead])
            fetch(label, v[ahead])
            fetch(key, ahead)
            hits[count], left[count], right[count] = i, label[u[i]], label[v[i]]
            is_selected = np.uint64(left[count] != right[count])
            if len(ignored):
                is_selected &= ~(ignored[i >> np.uint64(6)] >> (i & np.uint64(63)))
            count += is_selected
        for hit in range(count):
            ahead = min(hit + _NEAR, count - ONE)
            fetch(own, left[ahead])
            fetch(own, right[ahead])
            fetch(branch, left[ahead])
            fetch(branch, right[ahead])
            i, low, high = hits[hit], left[hit], right[hit]
            record = record_of(i, key, ids, first_id, lowest, cut)
            if branch[low] != branch[high]:
                own[low] = earlier(record, np.uint64(own[low]), whole)
                own[high] = earlier(record, np.uint64(own[high]), whole)
                low = high
            while low != high:
                low, high = max(low, high), min(low, high)
                now = load(paths, low)
                while is_before(record, now, whole) and not compare_and_swap(
                    paths, low, now, record
                ):
                    now = load(paths, low)
                low = np.uint64(parent[low])


@kernel([0, 0, 1, 1], [[5, 6, 7, 8]] * 3, [], 4, [0] * 4)
def raise_records(parent, rows, whole, none, out):
    """Write the id of the first path that contains each node and its parent.

    The last row has the records of paths inside branches, and the others have those of ends.
    """
    last = len(rows) - 1
    for node in range(np.int64(len(parent)) - 1, -1, -1):  # children come first
        fetch(rows[0], parent[max(node - AHEAD, 0)])
        record = np.uint64(rows[0, node])
        for row in range(1, last):
            record = earlier(np.uint64(rows[row, node]), record, whole)
        rows[0, parent[node]] = earlier(record, np.uint64(rows[0, parent[node]]), whole)
        record = earlier(np.uint64(rows[last, node]), record, whole)
        out[node] = min(record & _BELOW, np.uint64(none))


@kernel(0, 2, [0, 1], [1, 2], [2, 0, 1], [0] * 2)
def list_children(start, stop, u, v, number, child):
    """Write the number of the child at one end of each edge: the larger one.

    A loop that also looked up results by these numbers would need two tables in the cache.
    """
    for i in range(start, stop):
        ahead = min(i + AHEAD, stop - 1)
        fetch(number, u[ahead])
        fetch(number, v[ahead])
        child[i] = max(number[u[i]], number[v[i]])


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
