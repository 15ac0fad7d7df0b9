"""Tests that `CheckedModule` names the primitive and the argument that violates a contract."""

import numpy as np
import pytest

from mstflow.errors import PrimitiveError
from mstflow.pointsets.primitives.searches import PADDING, Points, Tree
from mstflow.testing.checked import CHECKS
from mstflow.testing.primitive_cases import BAD_PLACES, THREE, VIOLATIONS, ints
from processes import run_python

#: Three points on a line, a tree of one leaf, and one number for each point.
POINTS = Points(np.arange(3.0), THREE - 7, 3, 1, "euclidean", "float64")
TREE = Tree(np.append(POINTS.coordinates, np.zeros(PADDING)), *POINTS[1:], 0)
BOXES, ZEROS = np.zeros(4), np.zeros(3)
OF_POINTS = [
    ("count_equal", "ids", (POINTS._replace(ids=THREE),)),
    ("count_equal", "coordinates", (POINTS._replace(num_axes=2),)),
    ("bound_nodes", "coordinates", (TREE._replace(coordinates=THREE),)),
    ("build_tree", "depth", (POINTS, 2)),
    *(("point_distances", "v", (POINTS, THREE - 7, index)) for index in BAD_PLACES),
    *(("nearest_neighbors", "k", (TREE, BOXES, k, 0)) for k in (0, 3)),
    ("nearest_neighbors", "rank", (TREE, BOXES, 1, 2)),
    *(("lightest_between", "fragment", (POINTS, ZEROS, index, 3)) for index in BAD_PLACES),
    ("lightest_between", "core", (POINTS, ZEROS[:2], THREE - 7, 3)),
    *(("nearest_in_blocks", "sought", (POINTS, ZEROS, THREE - 7, i, 1)) for i in BAD_PLACES),
    ("nearest_in_blocks", "sought", (POINTS, ZEROS, THREE - 7, ints(1, 0), 1)),
    *(
        (
            "nearest_outside",
            "neighbor",
            (TREE, BOXES, ZEROS, ZEROS, index, THREE - 7, 3, THREE - 6, ZEROS),
        )
        for index in BAD_PLACES
    ),
    (
        "nearest_outside",
        "bound",
        (TREE, BOXES, ZEROS, ZEROS, THREE - 7, THREE - 7, 3, THREE - 6, ZEROS[:2]),
    ),
]
#: Arguments that a primitive takes only by name.
OPTIONS = {
    "label_level": {"dtype": "int64"},
}


def test_every_check_has_a_violation():
    assert {primitive for primitive, *_ in VIOLATIONS + OF_POINTS} == CHECKS.keys()


@pytest.mark.parametrize(("primitive", "argument", "args"), VIOLATIONS + OF_POINTS)
def test_a_violation_names_primitive_and_argument(checked, primitive, argument, args):
    with pytest.raises(PrimitiveError, match=rf"^{primitive}: .*\b{argument}\b"):
        getattr(checked, primitive)(*args, **OPTIONS.get(primitive, {}))


#: Solve a graph and points, and call two primitives with wrong arguments.
DEBUGGED = """
import mstflow
from mstflow.errors import PrimitiveError
from mstflow.primitives import Backend, array_module
mstflow.minimum_spanning_forest(([0], [1]))
mstflow.minimum_spanning_forest(mstflow.points([[0.0], [1.0], [3.0]]), backend="numpy")
ops = array_module(Backend("numpy", wing="pointsets"))
wrong = [lambda: ops.gather(ops.full(2, 0, "int64"), ops.full(1, 2, "int64"))]
wrong.append(lambda: ops.point_distances(points, points.ids, points.ids + 1))
points = mstflow.pointsets.primitives.searches.Points(ops.full(2, 0.5, "float64"),
    ops.arange(2, "int64"), 2, 1, "euclidean", "float64")
for call in wrong:
    try:
        call()
    except PrimitiveError as error:
        print(error)
"""


def test_the_environment_asks_for_checks():
    found = run_python("-c", DEBUGGED, variables={"MSTFLOW_DEBUG": "1"})
    gather, distances = found.stdout.splitlines()
    assert gather.startswith("gather: index contains 2")
    assert distances.startswith("point_distances: ")
