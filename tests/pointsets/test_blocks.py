"""Trees of points by blocks of distances equal those of a plain Kruskal over all pairs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.spatial.distance import cdist

import interpreted_gpu
import mstflow
from mstflow.errors import GraphError, OptionError, PipelineError
from mstflow.pointsets.distances import distance_block
from mstflow.pointsets.primitives import blocks
from mstflow.pointsets.primitives.searches import Points
from mstflow.pointsets.stages.blocks import find_nearest_in_blocks
from mstflow.pointsets.stages.fields import Neighbors
from mstflow.pointsets.stages.tree import find_nearest_outside
from mstflow.primitives import Backend, array_module
from mstflow.runtime.sizes import tuned
from oracle import kruskal_of_pairs

BACKENDS = [Backend(name) for name in mstflow.backends()] + [Backend("numba", 2)]
#: The tree on one, on two and on several principal axes.
PROJECTED = [mstflow.algorithm("boruvka-points").given(search_axes=k) for k in (1, 2, 5)]
ALGORITHMS = ["boruvka-points", "boruvka-blocks", *PROJECTED[:2]]
IDS = ["boruvka-points", "boruvka-blocks", "on one axis", "on two axes"]
METRICS = ["euclidean", "sqeuclidean", "cosine", "manhattan", "chebyshev"]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Make blocks so small that points take several."""
    if interpreted_gpu.is_in_use():  # it has no cuBLAS
        monkeypatch.setattr(blocks, "_product", product_by_axis)
    with tuned(block=2000, block_rows=40, block_columns=50):
        yield


@pytest.fixture(params=BACKENDS, ids=str)
def backend(request):
    return request.param


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
    name, threads, _ = backend
    return mstflow.minimum_spanning_forest(
        graph, algorithm=algorithm, backend=name, threads=threads, progress=False
    )


def test_equals_kruskal_and_the_search_tree(backend, examples):
    for seed in range(examples):
        random = np.random.default_rng(seed)
        count, dims = int(random.integers(1, 120)), int(random.integers(1, 30))
        rows = samples(random, count, dims, random.choice(["float32", "float64"]))
        rank = int(random.integers(1, min(12, count) + 1)) if seed % 2 else 1
        graph = mstflow.points(rows, metric=METRICS[seed % 5], min_samples=rank)
        forest = solve(graph, backend)
        assert_array_equal(forest.edge_ids, kruskal(graph), err_msg=f"seed {seed}")
        if seed % 4 == 0:
            for algorithm in ("boruvka-points", *PROJECTED):
                other = solve(graph, backend, algorithm)
                assert_array_equal(forest.edge_ids, other.edge_ids, err_msg=f"seed {seed}")


def test_functions_are_solved_in_blocks(backend):
    random = np.random.default_rng(1)

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
    ops = array_module(backend._replace(wing="pointsets"))
    for seed in range(examples):
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
        for algorithm in ("boruvka-blocks", *PROJECTED):
            assert_array_equal(solve(graph, backend, algorithm).edge_ids, kruskal(graph))


@st.composite
def points_of_many_scales(draw):
    """Draw groups of points around one center, each group at another scale.

    The points of a group come in pairs around the center. So the mean is near it, and small groups
    are not lost when points are centered.
    """
    dtype, lowest, highest = draw(st.sampled_from([("float32", -149, 60), ("float64", -1074, 508)]))
    exponent, dims = draw(st.integers(lowest, highest)), draw(st.integers(1, 4))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    groups = []
    for _ in range(draw(st.integers(1, 3))):
        half = random.normal(size=(draw(st.integers(1, 6)), dims))
        half = np.ldexp(np.round(half) if draw(st.booleans()) else half, exponent)
        groups += [half, -half]
        exponent = max(lowest, exponent - draw(st.integers(0, 90)))
    center = np.ldexp(random.normal(size=dims), draw(st.integers(lowest, highest)))
    rows = random.permutation(np.concatenate(groups) + center * draw(st.booleans())).astype(dtype)
    rows[~rows.any(axis=1), 0] = 1  # for cosine
    rank = draw(st.integers(1, min(4, len(rows))))
    return mstflow.points(rows, metric=draw(st.sampled_from(METRICS)), min_samples=rank)


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=IDS)
@pytest.mark.parametrize("backend", BACKENDS, ids=str)
@given(graph=points_of_many_scales(), spare=st.integers(1, 8))
def test_scales_from_the_smallest_number_to_the_largest(algorithm, backend, graph, spare):
    pipeline = mstflow.algorithm(algorithm) if isinstance(algorithm, str) else algorithm
    if "spare_candidates" in pipeline.values:
        pipeline = pipeline.given(spare_candidates=spare)
    assert_array_equal(solve(graph, backend, pipeline).edge_ids, kruskal(graph))


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean"])
def test_products_that_underflow(backend, metric):
    """In float32, the products of coordinates in the inner groups are subnormal or 0."""
    corners = np.array([[1, 1, 1], [1, -1, -1], [-1, -1, -1], [-1, 1, 1]])
    few = mstflow.algorithm("boruvka-blocks").given(spare_candidates=2)
    for exponent in range(-76, -63, 2):
        for seed in range(2):
            random = np.random.default_rng(seed)
            inner = random.normal(size=(1, 3)) + random.choice([0.001, 1]) * random.normal(
                size=(8, 3)
            )
            inner = np.ldexp(inner, exponent)
            rows = np.concatenate([corners, inner, -inner]).astype(np.float32)
            graph = mstflow.points(rows, metric=metric)
            assert_array_equal(solve(graph, backend, few).edge_ids, kruskal(graph))


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=IDS)
@pytest.mark.parametrize("metric", ["cosine", "haversine", "euclidean"])
def test_squares_that_underflow(backend, metric, algorithm):
    """Squares of differences are the smallest numbers, so a distance may be 0 if they are not."""
    for exponent in range(-538, -533, 2):
        for seed in range(2):
            random = np.random.default_rng(seed)
            rows = random.choice([random.normal(size=(40, 2)), random.integers(0, 4, (40, 2))])
            rows = np.ldexp(rows, exponent)
            if metric == "cosine":
                rows[:, 0] = 1
            graph = mstflow.points(rows, metric=metric)
            assert_array_equal(solve(graph, backend, algorithm).edge_ids, kruskal(graph))


def test_rounds_without_progress_are_errors():
    """A search that finds no point outside would be repeated for ever."""
    ops = array_module(Backend("numpy", wing="pointsets"))
    points = Points(np.arange(4.0), np.arange(4, dtype=np.int32), 4, 1, "euclidean", "float64")
    core, none = np.zeros(4), np.full(4, 4, np.int32)
    inside = np.zeros(4, np.int32)
    candidates = Neighbors(core, none, core, none)
    with pytest.raises(GraphError, match="rounds of 'boruvka-blocks' make no progress"):
        find_nearest_in_blocks(ops, points, core, candidates, inside, np.array([2], np.int32))
    tree = ops.build_tree(points, 1)
    boxes = ops.bound_nodes(tree)
    _, reach, neighbor = ops.nearest_neighbors(tree, boxes, 1, 0)
    with pytest.raises(PipelineError, match="rounds of 'boruvka-points' make no progress"):
        find_nearest_outside(ops, tree, boxes, core, reach, neighbor, inside, 2, none, core)


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        (lambda a, b: a[:, 0], r"must return an array of shape \(40, 50\)"),
        (lambda a, b: -cdist(a, b), "negative or NaN; distances must be at least 0"),
    ],
)
def test_functions_that_are_no_metrics(metric, message):
    rows = np.random.default_rng(4).normal(size=(50, 3))
    with pytest.raises(OptionError, match=message):
        mstflow.minimum_spanning_forest(mstflow.points(rows, metric=metric), backend="numpy")


def test_products_in_single_precision_if_they_suffice():
    """Clusters that are far apart need double precision: their distances are small differences."""
    random = np.random.default_rng(5)
    near = random.normal(size=(300, 20))
    far = near + 1e6 * random.normal(size=(3, 20))[np.arange(300) % 3]
    ops, ids = array_module("numpy"), np.arange(300, dtype=np.int32)
    for rows, dtype in ((near, "float32"), (1e-100 * near, "float32"), (far, "float64")):
        points = Points(rows.ravel(), ids, 300, 20, "euclidean", "float64")
        assert blocks.screen_of(ops, points).rows.dtype == dtype
        graph = mstflow.points(rows, min_samples=4)
        for backend in BACKENDS:
            assert_array_equal(solve(graph, backend).edge_ids, kruskal(graph))
