"""The forest of points: exact on random sets, on each backend; bad input; options."""

import math

import dask.array
import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

import mstflow
from mstflow.errors import GraphError, MemoryBoundError, OptionError, OutOfMemoryError
from mstflow.pointsets.distances import METRICS, distances, row_distances
from mstflow.pointsets.memory import check_available
from oracle import kruskal_of_pairs


def draw(rng):
    """Draw points of one of several kinds, a metric and a number of samples."""
    n, d = int(rng.integers(1, 60)), int(rng.integers(1, 21))
    metric = str(rng.choice([*METRICS]))
    kind = rng.integers(5)
    if kind == 0:
        values = rng.normal(size=(n, d))
    elif kind == 1:  # a lattice
        values = rng.integers(0, 3, (n, d)) * rng.choice([1.0, 0.1])
    elif kind == 2:  # copies
        values = rng.normal(size=(3, d))[rng.integers(0, 3, n)]
    elif kind == 3:  # on a line
        values = np.outer(rng.integers(0, 40, n), rng.normal(size=d))
    else:  # clusters
        values = rng.normal(size=(4, d))[rng.integers(0, 4, n)] * 9 + rng.normal(size=(n, d)) * 0.1
    if metric == "cosine":
        values[:, 0] = abs(values[:, 0]) + 1
    if metric == "haversine":
        values = np.column_stack([values[:, 0], values[:, -1]]) % 1.5
    values = values.astype(rng.choice(["float32", "float64"]))
    return values, metric, int(rng.integers(1, min(n, 20) + 1))


def all_pairs(values, metric, min_samples):
    """Return the distances as the definitions of the metrics give them, in plain NumPy."""
    x = values.astype(np.float64)
    if metric == "cosine":
        x /= abs(x).max(axis=1, keepdims=True)
        x /= np.sqrt((x * x).sum(axis=1, keepdims=True))
    if metric == "haversine":
        a, b = x.T
        x = np.stack([np.cos(a) * np.cos(b), np.cos(a) * np.sin(b), np.sin(a)], axis=1)
    if metric in ("manhattan", "chebyshev"):
        steps = [abs(x[:, None, axis] - x[:, axis]) for axis in range(x.shape[1])]
        found = np.maximum.reduce(steps) if metric == "chebyshev" else sum(steps)
    else:
        found = sum((x[:, None, axis] - x[:, axis]) ** 2 for axis in range(x.shape[1]))
    if metric == "euclidean":
        found = np.sqrt(found)
    if metric == "cosine":
        found = found / 2
    if metric == "haversine":
        found = 2 * np.arcsin(np.minimum(np.sqrt(found) / 2, 1))
    found = found.astype(values.dtype)
    core = np.sort(found, axis=1)[:, min_samples - 1]
    if min_samples > 1:
        found = np.maximum(found, np.maximum(core, core[:, None]))
    return found


def prim(weight):
    """Return the sorted weights of the tree of a matrix."""
    near, rest, found = weight[0].copy(), np.ones(len(weight), bool), []
    rest[0] = False
    while rest.any():
        node = np.flatnonzero(rest)[near[rest].argmin()]
        found.append(near[node])
        rest[node], near = False, np.minimum(near, weight[node])
    return np.sort(np.array(found, weight.dtype))


def solve(graph, **options):
    return mstflow.minimum_spanning_forest(graph, progress=False, **options)


@pytest.mark.parametrize("backend", mstflow.backends())
def test_random_sets_equal_kruskal_and_prim(backend, examples):
    for seed in range(2 * examples):
        rng = np.random.default_rng(seed)
        values, metric, min_samples = draw(rng)
        graph = mstflow.points(values, metric=metric, min_samples=min_samples)
        forest = solve(graph, backend=backend, threads=int(rng.choice([1, 2, 3, 8])))
        case = f"seed {seed}: {values.dtype} {values.shape} {metric} {min_samples}"
        ids, n = forest.edge_ids, len(values)
        assert_array_equal(forest.u * n + forest.v, ids, err_msg=case)
        weight = all_pairs(values, metric, min_samples)
        if metric == "haversine":  # the definition of the arcsine differs in the last bits
            own = graph.columns()[2].reshape(n, n)
            np.testing.assert_allclose(own, weight, atol=1e-7, err_msg=case)
            weight = own
        pairs = weight[np.triu_indices(n, 1)]
        assert_array_equal(ids, kruskal_of_pairs(n, pairs), err_msg=case)
        assert forest.weight.dtype == values.dtype
        assert_array_equal(np.sort(forest.weight), prim(weight), strict=True, err_msg=case)


@pytest.mark.parametrize("min_samples", [1, 5])
def test_threads_and_backends_agree_on_many_points(min_samples):
    """The lattice ties everywhere; there are several pieces for threads to take."""
    rng = np.random.default_rng(0)
    lattice = np.stack(np.meshgrid(*[np.arange(200.0)] * 2), axis=-1).reshape(-1, 2)
    for values in (rng.permutation(lattice), rng.normal(size=(40_000, 2)).round(2)):
        graph = mstflow.points(values, min_samples=min_samples)
        found = [solve(graph, backend="numba", threads=threads) for threads in (1, 2, 3, 8)]
        for other in found[1:]:
            assert_array_equal(other.edge_ids, found[0].edge_ids)
        assert found[0].num_components == 1


def test_ties_on_a_lattice_go_to_the_smaller_edge_id():
    """All edges of the tree join adjacent points, so the graph of these has the same tree."""
    side = 300
    lattice = np.stack(np.meshgrid(*[np.arange(side)] * 2), axis=-1).reshape(-1, 2)
    values = np.random.default_rng(4).permutation(lattice)
    n, place = side * side, np.empty((side, side), np.int64)
    place[tuple(values.T)] = np.arange(side * side)
    a = np.concatenate([place[:-1].ravel(), place[:, :-1].ravel()])
    b = np.concatenate([place[1:].ravel(), place[:, 1:].ravel()])
    ids = np.sort(np.minimum(a, b) * n + np.maximum(a, b))
    chosen = solve((*np.divmod(ids, n), np.ones(len(ids)))).edge_ids
    assert_array_equal(solve(mstflow.points(values), backend="numba").edge_ids, ids[chosen])


def test_many_copies_are_stars():
    rng = np.random.default_rng(1)
    values = rng.normal(size=(3, 2))[rng.integers(0, 3, 100_000)]
    forest = solve(mstflow.points(values, min_samples=4))
    first = [int((values == each).all(axis=1).argmax()) for each in np.unique(values, axis=0)]
    stars = np.isin(forest.u, first)
    assert stars.all()
    assert (forest.weight > 0).sum() == 2


def test_distances_too_small_for_their_dtype_tie():
    values = np.array([[0.0], [1e-30], [2e-30], [1e-30], [2e-30]], np.float32)
    graph = mstflow.points(values, metric="sqeuclidean")
    assert solve(graph).edge_ids.tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("min_samples", [1, 3])
def test_other_algorithms_read_all_pairs(min_samples):
    graph = mstflow.points(np.random.default_rng(2).normal(size=(60, 3)), min_samples=min_samples)
    forest = solve(graph)
    options = [
        {"algorithm": "kruskal"},
        {"algorithm": "filter-boruvka", "memory": "1GB"},
        {"algorithm": "filter-kruskal", "partitions": 3, "scheduler": "threads"},
    ]
    for each in options:
        assert_array_equal(solve(graph, **each).edge_ids, forest.edge_ids)
    assert_array_equal(solve(graph, scheduler="threads").edge_ids, forest.edge_ids)
    mstflow.verify(graph, forest, progress=False)


def test_the_forest_of_points_is_like_any_other(tmp_path):
    values = np.random.default_rng(3).normal(size=(200, 2))
    graph = mstflow.points(values, min_samples=3)
    forest = solve(graph)
    assert len(np.unique(forest.cut(k=4))) == 4
    assert forest.hdbscan(min_cluster_size=5).shape == (200,)
    assert forest.linkage().shape == (199, 4)
    forest.save(tmp_path / "forest.npz")
    mstflow.verify(graph, tmp_path / "forest.npz", progress=False)
    added = forest.add((np.array([0]), np.array([199]), np.array([0.0])))
    assert 200 * 200 in added.edge_ids.tolist()
    assert solve(graph, num_vertices=200).num_components == 1


def test_integers_lists_and_tables_are_float64():
    values = [[0, 0], [3, 4], [6, 8]]
    for each in (values, np.array(values), np.array(values) > 2, pandas.DataFrame(values)):
        assert solve(mstflow.points(each)).weight.dtype == np.float64
    half = solve(mstflow.points(np.array(values, np.float16)))
    assert half.weight.dtype == np.float32
    assert half.weight.tolist() == [5.0, 5.0]
    assert len(solve(mstflow.points([[1.0, 2.0]])).edge_ids) == 0


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i8", "u4"])
def test_every_byte_order_gives_the_same_tree(dtype):
    values = np.random.default_rng(0).integers(0, 40, (60, 2)).astype(dtype) / np.array(7, dtype)
    forests = [solve(mstflow.points(values.astype(values.dtype.newbyteorder(b)))) for b in "<>"]
    assert forests[0].weight.dtype == forests[1].weight.dtype
    assert_array_equal(forests[0].edge_ids, forests[1].edge_ids)


LARGE = 2**60
TIMES = np.array(["2026-01-01T00:00:00.000000003", "2026-01-01T00:00:00.000000001"], "M8[ns]")
ROUNDED = [
    np.array([[0, LARGE + 3], [0, LARGE + 1]]),
    np.array([[0, LARGE + 3], [0, LARGE + 1]], ">u8"),
    np.array([[0, LARGE + 3], [0, LARGE + 1]], object),
    [[0, LARGE + 3], [0.5, LARGE + 1]],
    np.stack([TIMES[::-1], TIMES], axis=1),
    pandas.DataFrame({"x": [0.5, 1], "id": [LARGE + 3, LARGE + 1]}),
    pandas.DataFrame({"x": [0.5, 1], "time": TIMES}),
    polars.DataFrame({"x": [0.5, 1], "id": [LARGE + 3, LARGE + 1]}),
    pa.table({"x": [0.5, 1], "time": TIMES}),
    np.array([["0", str(LARGE + 3)], ["0", str(LARGE + 1)]]),
]


@pytest.mark.parametrize("values", ROUNDED, ids=lambda values: type(values).__name__)
def test_coordinates_are_not_rounded(values):
    with pytest.raises(GraphError, match=r"in row 0, column [01], which is not exact as float64"):
        mstflow.points(values)


def test_large_coordinates_that_are_exact():
    whole = [[LARGE, 0], [LARGE + 2**12, 0]]
    days = TIMES.astype("M8[D]").astype("M8[ns]")[:, None]
    mixed = pandas.DataFrame({"x": np.array([0, 3], "f4"), "y": np.array([0, 4], "f2")})
    for values, distance, dtype in (
        (np.array(whole), 2**12, "f8"),
        (whole, 2**12, "f8"),
        (days, 0, "f8"),
        (mixed, 5, "f4"),
        (mixed.astype({"y": int}), 5, "f8"),
    ):
        weight = solve(mstflow.points(values)).weight
        assert (weight.tolist(), weight.dtype) == ([distance], dtype)


def test_haversine_is_the_angle_on_a_sphere():
    london, new_york = np.radians([[51.5, -0.13], [40.7, -74.0]])
    forest = solve(mstflow.points([london, new_york], metric="haversine"))
    (a, b), (c, d) = london, new_york
    square = math.sin((c - a) / 2) ** 2 + math.cos(a) * math.cos(c) * math.sin((d - b) / 2) ** 2
    assert forest.weight[0] == pytest.approx(2 * math.asin(math.sqrt(square)), abs=1e-15)


class Sparse:
    """Like a sparse matrix of scipy."""

    def tocsr(self):
        raise NotImplementedError


BAD = [
    ([[0.0, 1.0], [2.0, math.nan]], {}, GraphError, "NaN in row 1, column 1"),
    ([[0.0, -math.inf], [2.0, 1.0]], {}, GraphError, "infinite in row 0, column 1"),
    ([[1e200, 0.0]], {}, GraphError, "1e\\+200 in row 0, column 0"),
    (np.empty((0, 3)), {}, GraphError, "at least one point"),
    (np.empty((3, 0)), {}, GraphError, "at least one point"),
    ([1.0, 2.0], {}, GraphError, "reshape"),
    ([["a"]], {}, GraphError, "not an array of numbers"),
    (np.zeros((2, 2, 2)), {}, GraphError, "shape"),
    (np.zeros((2, 2), complex), {}, GraphError, "complex"),
    (np.zeros((2, 2), np.longdouble), {}, GraphError, "wider than float64"),
    (np.array([["NaT"], [1]], "M8[ns]"), {}, GraphError, "NaN in row 0, column 0"),
    (Sparse(), {}, GraphError, "toarray"),
    (np.broadcast_to(np.zeros((1, 1)), (2**32, 1)), {}, GraphError, "18,446,744,073,709,551,616"),
    ([[0.0]], {"metric": "hamming"}, OptionError, "euclidean"),
    ([[0.0]], {"min_samples": 2}, OptionError, "1 to the 1 points"),
    ([[0.0]], {"min_samples": 1.5}, OptionError, "integer"),
    ([[0.0, 0.0]], {"metric": "cosine"}, GraphError, "row 0"),
    ([[0.0]], {"metric": "haversine"}, OptionError, "two columns"),
    ([[51.5, -0.1]], {"metric": "haversine"}, OptionError, "numpy.radians"),
]


@pytest.mark.parametrize(("values", "options", "error", "message"), BAD)
def test_bad_points_are_refused(values, options, error, message):
    with pytest.raises(error, match=message):
        mstflow.points(values, **options)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"maximum": True}, OptionError, "maximum="),
        ({"partitions": 2}, OptionError, "partitions="),
        ({"strategy": "tree"}, OptionError, "strategy="),
        ({"checkpoint": "folder"}, OptionError, "checkpoint="),
        ({"memory": 10}, MemoryBoundError, "for 3 points"),
        ({"num_vertices": 4}, OptionError, "there are 3 points"),
    ],
)
def test_options_that_do_not_apply_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        solve(mstflow.points([[0.0], [1.0], [3.0]]), **options)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("metric", METRICS)
def test_distances_of_rows_are_added_in_the_order_of_columns(metric, dtype):
    left, right = np.random.default_rng(0).normal(size=(2, 200, 50)) / 50
    expected = distances(metric, dtype, left.T, right.T)
    assert_array_equal(row_distances(metric, dtype, left, right), expected)


class Unread:
    """An array of more points than any memory holds, which cannot be read."""

    shape = (3 * 10**9, 100)

    def __array__(self, *_, **__):
        raise AssertionError("the points were read")


def test_more_points_than_memory_are_refused_before_they_are_read():
    with pytest.raises(OutOfMemoryError, match=r"3,000,000,000 points .* up to 7650 GB, but"):
        mstflow.points(Unread())
    with pytest.raises(OutOfMemoryError, match=r"100,000,000 points .* 22.2 GB, but 8 GB are"):
        check_available(10**8, 3, available=8 * 10**9)
    check_available(10**8, 3, available=23 * 10**9)


def test_memory_maps_and_dask_arrays(tmp_path):
    rows = np.random.default_rng(0).normal(size=(300, 3))
    np.save(tmp_path / "rows.npy", rows)
    expected = solve(mstflow.points(rows)).edge_ids
    on_disk = np.load(tmp_path / "rows.npy", mmap_mode="r")
    mapped = mstflow.points(on_disk)
    assert np.shares_memory(mapped.only_segment.rows, on_disk)
    assert_array_equal(solve(mapped).edge_ids, expected)
    with pytest.raises(MemoryBoundError, match="at least 66600 bytes for 300 points"):
        solve(mapped, memory="50kB")
    chunks = dask.array.from_array(rows, chunks=(100, 3))
    assert_array_equal(solve(mstflow.points(chunks)).edge_ids, expected)
    some = chunks[chunks[:, 0] > 0]  # its number of rows is unknown
    assert solve(mstflow.points(some)).num_vertices == (rows[:, 0] > 0).sum()


def test_the_algorithm_of_points_needs_points():
    with pytest.raises(OptionError, match=r"mstflow\.points"):
        solve(([0], [1]), algorithm="boruvka-points")
    text = mstflow.algorithm("boruvka-points").describe()
    assert "find_nearest_outside" in text
