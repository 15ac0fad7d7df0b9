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
def _is_near(space, boxes, node, count, queries, stride, limits, lengths):
    """Return whether a node is within the limit of any query."""
    box_lengths(space, boxes, node, count, queries, stride, lengths)
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
def _insert(ids, row, distance, place, distances, neighbors):
    """Insert a point into the sorted list of a query; return whether it precedes the last one."""
    rank = distances.shape[1] - 1
    last = distances[row, rank]
    if distance > last or (distance == last and ids[place] > ids[neighbors[row, rank]]):
        return False
    while rank > 0:
        before = distances[row, rank - 1]
        if before < distance or (before == distance and ids[neighbors[row, rank - 1]] < ids[place]):
            break
        distances[row, rank], neighbors[row, rank] = before, neighbors[row, rank - 1]
        rank -= 1
    distances[row, rank], neighbors[row, rank] = distance, place
    return True


@kernel
def find_neighbors(start, stop, space, coordinates, ids, boxes, k, rank, core, reach, neighbor):
    """Find the k nearest points of each point in a range of leaves."""
    distances, neighbors = np.empty((_MOST, k)), np.empty((_MOST, k), np.int64)
    limits, lengths, buffer = np.empty(_MOST), np.empty(_MOST), np.empty(_MOST)
    stack, nears, box = np.empty(_STACK, np.int64), np.empty(_STACK), np.empty(2 * space.axes)
    first_leaf = 1 << space.depth
    for leaf in range(start, stop):
        own = first_place(space, leaf, space.depth)
        count = first_place(space, leaf + 1, space.depth) - own
        queries = coordinates[own * space.axes :]
        _bound_queries(space, count, queries, count, box)
        for i in range(count):
            limits[i] = np.inf
            for j in range(k):
                distances[i, j], neighbors[i, j] = np.inf, 0
        largest, top = np.inf, 0
        climber = node = first_leaf + leaf
        while True:
            is_near = True
            if node >= first_leaf or space.axes >= _MANY_AXES:
                is_near = _is_near(space, boxes, node, count, queries, count, limits, lengths)
            if is_near and node < first_leaf:
                node *= 2
                near, far = (
                    box_length(space, boxes, box, node),
                    box_length(space, boxes, box, node + 1),
                )
                if far < near:
                    near, far, node = far, near, node + 1
                if far <= largest:
                    stack[top], nears[top] = node ^ 1, far
                    top += 1
                if near <= largest:
                    continue
            elif is_near:
                largest = 0.0
                first = first_place(space, node - first_leaf, space.depth)
                size = first_place(space, node - first_leaf + 1, space.depth) - first
                for i in range(count):
                    limit = limits[i]
                    if lengths[i] <= limit:
                        leaf_lengths(
                            space, coordinates, first * space.axes, size, i, queries, count, buffer
                        )
                        for j in range(size):
                            if buffer[j] <= limit and first + j != own + i:
                                distance = distance_of(space, buffer[j])
                                if _insert(ids, i, distance, first + j, distances, neighbors):
                                    limit = limit_of(space, distances[i, k - 1])
                        limits[i] = limit
                    largest = max(largest, limit)
            while top > 0 and nears[top - 1] > largest:
                top -= 1
            if top > 0:
                top -= 1
                node = stack[top]
                continue
            node = 0
            while climber > 1 and node == 0:
                if box_length(space, boxes, box, climber ^ 1) <= largest:
                    node = climber ^ 1
                climber >>= 1
            if node == 0:
                break
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
                own = np.int64(-1)
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
def read_lists(
    start,
    stop,
    space,
    coordinates,
    ids,
    core,
    fragment,
    k,
    neighbor,
    reach,
    nearest,
    bound,
    lightest,
):
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
        best, found = np.inf, np.int64(size)
        for place in range(i * k, i * k + k):
            j = np.int64(neighbor[place])
            if fragment[j] != own:
                distance = distance_of(space, length_between(space, coordinates, i, j))
                if distance > best:
                    break
                weight = max(max(distance, core[i]), core[j])
                if weight < best or (weight == best and found < size and ids[j] < ids[found]):
                    best, found = weight, j
        if found < size:
            lightest[own] = min(lightest[own], best)
        if found < size and best < reach[i]:
            nearest[i], bound[i] = found, best
        else:
            bound[i] = max(bound[i], min(best, max(reach[i], core[i])))


@kernel
def bound_by_order(start, stop, space, coordinates, core, fragment, nearest, lightest):
    """Bound fragments by the edges between consecutive places, if lists have not decided."""
    size = len(fragment)
    for i in range(start, min(stop, size - 1)):
        a, b = fragment[i], fragment[i + 1]
        if a != b and (nearest[i] == size or nearest[i + 1] == size):
            weight = max(core[i], core[i + 1])
            if weight < lightest[a] or weight < lightest[b]:
                weight = max(
                    weight, distance_of(space, length_between(space, coordinates, i, i + 1))
                )
                lightest[a] = min(lightest[a], weight)
                lightest[b] = min(lightest[b], weight)


@helper
def _edge_id(ids, num_ids, i, j):
    a, b = np.int64(ids[i]), np.int64(ids[j])
    return min(a, b) * num_ids + max(a, b)


@kernel
def search_outside(
    start,
    stop,
    space,
    coordinates,
    ids,
    boxes,
    core,
    least,
    fragment,
    label,
    nearest,
    bound,
    lightest,
):
    """Search for the points of a range of leaves that may have the lightest edge of a fragment.

    The active points of a leaf in one fragment are searched for together.
    """
    size, first_leaf = len(fragment), 1 << space.depth
    limits, lengths, buffer = np.empty(_MOST), np.empty(_MOST), np.empty(_MOST)
    queries, places = np.empty(_MOST * space.axes), np.empty(_MOST, np.int64)
    stack, nears, box = np.empty(_STACK, np.int64), np.empty(_STACK), np.empty(2 * space.axes)
    active, stride = np.empty(_MOST, np.int64), len(buffer)
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
                        queries[axis * stride + count] = coordinates[place]
                    count += 1
                else:
                    active[left] = i
                    left += 1
            rest = left
            best, edge, end, other = lightest[own], -1, 0, 0
            limit, top = limit_of(space, best), 0
            limits[:count] = limit
            _bound_queries(space, count, queries, stride, box)
            climber = node = first_leaf + leaf
            while True:
                is_near = label[node] != own and least[node] <= best
                if is_near and (node >= first_leaf or space.axes >= _MANY_AXES):
                    is_near = _is_near(space, boxes, node, count, queries, stride, limits, lengths)
                if is_near and node < first_leaf:
                    node *= 2
                    near, far = (
                        box_length(space, boxes, box, node),
                        box_length(space, boxes, box, node + 1),
                    )
                    if far < near:
                        near, far, node = far, near, node + 1
                    if far <= limit:
                        stack[top], nears[top] = node ^ 1, far
                        top += 1
                    if near <= limit:
                        continue
                elif is_near:
                    start_place = first_place(space, node - first_leaf, space.depth)
                    length = first_place(space, node - first_leaf + 1, space.depth) - start_place
                    for i in range(count):
                        place = places[i]
                        if lengths[i] > limit or core[place] > best:
                            continue
                        leaf_lengths(
                            space,
                            coordinates,
                            start_place * space.axes,
                            length,
                            i,
                            queries,
                            stride,
                            buffer,
                        )
                        for j in range(length):
                            target = start_place + j
                            if buffer[j] > limit or fragment[target] == own:
                                continue
                            weight = distance_of(space, buffer[j])
                            weight = max(weight, max(core[place], core[target]))
                            if weight <= best:
                                new = _edge_id(ids, space.num_ids, place, target)
                                if weight < best or edge < 0 or new < edge:
                                    best, edge, end, other = weight, new, place, target
                                    limit = limit_of(space, weight)
                    limits[:count] = limit
                while top > 0 and nears[top - 1] > limit:
                    top -= 1
                if top > 0:
                    top -= 1
                    node = stack[top]
                    continue
                node = 0
                while climber > 1 and node == 0:
                    if box_length(space, boxes, box, climber ^ 1) <= limit:
                        node = climber ^ 1
                    climber >>= 1
                if node == 0:
                    break
            for i in range(count):
                bound[places[i]] = max(bound[places[i]], best)
            if edge >= 0:
                nearest[end], bound[end] = other, best
                lightest[own] = min(lightest[own], best)


@kernel
def choose_edges(space, ids, fragment, nearest, bound, weight, edge_id, other):
    """Write the lightest edge of each fragment, from the nearest point outside of its points."""
    size = len(fragment)
    for i in range(size):
        j, own = np.int64(nearest[i]), fragment[i]
        if j < size and bound[i] <= weight[own]:
            edge = _edge_id(ids, space.num_ids, i, j)
            if bound[i] < weight[own] or edge < edge_id[own]:
                weight[own], edge_id[own], other[own] = bound[i], edge, fragment[j]
