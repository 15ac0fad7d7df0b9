"""Kernels that search the tree, for all points of a leaf at once.

A search walks over the tree: first the leaf of its queries, then the siblings of the nodes on the
path to the root, nearer halves first. It skips a node if its box is farther from the box of the
queries than the limit, the largest reduced distance that may improve a result: `reduced_limit`.

Leaves that pass this test are also compared with each query. With many axes, few boxes are that
far, so inner nodes are compared with each query too.
"""

import numpy as np

from ....runtime.intrinsics import lowest_bit
from ....runtime.kernels import ONE, helper, kernel
from .lanes import LANES, insert
from .space import (
    PROJECTED,
    accumulate,
    distance_between,
    exact_distance,
    is_beyond,
    leaf_places,
    near_points,
    near_queries,
    reduced_limit,
)

#: The size of the stack: each level of the tree pushes at most two nodes.
_STACK = 128
#: The number of axes from which nodes are compared with each query.
_MANY_AXES = 5
#: The largest number of points in a leaf: a word has a bit for each.
_LEAF = 64
#: A word has the id of a point in its upper half, and its place in the lower half, so that ties go
#: to the smaller id. Ids and places are less than 2^32.
_HALF, _PLACE = np.uint64(32), np.uint64(2**32 - 1)


@helper
def take_bit(bits):
    """Return the index of the lowest set bit, and the word without this bit."""
    return np.int64(lowest_bit(bits)), bits & (bits - ONE)


@helper
def _gap_between(space, boxes, node, box):
    """Return a lower bound of the reduced distances between points of a node and queries."""
    axes, low, total = space.axes, 2 * node * space.axes, 0.0
    for axis in range(axes):
        gap = max(boxes[low + axis] - box[axes + axis], box[axis] - boxes[low + axes + axis])
        total = accumulate(space, total, max(gap, 0.0))
    return total


@helper
def _start_walk(space, boxes, leaf, queries, first, stride, count, box, stack, gaps):
    """Write the box of the queries in a leaf, and the stack; return the height of the stack."""
    axes = space.axes
    for axis in range(axes):
        start = first + axis * stride
        low = high = queries[start]
        for i in range(start + 1, start + count):
            low, high = min(low, queries[i]), max(high, queries[i])
        box[axis], box[axes + axis] = low, high
    node = (1 << space.depth) + leaf
    for level in range(space.depth):
        sibling = node >> (space.depth - 1 - level) ^ 1
        stack[level], gaps[level] = sibling, _gap_between(space, boxes, sibling, box)
    stack[space.depth], gaps[space.depth] = node, 0.0
    return space.depth + 1


@helper
def _next_leaf(
    space, boxes, label, least_core, skipped, best, limit, queries, first, stride, count, limits,
    box, stack, gaps, top,
):  # fmt: skip
    """Return the next leaf that may improve a result, or -1.

    Return also a bit for each query near the leaf, and the height of the stack. Skip nodes with the
    label `skipped`, and nodes whose core distances exceed `best`.
    """
    leaves, near = 1 << space.depth, np.uint64(0)
    while top > 0:
        top -= 1
        node = stack[top]
        if gaps[top] > limit or label[node] == skipped or least_core[node] > best:
            continue
        if space.axes >= _MANY_AXES or node >= leaves:
            at = 2 * node * space.axes
            near = near_queries(space, boxes, at, queries, first, stride, count, limits)
            if near == 0:
                continue
        if node >= leaves:
            return node - leaves, near, top
        node *= 2
        left = _gap_between(space, boxes, node, box)
        right = _gap_between(space, boxes, node + 1, box)
        is_right = np.int64(right < left)  # nearer halves are on top
        stack[top], gaps[top] = node + 1 - is_right, max(left, right)
        stack[top + 1], gaps[top + 1] = node + is_right, min(left, right)
        top += 2
    return -1, near, 0


# The nearest neighbors.


@kernel
def find_neighbors(
    start, stop, space, coordinates, ids, boxes, label, least_core, rows, k, rank, core, reach,
    neighbor,
):  # fmt: skip
    """Find the k nearest points of each point in a range of leaves."""
    blocks = (k + LANES - 1) // LANES
    width = blocks * LANES + 1
    distances, words = np.empty(_LEAF * width), np.zeros(_LEAF * width, np.uint64)
    limits, reduced = np.empty(_LEAF), np.empty(_LEAF)
    stack, gaps, box = np.empty(_STACK, np.int64), np.empty(_STACK), np.empty(2 * space.axes)
    size, no_label = space.size, np.int64(-2)  # so no node is skipped by its label
    for leaf in range(start, stop):
        first_query, count = leaf_places(space, leaf)
        for i in range(count):
            limits[i] = np.inf
            distances[i * width] = -np.inf
            for j in range(i * width + 1, (i + 1) * width):
                distances[j] = np.inf
        top = _start_walk(
            space, boxes, leaf, coordinates, first_query, size, count, box, stack, gaps
        )
        largest = np.inf
        while True:
            other, near, top = _next_leaf(
                space, boxes, label, least_core, no_label, 0.0, largest, coordinates, first_query,
                size, count, limits, box, stack, gaps, top,
            )  # fmt: skip
            if other < 0:
                break
            first, num_others = leaf_places(space, other)
            while near != 0:
                i, near = take_bit(near)
                hits = near_points(
                    space, coordinates, first_query + i, size, coordinates, first, size,
                    num_others, limits[i], reduced,
                )  # fmt: skip
                if other == leaf:
                    hits &= ~(ONE << np.uint64(i))
                while hits != 0:
                    j, hits = take_bit(hits)
                    if is_beyond(space, reduced[j], limits[i]):
                        continue
                    distance = exact_distance(space, rows, first_query + i, first + j, reduced[j])
                    word = np.uint64(ids[first + j]) << _HALF | np.uint64(first + j)
                    insert(distances, words, i * width, blocks, distance, word)
                    if len(space.norm) == PROJECTED:
                        limits[i] = reduced_limit(space, distances[i * width + k])
                limits[i] = reduced_limit(space, distances[i * width + k])
            largest = 0.0
            for i in range(count):
                largest = max(largest, limits[i])
        for i in range(count):
            place = first_query + i
            core[place] = distances[i * width + rank] if rank else 0.0
            reach[place] = distances[i * width + k]
            for j in range(k):
                neighbor[place * k + j] = np.int64(words[i * width + 1 + j] & _PLACE)


# The nearest point outside the fragment.


@kernel
def describe_nodes(depth, fragment, core, label, least_core):
    """Write the fragment of each node, or -1 if it has several, and its smallest core distance."""
    size = len(fragment)
    for leaf in range(1 << depth):
        first, last = size * leaf >> depth, size * (leaf + 1) >> depth
        common, low = np.int64(fragment[first]), core[first]
        for i in range(first + 1, last):
            common = common if fragment[i] == common else np.int64(-1)
            low = min(low, core[i])
        label[(1 << depth) + leaf], least_core[(1 << depth) + leaf] = common, low
    for node in range((1 << depth) - 1, 0, -1):
        common = label[2 * node]
        label[node] = common if common == label[2 * node + 1] else -1
        least_core[node] = min(least_core[2 * node], least_core[2 * node + 1])


@kernel
def bound_fragments(
    start, stop, space, coordinates, rows, ids, core, fragment, k, neighbor, reach, nearest, bound,
    lightest,
):  # fmt: skip
    """Bound the weight of the lightest edge out of each fragment by the lists of neighbors.

    `reach` is the distance of the last neighbor in a list. If a list has an edge out of the
    fragment that is lighter than this, it is the point's lightest, and no search is needed.
    Otherwise, the edge to the previous place also gives a bound. Threads may write `lightest`
    concurrently: every value is the weight of an edge, so it is a valid bound.
    """
    size = len(fragment)
    for i in range(start, stop):
        source, j = fragment[i], np.int64(nearest[i])
        if j < size and fragment[j] != source:
            lightest[source] = min(lightest[source], bound[i])
        else:
            nearest[i], best, found = size, np.inf, np.int64(size)
            if bound[i] <= min(lightest[source], reach[i]):
                for place in range(i * k, i * k + k):
                    j = np.int64(neighbor[place])
                    if fragment[j] == source:
                        continue
                    distance = distance_between(space, coordinates, rows, i, j)
                    if distance > best:
                        break
                    weight = max(max(distance, core[i]), core[j])
                    if weight < best or (weight == best and ids[j] < ids[found]):
                        best, found = weight, j
                if best < reach[i]:
                    nearest[i], bound[i] = found, best
                else:
                    bound[i] = max(bound[i], min(best, max(reach[i], core[i])))
                lightest[source] = min(lightest[source], best)
        before = i - 1
        if i == 0 or fragment[before] == source or (nearest[i] < size and nearest[before] < size):
            continue
        other, weight = fragment[before], max(core[i], core[before])
        if weight < max(lightest[source], lightest[other]):
            distance = distance_between(space, coordinates, rows, i, before)
            weight = max(weight, distance)
            lightest[source] = min(lightest[source], weight)
            lightest[other] = min(lightest[other], weight)


@helper
def _edge_id(ids, num_ids, i, j):
    """Return the id of the edge between two places."""
    a, b = np.int64(ids[i]), np.int64(ids[j])
    return min(a, b) * num_ids + max(a, b)


@helper
def _take_queries(space, coordinates, fragment, active, rest, places, queries):
    """Move the active points that share a fragment with the first one to the queries.

    Return the number of queries, and that of the remaining active points.
    """
    source, count, others = fragment[active[0]], 0, 0
    for i in range(rest):
        place = active[i]
        if fragment[place] == source:
            places[count] = place
            count += 1
        else:
            active[others] = place
            others += 1
    for axis in range(space.axes):
        for i in range(count):
            queries[axis * _LEAF + i] = coordinates[axis * space.size + places[i]]
    return count, others


@kernel
def search_outside(
    start, stop, space, coordinates, ids, boxes, rows, core, least_core, fragment, label, nearest,
    bound, lightest,
):  # fmt: skip
    """Search for lighter edges out of the fragments, from the points in a range of leaves.

    A point is active if it may have the lightest edge of its fragment. The active points of a leaf
    that are in the same fragment are the queries of one search.
    """
    size, axes = space.size, space.axes
    limits, reduced = np.empty(_LEAF), np.empty(_LEAF)
    queries = np.zeros(_LEAF * axes)
    active, places = np.empty(_LEAF, np.int64), np.empty(_LEAF, np.int64)
    stack, gaps, box = np.empty(_STACK, np.int64), np.empty(_STACK), np.empty(2 * axes)
    for leaf in range(start, stop):
        first, in_leaf = leaf_places(space, leaf)
        rest = 0
        for i in range(first, first + in_leaf):
            best = lightest[fragment[i]]
            if nearest[i] == size and bound[i] <= best and core[i] <= best:
                active[rest] = i
                rest += 1
        while rest > 0:
            source = np.int64(fragment[active[0]])
            best = lightest[source]
            count, rest = _take_queries(space, coordinates, fragment, active, rest, places, queries)
            limit, edge, end, other = reduced_limit(space, best), -1, 0, 0
            top = _start_walk(space, boxes, leaf, queries, 0, _LEAF, count, box, stack, gaps)
            while True:
                for i in range(_LEAF):
                    limits[i] = limit
                near, _, top = _next_leaf(
                    space, boxes, label, least_core, source, best, limit, queries, 0, _LEAF, count,
                    limits, box, stack, gaps, top,
                )  # fmt: skip
                if near < 0:
                    break
                low, num_targets = leaf_places(space, near)
                targets = near_queries(space, box, 0, coordinates, low, size, num_targets, limits)
                while targets != 0:
                    bit, targets = take_bit(targets)
                    target = low + bit
                    if core[target] > best or fragment[target] == source:
                        continue
                    hits = near_points(
                        space, coordinates, target, size, queries, 0, _LEAF, count, limit, reduced
                    )
                    while hits != 0:
                        i, hits = take_bit(hits)
                        if is_beyond(space, reduced[i], limit):
                            continue
                        weight = exact_distance(space, rows, places[i], target, reduced[i])
                        weight = max(weight, max(core[places[i]], core[target]))
                        if weight <= best:
                            new = _edge_id(ids, space.num_ids, places[i], target)
                            if weight < best or edge < 0 or new < edge:
                                best, edge, end, other = weight, new, places[i], target
                                limit = reduced_limit(space, weight)
            for i in range(count):
                bound[places[i]] = max(bound[places[i]], best)
            if edge >= 0:
                nearest[end], bound[end] = other, best
                lightest[source] = min(lightest[source], best)


@kernel
def choose_edges(space, ids, fragment, nearest, bound, weight, edge_id, other):
    """Write the lightest edge out of each fragment, given the nearest outside points."""
    size = len(fragment)
    for i in range(size):
        j, source = np.int64(nearest[i]), fragment[i]
        if j < size and bound[i] <= weight[source]:
            edge = _edge_id(ids, space.num_ids, i, j)
            if bound[i] < weight[source] or edge < edge_id[source]:
                weight[source], edge_id[source], other[source] = bound[i], edge, fragment[j]
