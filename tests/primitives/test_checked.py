"""Tests that `CheckedModule` names the primitive and the argument that violates a contract."""

import numpy as np
import pytest

from mstflow.errors import PrimitiveError
from mstflow.pointsets.primitives.searches import PADDING, Points, Tree
from mstflow.testing.checked import CHECKS
from processes import run_python


def ints(*values):
    return np.array(values, np.int64)


THREE = ints(7, 8, 9)
KEYS = THREE.astype(np.uint64)
#: The table of maxima of an array of three elements.
TABLE = np.zeros(15, np.int64), np.zeros(1, np.int64)
#: Three points on a line, a tree of one leaf, and one number for each point.
POINTS = Points(np.arange(3.0), THREE - 7, 3, 1, "euclidean", "float64")
TREE = Tree(np.append(POINTS.coordinates, np.zeros(PADDING)), *POINTS[1:], 0)
BOXES, ZEROS = np.zeros(4), np.zeros(3)

#: Indices that an array of three elements does not have, and other dtypes.
BAD_PLACES = [ints(0, -1, 1), ints(0, 3, 1), np.zeros(3), np.zeros(3, bool)]
#: Invalid offsets for three values.
BAD_OFFSETS = [
    ints(0, 2, 1, 3),
    ints(0, 1, 2),
    ints(0, 1, 4),
    ints(1, 2, 3),
    ints(-1, 2, 3),
    ints(),
]
BAD_OFFSETS += [np.array([0.0, 3.0])]

VIOLATIONS = [
    *(("gather", "index", (THREE, index)) for index in BAD_PLACES),
    *(("scatter", "index", (index, THREE, 3, 0, "int64")) for index in BAD_PLACES),
    *(("scatter_reduce", "index", (index, THREE, 3, "min", 0)) for index in BAD_PLACES),
    *(("scatter_argmin", "indices", ((ints(0, 1, 2), index), KEYS, 3)) for index in BAD_PLACES),
    *(("pointer_jump", "parent", (index,)) for index in BAD_PLACES),
    *(("segmented_reduce", "offsets", (THREE, offsets, "min", 0)) for offsets in BAD_OFFSETS),
    *(("segmented_argmin", "offsets", (THREE, offsets)) for offsets in BAD_OFFSETS),
    ("gather", "index", (THREE, ints(4), 0)),
    ("gather", "fill", (THREE, ints(3), ints(1, 2))),
    ("scatter", "index", (ints(0, 2, 0), THREE, 3, 0, "int64")),
    ("scatter", "values", (ints(0, 1), THREE, 3, 0, "int64")),
    ("scatter_reduce", "values", (ints(0, 1), THREE, 3, "min", 0)),
    ("scatter_argmin", "values", ((ints(0, 1),), KEYS, 3)),
    ("scatter_argmin", "values", ((ints(0, 1, 2),), THREE, 3)),
    ("segmented_broadcast", "values", (THREE, ints(0, 1, 3))),
    ("segmented_broadcast", "offsets", (THREE, ints(0, 2, 1, 3))),
    ("segmented_broadcast", "offsets", (THREE, ints(1, 1, 2, 3))),
    ("segmented_broadcast", "offsets", (THREE, np.zeros(4))),
    *(("deal", "index", (index, 3, THREE)) for index in BAD_PLACES),
    ("deal", "column 0", (ints(0, 1), 3, THREE)),
    *(("multiprefix", "index", (index, THREE, THREE)) for index in BAD_PLACES),
    ("multiprefix", "values", (ints(0, 1), THREE, THREE)),
    ("multiprefix", "start", (ints(0, 1, 2), THREE, THREE.astype("u2"))),
    *(("relabel_arcs", "destination", (THREE, index, ints(0, 1, 2, 3))) for index in BAD_PLACES),
    ("relabel_arcs", "offsets", (THREE, ints(0, 1, 2), ints(0, 1, 2, 2))),
    ("relabel_arcs", "label", (THREE, ints(0, 1, 2), ints(0, 3))),
    ("segmented_compact", "offsets", (THREE > 0, ints(0, 2), ints(0), THREE)),
    ("segmented_compact", "start", (THREE > 0, ints(0, 2, 3), ints(0, 1, 2), THREE)),
    ("segmented_compact", "start", (THREE > 0, ints(0, 2, 3), ints(0, -7), THREE)),
    ("segmented_compact", "array 0", (THREE > 0, ints(0, 2, 3), ints(0, 1), ints(1))),
    *(("relabel_pairs", "u", (THREE, index, ints(0, 1, 2))) for index in BAD_PLACES),
    *(("scatter_min_pairs", "v", (THREE - 7, index, KEYS, THREE, 3)) for index in BAD_PLACES),
    *(("cut_mirrors", "target", (index, THREE)) for index in BAD_PLACES),
    *(("join_with_helpers", "v", (THREE - 7, index, 3)) for index in BAD_PLACES),
    ("unite", "u", (ints(0, 1, 2), THREE, THREE - 7)),
    ("unite", "v", (ints(0, 1, 2), ints(0), ints(0, 1))),
    ("scatter_min_pairs", "key", (THREE - 7, THREE - 7, THREE, THREE, 3)),
    ("compact_pairs", "column 0", (THREE, THREE, KEYS, 9, "int64", ints(1))),
    ("pack_flags", "flags", (THREE,)),
    *(("compact_marked", "v", (KEYS[:1], ints(0), index)) for index in (ints(8), ints(-1))),
    ("compact_marked", "bits", (THREE, ints(0), ints(1))),
    ("unique_inverse", "values", (ints(0, 3), 3)),
    ("relabel_pairs", "column 0", (THREE, ints(0), ints(1), THREE)),
    ("cut_mirrors", "ids", (ints(0, 0), THREE)),
    ("compact", "mask", (np.ones(2, bool), THREE)),
    ("compact", "mask", (ints(1, 0, 1), THREE)),
    ("order_key", "weights", (np.array([1.0, np.nan]),)),
    ("order_key", "weights", (np.array([1j]),)),
    ("weights_of", "keys", (KEYS, "float32")),
    ("join_in_order", "u", (THREE, THREE - 7, 3)),
    ("join_by_key", "key", (THREE - 7, THREE - 7, ints(1), 3)),
    ("merge_in_order", "u", (THREE, THREE - 7, 3)),
    ("join_levels", "v", (THREE - 7, THREE, [3], 3)),
    *(("join_levels", "ends", (THREE - 7, THREE - 7, ends, 3)) for ends in ([2, 1], [4], [-1])),
    ("label_level", "parent", (ints(1, 0), KEYS[:2], 0)),
    ("label_level", "level", (ints(0, 1), KEYS, 0)),
    ("contract_tile", "v", (THREE - 7, THREE - 5, KEYS, 3)),
    *(("path_sums", "parent", (index, THREE)) for index in BAD_PLACES),
    ("path_sums", "parent", (ints(0, 0, 2), THREE)),
    ("path_sums", "values", (ints(1, 2, 2), THREE[:2])),
    ("path_sums", "values", (ints(1, 2, 2), np.ones(3))),
    *(("range_max", "first", (TABLE, index, ints(0, 1, 2))) for index in BAD_PLACES),
    *(("range_max", "last", (TABLE, ints(0, 0, 0), index)) for index in BAD_PLACES),
    ("range_max", "last", (TABLE, ints(0, 0), ints(1))),
    ("range_max", "range", (TABLE, ints(0, 2), ints(1, 1))),
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
    *(
        ("pointer_jump", "parent", (ints(*cycle),))
        for cycle in ([1, 0], [1, 2, 0], [0, 2, 3, 1, 3])
    ),
]
#: Arguments that a primitive takes only by name.
OPTIONS = {
    "label_level": {"dtype": "int64"},
}


def test_every_check_has_a_violation():
    assert {primitive for primitive, *_ in VIOLATIONS} == CHECKS.keys()


@pytest.mark.parametrize(("primitive", "argument", "args"), VIOLATIONS)
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
