"""The cases of `mstflow.testing`, and one for each primitive of points."""

import math

import numpy as np

from mstflow.pointsets.distances import METRICS, distances
from mstflow.pointsets.primitives.searches import PADDING, Points, Tree
from mstflow.primitives import Backend, array_module
from mstflow.testing.primitive_cases import (
    FLOATS,
    INDEX,
    case,
    compare,
    largest_value,
    positions,
    some_ids,
    some_index,
    some_pairs,
)

_POINTS = array_module(Backend("numpy", wing="pointsets"))


def some_points(rng, dtype, n):
    """Draw points, of which many are equal or at equal distances; return them and a metric."""
    axes, metric = rng.randint(1, 4), rng.choice(sorted(METRICS))
    if metric == "haversine":
        axes = 3
    scale = rng.choice([1, 2, 1000])
    values = [rng.randrange(-3 * scale, 3 * scale) / scale for _ in range(n * axes)]
    ids = some_ids(rng, n)
    size = 3 * n + 1
    coordinates = np.array(values, np.float64)
    if metric == "haversine":  # unit vectors
        rows = coordinates.reshape(n, axes)
        rows[~rows.any(axis=1)] = 1
        rows /= np.sqrt((rows * rows).sum(axis=1, keepdims=True))
    return Points(coordinates, ids, size, axes, metric, dtype.name)


def rows_of(points):
    return points.coordinates.reshape(-1, points.num_axes)


def distance_matrix(rows, points):
    columns = [rows[:, axis] for axis in range(points.num_axes)]
    left = [column[:, None] for column in columns]
    return np.asarray(distances(points.metric, points.dtype, left, columns))


def ordered(rng, dtype, n):
    """Return a tree over points, its boxes, and the points in its order."""
    points = some_points(rng, dtype, max(n, 2))
    tree = _POINTS.build_tree(points, rng.randint(0, min(4, len(points.ids).bit_length() - 1)))
    order = np.searchsorted(points.ids, tree.ids)
    return tree, _POINTS.bound_nodes(tree), rows_of(points)[order]


@case(FLOATS)
def count_equal(rng, dtype, n):
    n = min(n, 500)
    points = some_points(rng, dtype, n)
    rows = [tuple(row) for row in rows_of(points).tolist()]
    first = [rows.index(row) for row in rows]
    count = [rows[:place].count(row) for place, row in enumerate(rows)]
    return (points,), {}, (positions(first, n), positions(count, n))


@case(FLOATS)
def point_distances(rng, dtype, n):
    n = min(n, 500)
    points = some_points(rng, dtype, n + 1)
    u, v = some_pairs(rng, n + 1, n)
    matrix = distance_matrix(rows_of(points), points)
    return (points, u, v), {}, matrix[u, v]


@case(FLOATS)
def build_tree(rng, dtype, n):
    points = some_points(rng, dtype, max(1, min(n, 20_000)))
    rows = rows_of(points)
    depth = rng.randint(0, min(4, len(rows).bit_length() - 1))
    nodes = [list(range(len(rows)))]
    for level in range(depth):
        halves = []
        for number, node in enumerate(nodes):
            axis = int(np.argmax(np.ptp(rows[node], axis=0)))
            column = rows[:, axis].tolist()
            node.sort(key=lambda point: (column[point], point))
            first, middle = (len(rows) * q >> level + 1 for q in (2 * number, 2 * number + 1))
            halves += [node[: middle - first], node[middle - first :]]
        nodes = halves
    leaves = [sorted(node) for node in nodes]
    coordinates = np.append(rows[np.concatenate(leaves)].T.ravel(), np.zeros(PADDING))
    ids = points.ids[np.concatenate(leaves)]
    return (points, depth), {}, Tree(coordinates, ids, *points[2:], depth)


@case(FLOATS)
def bound_nodes(rng, dtype, n):
    tree, _, rows = ordered(rng, dtype, n)
    boxes = [[0.0] * (2 * tree.num_axes)]
    for level in range(tree.depth + 1):
        for node in range(2**level):
            some = rows[len(rows) * node >> level : len(rows) * (node + 1) >> level]
            boxes.append([*some.min(axis=0), *some.max(axis=0)])
    return (tree,), {}, np.array(boxes).ravel()


@case(FLOATS)
def nearest_neighbors(rng, dtype, n):
    tree, boxes, rows = ordered(rng, dtype, min(n, 300))
    matrix, size = distance_matrix(rows, tree), len(rows)
    k = rng.randint(1, min(size - 1, 9))
    rank = rng.randint(0, k)
    lists = [
        sorted((matrix[i, j], tree.ids[j], j) for j in range(size) if j != i)[:k]
        for i in range(size)
    ]
    core = np.array([near[rank - 1][0] if rank else 0.0 for near in lists])
    reach = np.array([near[-1][0] for near in lists])
    neighbor = positions([j for near in lists for _, _, j in near], size)
    return (tree, boxes, k, rank), {}, (core, reach, neighbor)


@case(FLOATS)
def nearest_outside(rng, dtype, n):
    """The fragments are unions of earlier ones, for which nearest points are known."""
    tree, boxes, rows = ordered(rng, dtype, min(n, 300))
    matrix, size, ops = distance_matrix(rows, tree), len(rows), _POINTS
    k = rng.randint(1, min(size - 1, 5))
    rank = rng.randint(0, k)
    core, reach, neighbor = ops.nearest_neighbors(tree, boxes, k, rank)
    weight = np.maximum(matrix, np.maximum(core, core[:, None]))
    count = rng.randint(1, size)
    fragment = some_index(rng, count, size, INDEX[0])
    known, bound = positions([size] * size, size), core
    if rng.randrange(2):
        earlier = fragment * size + np.arange(size) % rng.randint(1, 3)
        _, earlier = np.unique(earlier, return_inverse=True)
        lists = core, reach, neighbor, earlier.astype(np.int32), size, known, bound
        *_, known, bound = ops.nearest_outside(tree, boxes, *lists)
    best = [(math.inf, largest_value(np.dtype(np.int64)), f) for f in range(count)]
    nearest = {}
    for i in range(size):
        for j in range(size):
            if fragment[i] != fragment[j]:
                low, high = sorted((int(tree.ids[i]), int(tree.ids[j])))
                pair = weight[i, j], low * tree.num_ids + high, fragment[j]
                best[fragment[i]] = min(best[fragment[i]], pair)
                nearest[i] = min(nearest.get(i, (math.inf, 0, 0)), (weight[i, j], tree.ids[j], j))
    lightest, edge_id, other = zip(*best, strict=True)
    expected = np.array(lightest), np.array(edge_id, np.int64), np.array(other, np.int32)

    def check(weights, edge_ids, others, found, bounds):
        compare("nearest_outside", (weights, edge_ids, others), expected)
        for i, (j, least) in enumerate(zip(found.tolist(), bounds.tolist(), strict=True)):
            if j < size:
                assert (least, j) == (nearest[i][0], nearest[i][2])
            else:
                assert i not in nearest or least <= nearest[i][0]

    arguments = core, reach, neighbor, fragment, count, known, bound
    return (tree, boxes, *arguments), {}, check
