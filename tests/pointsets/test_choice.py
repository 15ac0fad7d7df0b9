"""The algorithm and the backend that "auto" chooses for points."""

import numpy as np
import pytest

import mstflow
from mstflow.errors import GraphWarning, OptionError
from mstflow.pointsets.choice import choose, numpy_seconds
from mstflow.pointsets.probe import probe
from mstflow.runtime.sizes import tuned
from processes import run_python

#: The first runs of a process on the same points.
PROGRAM = """
import numpy as np, mstflow
from mstflow.runtime.sizes import tuned
graph = mstflow.points(np.random.default_rng(0).normal(size=({n}, {axes})))
expected = mstflow.minimum_spanning_forest(graph, backend="numpy")
with tuned({options}):
    for _ in range({runs}):
        forest = mstflow.minimum_spanning_forest(graph)
        assert np.array_equal(forest.edge_ids, expected.edge_ids)
        assert np.array_equal(forest.weight, expected.weight)
        print(forest.report.plan.algorithm, forest.report.plan.backend)
"""


@pytest.mark.parametrize(
    ("n", "axes", "options", "expected"),
    [
        (200, 2, "", ["boruvka-blocks numpy"] * 2),
        (200, 2, "points_compiled_from=0.0", ["boruvka-points numba"] * 2),
        (200, 30, "points_compiled_from=0.0", ["boruvka-blocks numba"] * 2),
        # Estimates of earlier runs count: 200^2 pairs at 10.4 ns, .000416 s.
        (
            *(200, 2, "points_compiled_from=.0016"),
            ["boruvka-blocks numpy"] * 3 + ["boruvka-points numba"] * 2,
        ),
    ],
)
def test_auto_uses_kernels_once_they_pay(n, axes, options, expected):
    """In a process of its own, because this one has loaded the kernels."""
    program = PROGRAM.format(n=n, axes=axes, options=options, runs=len(expected))
    assert run_python("-c", program, check=True).stdout.splitlines() == expected


LOADED = """
import numpy as np, mstflow
from mstflow.runtime.sizes import tuned
random = np.random.default_rng(0)
with tuned(points_compiled_from=0.0):
    mstflow.minimum_spanning_forest(mstflow.points(random.normal(size=(200, 30))))
plan = mstflow.minimum_spanning_forest(mstflow.points(random.normal(size=(200, 2)))).report.plan
print(plan.algorithm, plan.backend)
"""


EXPLICIT = """
import numpy as np, mstflow
graph = mstflow.points(np.random.default_rng(0).normal(size=(200, 2)))
for backend in "auto", "numba", "numpy", "auto":
    print(mstflow.minimum_spanning_forest(graph, backend=backend).report.plan.backend)
"""


def test_auto_uses_the_kernels_that_the_caller_has_loaded():
    assert run_python("-c", EXPLICIT).stdout.split() == ["numpy", "numba", "numpy", "numba"]


def test_auto_uses_loaded_kernels_of_blocks_before_it_loads_those_of_a_tree():
    assert run_python("-c", LOADED).stdout.split() == ["boruvka-blocks", "numba"]


def test_the_estimated_time_is_quadratic_and_grows_with_axes():
    def seconds(n, axes, metric="euclidean", algorithm="boruvka-blocks"):
        segment = mstflow.points(np.ones((n, axes)), metric=metric).only_segment
        return numpy_seconds(segment, algorithm)

    assert seconds(2000, 2) == pytest.approx(4 * seconds(1000, 2))
    assert seconds(100, 2) < seconds(100, 9) < seconds(100, 9, "manhattan")
    assert seconds(100, 2, algorithm="boruvka-points") == pytest.approx(10 * seconds(100, 2))


def test_long_runs_on_numpy_start_with_a_warning():
    segment = mstflow.points(np.zeros((40_000, 2))).only_segment
    with pytest.warns(GraphWarning, match=r"40,000 points, .* about 17 s; pass backend='numba'"):
        choose(segment, None, "numpy")


def manhattan(left, right):
    return abs(left[:, None] - right[None]).sum(axis=-1)


def test_auto_searches_no_tree_by_kernels_if_the_metric_is_a_function():
    graph = mstflow.points(normal(100, 4), metric=manhattan)
    with tuned(points_loaded_from=0.0, points_compiled_from=0.0):
        forest = mstflow.minimum_spanning_forest(graph, algorithm="boruvka-points")
    assert forest.report.plan.backend == "numpy"
    expected = mstflow.minimum_spanning_forest(graph, algorithm="boruvka-blocks", backend="numba")
    assert np.array_equal(forest.edge_ids, expected.edge_ids)


def test_kernels_refuse_to_search_a_tree_if_the_metric_is_a_function():
    graph = mstflow.points(normal(100, 4), metric=manhattan)
    with pytest.raises(OptionError, match="algorithm='boruvka-blocks', or backend='numpy'"):
        mstflow.minimum_spanning_forest(graph, algorithm="boruvka-points", backend="numba")


@pytest.mark.parametrize(
    ("algorithm", "remedy"),
    [("boruvka-blocks", "$"), ("boruvka-points", "; algorithm='boruvka-blocks' is faster")],
)
def test_the_warning_names_no_kernels_if_the_metric_is_a_function(algorithm, remedy):
    segment = mstflow.points(np.zeros((40_000, 2)), metric=manhattan).only_segment
    with pytest.warns(GraphWarning, match=r"takes about \d+ s" + remedy):
        choose(segment, mstflow.algorithm(algorithm), "numpy")


def normal(n, axes):
    return np.random.default_rng(0).normal(size=(n, axes))


def near_few_axes(n, axes, few):
    """Return points on a curved surface of few dimensions, with some noise."""
    surface = np.tanh(normal(n, few) @ normal(few, 64)) @ normal(64, axes) / 8
    return surface + 0.01 * normal(n, axes)


def clusters(n, axes):
    return normal(n, axes) + 10 * normal(50, axes)[np.arange(n) % 50]


@pytest.mark.parametrize(
    ("rows", "is_tree", "is_projected"),
    [
        (normal(10_000, 2), True, False),
        (normal(10_000, 40), False, False),
        (normal(10_000, 128), False, False),
        (near_few_axes(10_000, 32, 6), True, True),
        (near_few_axes(10_000, 300, 6), True, True),
        (clusters(10_000, 20), True, False),
        (clusters(10_000, 128), False, False),  # the clusters themselves have all dimensions
        (normal(500, 40), False, False),
    ],
)
def test_the_probe_chooses_by_the_points(rows, is_tree, is_projected):
    choice = probe(rows, "euclidean")
    assert (choice.is_tree, choice.search_axes > 0) == (is_tree, is_projected)
    assert choice == probe(rows, "euclidean")


@pytest.mark.parametrize("metric", ["manhattan", "chebyshev"])
def test_the_probe_projects_only_if_it_may(metric):
    rows = near_few_axes(4000, 30, 3)
    assert probe(rows, metric).search_axes == 0
    assert probe(rows, "euclidean", may_project=False).search_axes == 0
    assert probe(rows, "euclidean").search_axes > 0
    assert not probe(rows, lambda a, b: a[:, :1] - b[:, 0]).is_tree


@pytest.mark.parametrize("exponent", [-1000, 1000])
def test_estimates_are_the_same_at_every_scale(exponent):
    rows = near_few_axes(3000, 60, 4)
    assert probe(np.ldexp(rows, exponent), "euclidean") == probe(rows, "euclidean")


@pytest.mark.parametrize("axes", [12, 40])
@pytest.mark.filterwarnings("error")
def test_the_probe_takes_the_largest_coordinates(axes):
    """Sums of squares of two groups of points overflow, also if distances do not."""
    rows = np.full((2048, axes), 0.49 * (np.finfo(float).max / axes) ** 0.5)
    rows[:256] *= -1
    rows[:, 0] *= np.linspace(0.5, 1, len(rows))
    assert probe(rows, "euclidean") == probe(np.ldexp(rows, -500), "euclidean")


def test_the_probe_takes_equal_points():
    assert probe(np.zeros((2048, 20)), "euclidean") == probe(np.ones((2048, 20)), "euclidean")


def test_the_report_has_the_choice():
    graph = mstflow.points(near_few_axes(3000, 60, 4))
    plan = mstflow.minimum_spanning_forest(graph, backend="numba").report.plan
    assert plan.algorithm == "boruvka-points"
    assert "principal axes" in plan.reason
