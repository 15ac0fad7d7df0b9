"""The algorithm and the backend that "auto" chooses for points."""

import numpy as np
import pytest

import mstflow
from mstflow.pointsets.choice import numpy_seconds
from processes import run_python

#: The first run of a process, then a second one of as many points.
PROGRAM = """
import numpy as np, mstflow
from mstflow.runtime.sizes import tuned
graph = mstflow.points(np.random.default_rng(0).normal(size=({n}, {axes})))
with tuned({options}):
    for _ in range(2):
        plan = mstflow.minimum_spanning_forest(graph).report.plan
        print(plan.algorithm, plan.backend)
"""


@pytest.mark.parametrize(
    ("n", "axes", "options", "expected"),
    [
        (200, 2, "", ["boruvka-blocks numpy"] * 2),
        (200, 2, "points_compiled_from=0.0", ["boruvka-points numba"] * 2),
        (200, 30, "points_compiled_from=0.0", ["boruvka-blocks numba"] * 2),
        # Estimates of earlier runs count: 200^2 pairs at 21 ns, .00084 s.
        (200, 2, "points_compiled_from=.0015", ["boruvka-blocks numpy", "boruvka-points numba"]),
    ],
)
def test_auto_uses_kernels_once_they_pay(n, axes, options, expected):
    """In a process of its own, because this one has loaded the kernels."""
    printed = run_python("-c", PROGRAM.format(n=n, axes=axes, options=options)).stdout
    assert printed.splitlines() == expected


def test_the_estimated_time_is_quadratic_and_grows_with_axes():
    def seconds(n, axes, metric="euclidean", algorithm="boruvka-blocks"):
        segment = mstflow.points(np.ones((n, axes)), metric=metric).only_segment
        return numpy_seconds(segment, algorithm)

    assert seconds(2000, 2) == pytest.approx(4 * seconds(1000, 2))
    assert seconds(100, 2) < seconds(100, 9) < seconds(100, 9, "manhattan")
    assert seconds(100, 2, algorithm="boruvka-points") == pytest.approx(10 * seconds(100, 2))
