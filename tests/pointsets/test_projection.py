"""Projections on principal axes bound distances, and searches by them find the same tree."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import mstflow
from mstflow.pointsets.primitives.projection import principal_axes, project
from oracle import kruskal_of_pairs

BACKENDS = [*mstflow.backends()]


def near_few_axes(random, count, num_axes):
    """Return points near a space of three dimensions."""
    plane = random.normal(size=(count, 3)) @ random.normal(size=(3, num_axes))
    return plane + 1e-3 * random.normal(size=(count, num_axes))


def equal_but_for_one_bit(random, count, num_axes):
    """Return copies of a few points, in each of which one coordinate is the next number."""
    rows = random.normal(size=(4, num_axes))[random.integers(0, 4, count)]
    axis = random.integers(0, num_axes, count)
    rows[np.arange(count), axis] = np.nextafter(rows[np.arange(count), axis], np.inf)
    return rows


def far_from_the_origin(random, count, num_axes):
    return near_few_axes(random, count, num_axes) + 1e6


def of_all_scales(random, count, num_axes):
    """Return coordinates from 1e-45 to 1e38, of which some rows have only small ones."""
    exponents = random.uniform(-45, 38, (count, num_axes)) - random.integers(0, 2, (count, 1)) * 40
    return random.choice([-1, 1], (count, num_axes)) * 10.0 ** np.maximum(exponents, -45)


def of_scales_per_axis(random, count, num_axes):
    """Return axes of very different scales: the rest of a projection is tiny or large."""
    return random.normal(size=(count, num_axes)) * 10.0 ** random.uniform(-45, 38, num_axes)


def with_large_outliers(random, count, num_axes):
    """Return small points and two that are so far away that all others project on one place."""
    rows = 1e-30 * random.normal(size=(count, num_axes))
    rows[:2] *= 1e68
    return rows


def on_a_lattice(random, count, num_axes):
    return random.integers(0, 2, (count, num_axes)).astype(float)


def points(kind, seed, count, num_axes, dtype):
    """Return points of a kind; squares of larger coordinates exceed float32."""
    rows = kind(np.random.default_rng(seed), count, num_axes)
    return (rows.clip(-1e17, 1e17) if dtype == "float32" else rows).astype(dtype)


KINDS = [
    near_few_axes,
    equal_but_for_one_bit,
    far_from_the_origin,
    of_all_scales,
    of_scales_per_axis,
    with_large_outliers,
    on_a_lattice,
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_distances_of_projections_are_bounds(kind, dtype):
    for seed, count in itertools.product(range(4), (1, 3, 20)):
        rows = points(kind, seed, 60, 24, dtype).astype(np.float64)
        projections, error = project(rows, count)
        assert projections.shape == (60, count + 1)
        exact, bound = (
            np.sqrt(((each[:, None] - each) ** 2).sum(axis=2))
            for each in (rows.astype(np.longdouble), projections.astype(np.longdouble))
        )
        assert (bound <= exact + error).all()


def test_principal_axes_suffice_for_points_near_few_axes():
    rows = near_few_axes(np.random.default_rng(0), 200, 50)
    projections, error = project(rows, 3)
    exact, bound = (
        np.sqrt(((each[:, None] - each) ** 2).sum(axis=2)) for each in (rows, projections)
    )
    assert (exact - bound).max() < 0.02
    assert error < 1e-9
    for sample in (rows, rows[:20]):  # more points than axes, and fewer
        axes = principal_axes(sample)[1]
        assert abs(axes.T @ axes - np.eye(axes.shape[1])).max() < 1e-12


@pytest.mark.parametrize("offset", [0.0, 1.0])
@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_points_without_normal_squares_are_not_projected(scale, offset):
    """The squares are those of centered points: a constant column changes none."""
    rows = scale * np.random.default_rng(0).normal(size=(9, 9))
    assert project(np.hstack([np.full((9, 1), offset), rows]), 3) is None


@pytest.mark.parametrize(
    ("side", "copies", "scale", "search_axes"), [(7, 40, 1.5e-162, 3), (4, 12, 3e-162, 1)]
)
def test_searches_find_the_tree_of_tiny_points_beside_a_constant_column(
    side, copies, scale, search_axes
):
    lattice = np.random.default_rng(1).permutation(list(itertools.product(range(side), repeat=3)))
    rows = np.hstack([np.ones((side**3, 1)), scale * np.repeat(lattice, copies, axis=1)])
    graph = mstflow.points(rows)
    pipeline = mstflow.algorithm("boruvka-points").given(search_axes=search_axes)
    expected, found = (
        mstflow.minimum_spanning_forest(graph, algorithm=algorithm, progress=False, **options)
        for algorithm, options in [("filter-kruskal", {}), (pipeline, {"backend": "numba"})]
    )
    assert_array_equal(found.edge_ids, expected.edge_ids)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", KINDS)
def test_searches_by_projections_find_the_same_tree(kind, backend):
    for seed, dtype in itertools.product(range(4), ("float32", "float64")):
        rows = points(kind, seed, 150, 24, dtype)
        metric = ["euclidean", "sqeuclidean", "cosine", "euclidean"][seed]
        if metric == "cosine":
            rows = rows + (~rows.any(axis=1))[:, None].astype(dtype)
        graph = mstflow.points(rows, metric=metric, min_samples=[1, 4][seed % 2])
        pipeline = mstflow.algorithm("boruvka-points").given(search_axes=[1, 3, 8, 20][seed])
        forest = mstflow.minimum_spanning_forest(
            graph, algorithm=pipeline, backend=backend, threads=2, progress=False
        )
        u, v = np.triu_indices(150, 1)
        expected = kruskal_of_pairs(150, graph.take(u * 150 + v)[2])
        assert_array_equal(forest.edge_ids, expected, err_msg=f"seed {seed}, {dtype}")
