"""Stages that find the lightest edges of fragments by a k-d tree over points."""

from typing import Any

from ...errors import PipelineError
from ...stages.declare import stage
from ...stages.fields import Chosen, Count, Index, Verdict, VertexIndex, Weights
from ..primitives.modules import PointModule
from ..primitives.searches import Points, Tree, tree_depth
from .fields import Copies


@stage(writes=("distinct", "copies"))
def drop_copies(ops: PointModule, points: Points, core_samples: Count) -> tuple[Points, Copies]:
    """Drop each point that has at least `core_samples` equal points before it.

    The core distance of such a point is 0, and so is the weight of its edge to the first equal
    point. `attach_copies` adds this edge to the forest.
    """
    first, count = ops.count_equal(points)
    # A metric that is a function may return any distance for equal points.
    is_copy = (count >= core_samples) & isinstance(points.metric, str)
    copies = Copies(*ops.compact(is_copy, points.ids, ops.gather(points.ids, first)))
    if not len(copies.copy):
        return points, copies
    (position,) = ops.compact(~is_copy, ops.arange(len(is_copy), dtype=first.dtype))
    coordinates = ops.empty(len(position) * points.num_axes, points.coordinates.dtype)
    for axis in range(points.num_axes):
        column = points.coordinates[axis :: points.num_axes]
        coordinates[axis :: points.num_axes] = ops.gather(column, position)
    return points._replace(coordinates=coordinates, ids=ops.gather(points.ids, position)), copies


@stage(writes="tree")
def build_tree(ops: PointModule, distinct: Points, search_axes: Count) -> Tree:
    """Order the points by a balanced k-d tree, on this number of principal axes if it is not 0."""
    depth = tree_depth(len(distinct.ids), search_axes or distinct.num_axes)
    return ops.build_tree(distinct, depth, search_axes)


@stage(writes="boxes")
def bound_nodes(ops: PointModule, tree: Tree) -> Weights:
    """Find the coordinates of a box around the points of each tree node, from the leaves up."""
    return ops.bound_nodes(tree)


@stage(writes=("core", "reach", "neighbor"))
def find_core_distances(
    ops: PointModule, tree: Tree, boxes: Weights, core_samples: Count, neighbors_per_point: Count
) -> tuple[Weights, Weights, Index]:
    """Find the distance of each point to its `core_samples`-th nearest point, counting itself.

    `neighbor` lists the nearest points of each point, at least `neighbors_per_point` if there are
    enough, and `reach` is the distance of the last one. The first rounds of Boruvka use these lists
    before they search the tree.
    """
    size = len(tree.ids)
    if size == 1:
        zero = ops.full(1, 0.0, dtype="float64")
        return zero, zero, ops.empty(0, ops.index_dtype(size))
    k = min(size - 1, max(neighbors_per_point, core_samples))
    found: tuple[Weights, Weights, Index] = ops.nearest_neighbors(tree, boxes, k, core_samples - 1)
    return found


@stage(writes=("fragment", "num_vertices", "nearest", "bound"))
def start_fragments(
    ops: PointModule, tree: Tree, core: Weights
) -> tuple[Index, Count, Index, Weights]:
    """Make each point a fragment; `num_vertices` is the current number of fragments.

    The core distance of a point is a lower bound of the weights of its edges.
    """
    size = len(tree.ids)
    place = ops.arange(size, dtype=ops.index_dtype(size))
    return place, size, ops.full(size, size, dtype=place.dtype), core


@stage(writes=("best_end", "best_id", "nearest", "bound"))
def find_nearest_outside(
    ops: PointModule,
    tree: Tree,
    boxes: Weights,
    core: Weights,
    reach: Weights,
    neighbor: Index,
    fragment: Index,
    num_vertices: Count,
    nearest: Index,
    bound: Weights,
) -> tuple[VertexIndex, VertexIndex, Index, Weights]:
    """Find the lightest edge of each fragment, from the nearest point outside for each point.

    A point keeps its nearest point while that point is in another fragment. Once both are in one
    fragment, the weight of their edge is a lower bound of the point's edges to other fragments.

    Source: March, Ram and Gray, for the nodes inside a fragment, which are skipped; Prokopenko, Sao
    and Lebrun-Grandie, for one search for each point. See `boruvka-points`.

    Raises
    ------
    PipelineError
        If the rounds would not end, because no fragment has an edge.
    """
    found = ops.nearest_outside(
        tree, boxes, core, reach, neighbor, fragment, num_vertices, nearest, bound
    )
    if num_vertices > 1 and not ops.count(found.edge_id < ops.largest("int64")):
        raise PipelineError(
            "the rounds of 'boruvka-points' make no progress: no search finds an edge"
        )
    return found.other, found.edge_id, found.nearest, found.bound


@stage(writes="fragment")
def relabel_points(ops: PointModule, fragment: Index, label: VertexIndex) -> Index:
    """Replace the fragment of each point by the label of the joined fragment."""
    return ops.gather(label, fragment)


@stage(writes="all_joined")
def all_joined(num_vertices: Count) -> Verdict:
    """Return whether all points are in one fragment; `num_vertices` counts the fragments."""
    return num_vertices <= 1


@stage(writes="forest")
def attach_copies(ops: PointModule, forest: Chosen, copies: Copies, points: Points) -> Chosen:
    """For each dropped point, add to the forest its edge to the first point at distance 0.

    The first point at distance 0 may precede the first equal point, because distances that are too
    small for their dtype are 0. In this case, an edge of weight 0 in the forest joins these two
    points.
    """
    copy, first = copies
    size = points.num_ids
    if not len(copy):
        return ops.empty(0, "int64")
    edge_id = ops.concat([ops.asarray(ids, "int64") for ids in forest] or [ops.empty(0, "int64")])
    u, v = edge_id // size, edge_id % size  # the id of an edge is u * size + v
    u, v = ops.compact(ops.point_distances(points, u, v) == 0, u, v)
    smallest_at_zero = ops.scatter_reduce(ops.concat([u, v]), ops.concat([v, u]), size, "min", size)
    first, copy = ops.asarray(first, "int64"), ops.asarray(copy, "int64")
    end = ops.minimum(ops.gather(smallest_at_zero, first), first)
    return ops.minimum(end, copy) * size + ops.maximum(end, copy)


@stage(writes="core_distance")
def list_core_distances(ops: PointModule, tree: Tree, core: Weights, copies: Copies) -> Weights:
    """Return the core distances in the order of the ids; those of dropped points are 0."""
    return order_by_id(ops, tree, core, copies)


def order_by_id(ops: PointModule, points: Points | Tree, core: Any, copies: Copies) -> Any:
    """Return the core distances of points, and 0 for dropped points, in the order of the ids."""
    ids = ops.concat([points.ids, copies.copy])
    values = ops.concat([core, ops.full(len(copies.copy), 0.0, dtype="float64")])
    return ops.scatter(ids, values, points.num_ids, 0.0, dtype="float64")
