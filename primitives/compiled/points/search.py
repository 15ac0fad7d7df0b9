"""Kernels that search the tree, for all points of a leaf at once.

A search visits the leaf of its queries first, and then climbs: at each node on the path to the
root, it searches the sibling, nearer halves first. A node is skipped if its box is farther from the
box of the queries than the limit, the largest length of a difference that may improve a result.

With many axes, boxes of leaves overlap, so a node is also compared with each query.
"""

import numpy as np

from ....runtime.kernels import helper, kernel
from .space import (
    box_length,
    box_lengths,
    distance_of,
    first_place,
    leaf_lengths,
    length_between,
    limit_of,
)

#: Depth of the stack: each level of the tree pushes at most one node.
_STACK = 64
#: The number of axes from which nodes are compared with each query.
_MANY_AXES = 5
#: No leaf has more points.
_MOST = 64


@helper
def _is_near(space, node, count, queries, stride, limits, lengths):
    """Return whether a node is within the limit of any query."""
    box_lengths(space, node, count, queries, stride, lengths)
    near = False
    for i in range(count):
        near |= lengths[i] <= limits[i]
    return near


@helper
def _bound_queries(space, count, queries, stride, box):
    """Write the box of the queries."""
    for axis in range(space.axes):
        low = high = queries[axis * stride]
        for i in range(axis * stride, axis * stride + count):
            low, high = min(low, queries[i]), max(high, queries[i])
        box[axis], box[space.axes + axis] = low, high


# The nearest neighbors.


@helper
def _insert(space, row, distance, place, distances, neighbors):
    """Insert a point into the sorted list of a query, unless it follows the last one."""
    rank, ids = distances.shape[1] - 1, space.ids
    last = distances[row, rank]
    if distance > last or (distance == last and ids[place] > ids[neighbors[row, rank]]):
        return
    while rank > 0:
        before = distances[row, rank - 1]
        if before < distance:
            break
        if before == distance and ids[neighbors[row, rank - 1]] < ids[place]:
            break
        distances[row, rank], neighbors[row, rank] = before, neighbors[row, rank - 1]
        rank -= 1
    distances[row, rank], neighbors[row, rank] = distance, place


@helper
def _visit_for_neighbors(
    space, leaf, own, count, queries, limits, lengths, buffer, distances, neighbors
):
    """Insert the points of a leaf into the lists of the queries; return the largest limit."""
    first = first_place(space, leaf, space.depth)
    size = first_place(space, leaf + 1, space.depth) - first
    box_lengths(space, (1 << space.depth) + leaf, count, queries, count, lengths)
    largest, last = 0.0, distances.shape[1] - 1
    for i in range(count):
        if lengths[i] <= limits[i]:
            leaf_lengths(space, first * space.axes, size, i, queries, count, buffer)
            limit = limits[i]
            for j in range(size):
                if buffer[j] <= limit and first + j != own + i:
                    distance = distance_of(space, buffer[j])
                    _insert(space, i, distance, first + j, distances, neighbors)
                    limit = limit_of(space, distances[i, last])
            limits[i] = limit
        largest = max(largest, limits[i])
    return largest


@kernel
def find_neighbors(start, stop, space, k, rank, core, reach, neighbor):
    """Find the k nearest points of each point in a range of leaves."""
    distances, neighbors = np.empty((_MOST, k)), np.empty((_MOST, k), np.int64)
    limits, lengths, buffer = np.empty(_MOST), np.empty(_MOST), np.empty(_MOST)
    stack, nears, box = np.empty(_STACK, np.int64), np.empty(_STACK), np.empty(2 * space.axes)
    first_leaf = 1 << space.depth
    for leaf in range(start, stop):
        own = first_place(space, leaf, space.depth)
        count = first_place(space, leaf + 1, space.depth) - own
        queries = space.coordinates[own * space.axes :]
        _bound_queries(space, count, queries, count, box)
        for i in range(count):
            limits[i] = np.inf
            for j in range(k):
                distances[i, j], neighbors[i, j] = np.inf, 0
        largest = _visit_for_neighbors(
            space, leaf, own, count, queries, limits, lengths, buffer, distances, neighbors
        )
        climber = first_leaf + leaf
        while climber > 1:
            stack[0], nears[0], top = climber ^ 1, box_length(space, box, climber ^ 1), 1
            climber >>= 1
            while top > 0:
                top -= 1
                node, near = stack[top], nears[top]
                while near <= largest:
                    if space.axes >= _MANY_AXES and not _is_near(
                        space, node, count, queries, count, limits, lengths
                    ):
                        break
                    if node >= first_leaf:
                        largest = _visit_for_neighbors(
                            space, node - first_leaf, own, count, queries, limits, lengths, buffer,
                            distances, neighbors,
                        )  # fmt: skip
                        break
                    near, far = (
                        box_length(space, box, 2 * node),
                        box_length(space, box, 2 * node + 1),
                    )
                    node = 2 * node
                    if far < near:
                        near, far, node = far, near, node + 1
                    if far <= largest:
                        stack[top], nears[top] = node ^ 1, far
                        top += 1
        for i in range(count):
            core[own + i] = distances[i, rank - 1] if rank else 0.0
            reach[own + i] = distances[i, k - 1]
            for j in range(k):
                neighbor[(own + i) * k + j] = neighbors[i, j]


# The nearest point outside the fragment.


@kernel
def label_leaves(start, stop, depth, fragment, label):
    """Write the fragment of each leaf, or -1 if it has several."""
    size = len(fragment)
    for leaf in range(start, stop):
        first, last = size * leaf >> depth, size * (leaf + 1) >> depth
        own = np.int64(fragment[first])
        for i in range(first + 1, last):
            if fragment[i] != own:
                own = -1
                break
        label[(1 << depth) + leaf] = own


@kernel
def label_inner_nodes(depth, label):
    """Write the fragment of each inner node, or -1 if it has several."""
    for node in range((1 << depth) - 1, 0, -1):
        own = label[2 * node]
        label[node] = own if own == label[2 * node + 1] else -1


@kernel
def lower_cores(depth, core, least):
    """Write the smallest core distance in each node."""
    size = len(core)
    for leaf in range(1 << depth):
        first, last = size * leaf >> depth, size * (leaf + 1) >> depth
        low = core[first]
        for i in range(first + 1, last):
            low = min(low, core[i])
        least[(1 << depth) + leaf] = low
    for node in range((1 << depth) - 1, 0, -1):
        least[node] = min(least[2 * node], least[2 * node + 1])


@kernel
def read_lists(start, stop, space, core, fragment, k, neighbor, reach, nearest, bound, lightest):
    """Find the nearest point outside in the lists of neighbors, and bound the fragments by them.

    A list decides if it has a point that is lighter than any point beyond its reach. Threads may
    write `lightest` at once: each value is the weight of an edge, so any of them is a bound.
    """
    size = len(fragment)
    for i in range(start, stop):
        own, j = fragment[i], np.int64(nearest[i])
        if j < size and fragment[j] != own:
            lightest[own] = min(lightest[own], bound[i])
            continue
        nearest[i] = size
        if bound[i] > lightest[own]:
            continue
        best, found = np.inf, size
        for place in range(i * k, i * k + k):
            j = np.int64(neighbor[place])
            if fragment[j] != own:
                distance = distance_of(space, length_between(space, i, j))
                if distance > best:
                    break
                weight = max(max(distance, core[i]), core[j])
                if weight < best or (
                    weight == best and found < size and space.ids[j] < space.ids[found]
                ):
                    best, found = weight, j
        if found < size:
            lightest[own] = min(lightest[own], best)
        if found < size and best < reach[i]:
            nearest[i], bound[i] = found, best
        else:
            bound[i] = max(bound[i], min(best, max(reach[i], core[i])))


@kernel
def bound_by_order(start, stop, space, core, fragment, nearest, lightest):
    """Bound fragments by the edges between consecutive places, if lists have not decided."""
    size = len(fragment)
    for i in range(start, min(stop, size - 1)):
        a, b = fragment[i], fragment[i + 1]
        if a != b and (nearest[i] == size or nearest[i + 1] == size):
            weight = max(core[i], core[i + 1])
            if weight < lightest[a] or weight < lightest[b]:
                weight = max(weight, distance_of(space, length_between(space, i, i + 1)))
                lightest[a] = min(lightest[a], weight)
                lightest[b] = min(lightest[b], weight)


@helper
def _edge_id(space, i, j):
    a, b = np.int64(space.ids[i]), np.int64(space.ids[j])
    return min(a, b) * space.num_ids + max(a, b)


@helper
def _visit_for_edge(
    space, leaf, core, fragment, own, count, queries, places, limits, lengths, buffer, best, ends
):
    """Find the lightest edge from the queries to points of a leaf outside their fragment.

    `best` is its weight, and `ends` has its id and the places of its ends; the id is -1 if no edge
    has been found. Return the limit.
    """
    first = first_place(space, leaf, space.depth)
    size = first_place(space, leaf + 1, space.depth) - first
    box_lengths(space, (1 << space.depth) + leaf, count, queries, _MOST, lengths)
    limit = limits[0]
    for i in range(count):
        place = places[i]
        if lengths[i] > limit or core[place] > best[0]:
            continue
        leaf_lengths(space, first * space.axes, size, i, queries, _MOST, buffer)
        for j in range(size):
            if buffer[j] <= limit and fragment[first + j] != own:
                weight = max(distance_of(space, buffer[j]), max(core[place], core[first + j]))
                if weight > best[0]:
                    continue
                edge = _edge_id(space, place, first + j)
                if weight < best[0] or ends[0] < 0 or edge < ends[0]:
                    best[0], ends[0], ends[1], ends[2] = weight, edge, place, first + j
                    limit = limit_of(space, weight)
    for i in range(count):
        limits[i] = limit
    return limit


@kernel
def search_outside(start, stop, space, core, least, fragment, label, nearest, bound, lightest):
    """Search for the points of a range of leaves that may have the lightest edge of a fragment.

    The active points of a leaf in one fragment are searched for together.
    """
    size, first_leaf = len(fragment), 1 << space.depth
    limits, lengths, buffer = np.empty(_MOST), np.empty(_MOST), np.empty(_MOST)
    queries, places = np.empty(_MOST * space.axes), np.empty(_MOST, np.int64)
    stack, nears, box = np.empty(_STACK, np.int64), np.empty(_STACK), np.empty(2 * space.axes)
    active, best, ends = np.empty(_MOST, np.int64), np.empty(1), np.empty(3, np.int64)
    for leaf in range(start, stop):
        first = first_place(space, leaf, space.depth)
        last, rest = first_place(space, leaf + 1, space.depth), 0
        for i in range(first, last):
            bar = lightest[fragment[i]]
            if nearest[i] == size and bound[i] <= bar and core[i] <= bar:
                active[rest] = i
                rest += 1
        while rest > 0:
            own, count, left = fragment[active[0]], 0, 0
            for each in range(rest):
                i = active[each]
                if fragment[i] == own:
                    places[count] = i
                    for axis in range(space.axes):
                        place = first * space.axes + axis * (last - first) + i - first
                        queries[axis * _MOST + count] = space.coordinates[place]
                    count += 1
                else:
                    active[left] = i
                    left += 1
            rest = left
            best[0], ends[0] = lightest[own], -1
            limit = limit_of(space, best[0])
            for i in range(count):
                limits[i] = limit
            _bound_queries(space, count, queries, _MOST, box)
            climber = first_leaf + leaf
            if label[climber] < 0:
                limit = _visit_for_edge(
                    space, leaf, core, fragment, own, count, queries, places, limits, lengths,
                    buffer, best, ends,
                )  # fmt: skip
            while climber > 1:
                stack[0], nears[0], top = climber ^ 1, box_length(space, box, climber ^ 1), 1
                climber >>= 1
                while top > 0:
                    top -= 1
                    node, near = stack[top], nears[top]
                    while near <= limit and label[node] != own and least[node] <= best[0]:
                        if space.axes >= _MANY_AXES and not _is_near(
                            space, node, count, queries, _MOST, limits, lengths
                        ):
                            break
                        if node >= first_leaf:
                            limit = _visit_for_edge(
                                space, node - first_leaf, core, fragment, own, count, queries,
                                places, limits, lengths, buffer, best, ends,
                            )  # fmt: skip
                            break
                        near = box_length(space, box, 2 * node)
                        far = box_length(space, box, 2 * node + 1)
                        node = 2 * node
                        if far < near:
                            near, far, node = far, near, node + 1
                        if far <= limit:
                            stack[top], nears[top] = node ^ 1, far
                            top += 1
            for i in range(count):
                bound[places[i]] = max(bound[places[i]], best[0])
            if ends[0] >= 0:
                nearest[ends[1]], bound[ends[1]] = ends[2], best[0]
                lightest[own] = min(lightest[own], best[0])


@kernel
def choose_edges(space, fragment, nearest, bound, weight, edge_id, other):
    """Write the lightest edge of each fragment, from the nearest point outside of its points."""
    size = len(fragment)
    for i in range(size):
        j, own = np.int64(nearest[i]), fragment[i]
        if j < size and bound[i] <= weight[own]:
            edge = _edge_id(space, i, j)
            if bound[i] < weight[own] or edge < edge_id[own]:
                weight[own], edge_id[own], other[own] = bound[i], edge, fragment[j]
