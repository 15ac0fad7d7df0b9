"""Trees of points by blocks of distances equal those of a plain Kruskal over all pairs."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.spatial.distance import cdist

import interpreted_gpu
import mstflow
from mstflow.errors import OptionError
from mstflow.primitives import Backend, array_module, blocks
from mstflow.primitives.points import Points
from mstflow.runtime.distances import distance_block
from mstflow.runtime.sizes import tuned
from oracle import kruskal_of_pairs

BACKENDS = [Backend(name) for name in mstflow.backends()] + [Backend("numba", 2)]
METRICS = ["euclidean", "sqeuclidean", "cosine", "manhattan", "chebyshev"]


@pytest.fixture(params=BACKENDS, ids=str)
def backend(request, monkeypatch):
    """Return a backend, with blocks so small that points take several."""
    if interpreted_gpu.is_in_use():  # it has no cuBLAS
        monkeypatch.setattr(blocks, "_product", product_by_axis)
    with tuned(block=2000, block_rows=40, block_columns=50):
        yield request.param


def product_by_axis(left, right):
    """Return the matrix product of two blocks of rows."""
    return sum(a[:, None] * b[None, :] for a, b in zip(left.T, right.T, strict=True))


def samples(random, count, dims, dtype):
    """Return points of one of five kinds: normal, a lattice, copies, clusters, a simplex."""
    rows = random.normal(size=(count, dims))
    kind = random.integers(5)
    if kind == 1:
        rows = np.round(rows)
    elif kind == 2:
        rows = rows[random.integers(0, max(1, count // 3), count)]
    elif kind == 3:
        rows = 0.05 * rows + random.normal(size=(8, dims))[random.integers(0, 8, count)] + 100
    elif kind == 4:
        rows = np.eye(max(count, dims))[:count, :dims]
    rows[~rows.any(axis=1), 0] = 1  # for cosine
    return rows.astype(dtype)


def kruskal(graph):
    """Return the edge ids of the tree of all pairs."""
    n = graph.num_vertices
    u, v = np.triu_indices(n, 1)
    return kruskal_of_pairs(n, graph.take(u * n + v)[2])


def solve(graph, backend, algorithm="boruvka-blocks"):
    name, threads = backend
    return mstflow.minimum_spanning_forest(
        graph, algorithm=algorithm, backend=name, threads=threads, progress=False
    )


def test_equals_kruskal_and_the_search_tree(backend, examples):
    for seed in range(examples // 2):
        random = np.random.default_rng(seed)
        count, dims = int(random.integers(1, 120)), int(random.integers(1, 30))
        rows = samples(random, count, dims, random.choice(["float32", "float64"]))
        rank = int(random.integers(1, min(12, count) + 1)) if seed % 2 else 1
        graph = mstflow.points(rows, metric=METRICS[seed % 5], min_samples=rank)
        forest = solve(graph, backend)
        assert_array_equal(forest.edge_ids, kruskal(graph), err_msg=f"seed {seed}")
        if seed % 4 == 0:
            other = solve(graph, backend, "boruvka-points")
            assert_array_equal(forest.edge_ids, other.edge_ids)


def test_many_dimensions_and_functions_are_solved_in_blocks(backend):
    random = np.random.default_rng(1)
    for dims, metric, name in ((20, "euclidean", "points"), (21, "euclidean", "blocks")):
        graph = mstflow.points(random.normal(size=(60, dims)), metric=metric)
        forest = mstflow.minimum_spanning_forest(graph, backend=backend.name)
        assert forest.report.plan.algorithm == f"boruvka-{name}"
        assert_array_equal(forest.edge_ids, kruskal(graph))

    def lengths_and_squares(a, b):
        """A distance that works on arrays of any library."""
        total = 0.0
        for axis in range(a.shape[1]):
            length = abs(a[:, axis, None] - b[None, :, axis])
            total = total + length + length * length
        return total

    rows = samples(random, 90, 5, "float64")
    for rank in (1, 4):
        graph = mstflow.points(rows, metric=lengths_and_squares, min_samples=rank)
        forest = mstflow.minimum_spanning_forest(graph, backend=backend.name)
        assert forest.report.plan.algorithm == "boruvka-blocks"
        assert_array_equal(forest.edge_ids, kruskal(graph))


def test_clusters_take_two_passes(backend):
    """The first pass joins each cluster, the second compares all clusters."""
    random = np.random.default_rng(2)
    centers = 100 * random.normal(size=(12, 25))
    graph = mstflow.points(random.normal(size=(240, 25)) + centers[np.arange(240) % 12])
    forest = solve(graph, backend, mstflow.algorithm("boruvka-blocks").given(spare_candidates=5))
    assert_array_equal(forest.edge_ids, kruskal(graph))
    names = [call.stage for call in forest.report.calls]
    assert names.count("find_neighbors_in_blocks") == names.count("compare_fragments") == 1
    assert "find_nearest_in_blocks" not in names


def test_searches_for_some_points_and_pairs_of_fragments(backend, examples):
    ops = array_module(backend)
    for seed in range(examples // 2):
        random = np.random.default_rng(seed)
        n, dims, k = (int(random.integers(1, most)) for most in (150, 40, 12))
        metric, dtype = METRICS[seed % 5], random.choice(["float32", "float64"])
        rows = samples(random, n, dims, dtype).astype(np.float64)
        given = np.arange(n, dtype=np.int32)
        points = Points(ops.asarray(rows.ravel()), ops.asarray(given), n, dims, metric, str(dtype))
        core = random.random(n) * (seed % 3)
        found = np.unique(random.integers(0, random.integers(1, n + 1), n), return_inverse=True)
        fragment, count = found[1].astype(np.int32), len(found[0])
        sought = np.flatnonzero(random.random(n) < (seed % 2 or 0.3)).astype(np.int32)

        weight = distance_block(metric, str(dtype), rows, rows)
        weight = np.maximum(weight, np.maximum(core[:, None], core))
        weight[fragment[:, None] == fragment] = np.inf
        padded = np.pad(weight, ((0, 0), (0, k)), constant_values=np.inf)
        order = np.argsort(padded, axis=1, kind="stable")[sought, :k]
        nearest = padded[sought[:, None], order]
        neighbor = np.where(np.isinf(nearest), n, order)
        arrays = (ops.asarray(each) for each in (core, fragment, sought))
        for ours, expected in zip(
            ops.nearest_in_blocks(points, *arrays, k), (nearest, neighbor), strict=True
        ):
            assert_array_equal(ops.to_host(ours), expected.ravel(), err_msg=f"seed {seed}")

        lightest = np.full(count * count, np.inf)
        edge_id = np.full(count * count, 2**63 - 1)
        for u in range(n):
            for v in range(u + 1, n):
                a, b = sorted((fragment[u], fragment[v]))
                place = a * count + b
                if a != b and (weight[u, v], u * n + v) < (lightest[place], edge_id[place]):
                    lightest[place], edge_id[place] = weight[u, v], u * n + v
        ours = ops.lightest_between(points, ops.asarray(core), ops.asarray(fragment), count)
        assert_array_equal(ops.to_host(ours[0]), lightest, err_msg=f"seed {seed}")
        assert_array_equal(ops.to_host(ours[1]), edge_id)


def test_extreme_scales(backend):
    """Products overflow or lose all bits unless points are centered and scaled."""
    random = np.random.default_rng(3)
    for scale, shift in ((1e150, 0.0), (1e-150, 0.0), (1e-200, 0.0), (1.0, 1e9)):
        rows = scale * random.normal(size=(80, 24)) + shift
        graph = mstflow.points(rows)
        assert_array_equal(solve(graph, backend).edge_ids, kruskal(graph))


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        (lambda a, b: a[:, 0], r"must return an array of shape \(50, 50\)"),
        (lambda a, b: -cdist(a, b), "negative or NaN; distances must be at least 0"),
    ],
)
def test_functions_that_are_no_metrics(metric, message):
    rows = np.random.default_rng(4).normal(size=(50, 3))
    with pytest.raises(OptionError, match=message):
        mstflow.minimum_spanning_forest(mstflow.points(rows, metric=metric), backend="numpy")
