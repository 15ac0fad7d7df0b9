"""Stages that find the lightest edges of fragments from all distances, a block at a time."""

from typing import Any

from ...errors import GraphError
from ...stages.declare import stage
from ...stages.fields import (
    Count,
    Edges,
    Index,
    Number,
    Verdict,
    VertexIndex,
    Weights,
)
from ..primitives.modules import PointModule
from ..primitives.searches import Points, edge_ids
from .fields import Copies, Neighbors
from .tree import order_by_id

#: The largest number of pairs of fragments, per point, that `compare_fragments` holds in memory.
_MAX_PAIRS = 4


@stage(writes=("core", "candidates"))
def find_neighbors_in_blocks(
    ops: PointModule, distinct: Points, core_samples: Count, spare_candidates: Count
) -> tuple[Weights, Neighbors]:
    """Find the core distance of each point, and its nearest points as candidates for edges.

    One pass over all pairs finds `spare_candidates` more points than the core distance needs.
    """
    size, k = len(distinct.ids), core_samples - 1 + spare_candidates
    position = ops.arange(size, ops.index_dtype(size))
    core = ops.full(size, 0.0, dtype="float64")
    distance, neighbor = ops.nearest_in_blocks(distinct, core, position, position, k)
    candidates = Neighbors(distance, neighbor, distance[k - 1 :: k], neighbor[k - 1 :: k])
    if core_samples > 1:
        core = ops.gather(distance, ops.asarray(position, "int64") * k + (core_samples - 2))
    return core, candidates


@stage(writes="core")
def scale_core_distances(core: Weights, alpha: Number) -> Weights:
    """Multiply the core distances by `alpha`, instead of dividing all distances by it."""
    return core * alpha


@stage(writes="candidates")
def weigh_candidates(
    ops: PointModule, distinct: Points, core: Weights, candidates: Neighbors, core_samples: Count
) -> Neighbors:
    """Weigh the candidates by mutual reachability distance, and sort them again."""
    if core_samples == 1:
        return candidates
    distance, neighbor, reach, _ = candidates
    size = len(distinct.ids)
    k = len(distance) // size
    position = ops.arange(size, ops.index_dtype(size))
    point = ops.segmented_broadcast(position, ops.arange(size + 1, "int64") * k)
    weight = ops.maximum(distance, ops.gather(core, point))
    weight = ops.maximum(weight, ops.gather(core, neighbor, fill=0.0))
    order = ops.argsort(neighbor)
    for column in (ops.order_key(weight, signed=False), point):
        order = ops.gather(order, ops.argsort(ops.gather(column, order)))
    # A point that is not a candidate may weigh as much as the last candidate and have a smaller
    # position. So `last` is -1: an edge that weighs as much as `reach` is not certain.
    unknown = ops.full(size, -1, dtype=position.dtype)
    weight, neighbor = ops.gather(weight, order), ops.gather(neighbor, order)
    return Neighbors(weight, neighbor, ops.maximum(reach, core), unknown)


@stage(writes=("fragment", "num_vertices"))
def start_fragments(ops: PointModule, distinct: Points) -> tuple[Index, Count]:
    """Make each point a fragment; `num_vertices` is the current number of fragments."""
    size = len(distinct.ids)
    return ops.arange(size, dtype=ops.index_dtype(size)), size


@stage(writes=("best_end", "best_id", "num_chosen", "unsure"))
def choose_candidates(
    ops: PointModule, distinct: Points, candidates: Neighbors, fragment: Index, num_vertices: Count
) -> tuple[VertexIndex, VertexIndex, Count, Index]:
    """Choose the lightest edge of each fragment for which the candidates of its points suffice.

    The nearest candidate of a point outside its fragment is its nearest point outside for certain
    if no other point can precede it. Otherwise `reach` is a lower bound of the point's edges. A
    fragment chooses its lightest edge if that edge is lighter than all lower bounds of its points.
    The other end of a fragment that does not choose is the fragment itself.

    Write also the number of fragments that choose, and `unsure`: the points whose lower bounds
    prevent a choice. The points of the largest fragment that does not choose are omitted, because
    other fragments will join it.
    """
    size, index = len(distinct.ids), fragment.dtype
    position, all_fragments = ops.arange(size, index), ops.arange(num_vertices, index)
    weight, candidate = _nearest_candidates(ops, candidates, fragment)
    reach, last = candidates.reach, candidates.last
    is_first = (weight < reach) | ((weight == reach) & (candidate <= last))
    is_sure = is_first & (candidate != position)
    key, bound = ops.order_key(weight, signed=False), ops.order_key(reach, signed=False)
    lightest, best_id, best_end = _lightest_edges(
        ops, distinct, fragment, candidate, key, num_vertices
    )

    owner, lower = ops.compact(~is_sure, fragment, bound)
    lowest = ops.scatter_reduce(owner, lower, num_vertices, "min", ops.largest(bound.dtype))
    chooses = (lightest < lowest) & (best_end < num_vertices)

    num_points = ops.scatter_reduce(
        fragment, ops.full(size, 1, dtype=index), num_vertices, "sum", 0
    )
    largest_fragment = ops.scatter_argmin(
        (ops.full(num_vertices, 0, dtype=index),),
        ops.order_key(ops.where(chooses, 0, num_points), descending=True),
        1,
    )
    is_searched = ops.gather(~chooses & (all_fragments != largest_fragment), fragment)
    is_unsure = ~is_sure & is_searched & (bound <= ops.gather(lightest, fragment))
    return (
        ops.where(chooses, best_end, all_fragments),
        ops.where(chooses, best_id, ops.largest("int64")),
        ops.count(chooses),
        ops.compact(is_unsure, position)[0],
    )


def _nearest_candidates(ops: PointModule, candidates: Neighbors, fragment: Any) -> tuple[Any, Any]:
    """Return the nearest candidate of each point outside its fragment: its weight and position.

    A point without such a candidate gets the largest weight and its own position.
    """
    size = len(fragment)
    k = len(candidates.weight) // size
    weight = ops.full(size, ops.largest("float64"), dtype="float64")
    candidate = ops.arange(size, fragment.dtype)
    for rank in reversed(range(k)):
        other = candidates.neighbor[rank::k]
        is_outside = ops.gather(fragment, other, fill=fragment) != fragment
        weight = ops.where(is_outside, candidates.weight[rank::k], weight)
        candidate = ops.where(is_outside, other, candidate)
    return weight, candidate


def _lightest_edges(
    ops: PointModule, distinct: Points, fragment: Any, candidate: Any, key: Any, num_fragments: int
) -> tuple[Any, Any, Any]:
    """Return the key, id and other end of the lightest edge of each fragment to a `candidate`.

    Ties go to the smaller id. A fragment without edges gets the largest key and id, and
    `num_fragments` as the other end.
    """
    position = ops.arange(len(candidate), candidate.dtype)
    point, own, end, key = ops.compact(candidate != position, position, fragment, candidate, key)
    edge_id = edge_ids(ops, distinct, point, end)
    lightest = ops.scatter_reduce(own, key, num_fragments, "min", ops.largest(key.dtype))
    is_lightest = key == ops.gather(lightest, own)
    own, edge_id, end = ops.compact(is_lightest, own, edge_id, end)
    best_id = ops.scatter_reduce(own, edge_id, num_fragments, "min", ops.largest("int64"))
    own, end = ops.compact(edge_id == ops.gather(best_id, own), own, end)
    other = ops.gather(fragment, end)
    best_end = ops.scatter_reduce(own, other, num_fragments, "min", num_fragments)
    return lightest, best_id, best_end


@stage(writes="none_chosen")
def none_chosen(num_chosen: Count) -> Verdict:
    """Return whether no fragment can choose an edge."""
    return num_chosen == 0


@stage(writes="candidates")
def find_nearest_in_blocks(
    ops: PointModule,
    distinct: Points,
    core: Weights,
    candidates: Neighbors,
    fragment: Index,
    unsure: Index,
) -> Neighbors:
    """Find new candidates for the points `unsure`, in a pass over all pairs with such a point.

    The first candidate of each of these points is then its nearest point outside its fragment for
    certain. So one fragment can choose an edge after at most n searches.

    Raises
    ------
    GraphError
        If the rounds would not end, because a search finds no candidate for a point: a metric
        returned two distances for one pair.
    """
    size = len(distinct.ids)
    k = len(candidates.weight) // size
    weight, neighbor, reach, last = (column.copy() for column in candidates)
    distance, nearest = ops.nearest_in_blocks(distinct, core, fragment, unsure, k)
    if not len(unsure) or ops.count(nearest[::k] == size):
        raise GraphError(
            "the rounds of 'boruvka-blocks' make no progress: the metric returned different "
            "distances for the same pair of points"
        )
    point = ops.asarray(unsure, "int64")
    for rank in range(k):
        weight[point * k + rank], neighbor[point * k + rank] = distance[rank::k], nearest[rank::k]
    reach[point], last[point] = distance[k - 1 :: k], nearest[k - 1 :: k]
    return Neighbors(weight, neighbor, reach, last)


@stage(writes="comparing_pays")
def comparing_pays(
    num_vertices: Count, num_chosen: Count, unsure: Index, distinct: Points
) -> Verdict:
    """Return whether to end the rounds: a comparison of fragments pays, or one fragment is left.

    A comparison needs few fragments. It takes less time than the next search if no fragment can
    choose and a quarter of the points are `unsure`.
    """
    size = len(distinct.ids)
    is_possible = num_vertices**2 <= _MAX_PAIRS * size
    return num_vertices <= 1 or (num_chosen == 0 and is_possible and 4 * len(unsure) >= size)


@stage(writes="edges")
def compare_fragments(
    ops: PointModule, distinct: Points, core: Weights, fragment: Index, num_vertices: Count
) -> Edges:
    """Find the lightest edge between any two fragments, in a pass over all pairs of points."""
    count = num_vertices
    if count <= 1:
        none = ops.empty(0, fragment.dtype)
        return Edges(none, none, ops.empty(0, "uint64"), ops.empty(0, "int64"))
    weight, edge_id = ops.lightest_between(distinct, core, fragment, count)
    pair = ops.arange(count * count, "int64")
    is_edge = edge_id < ops.largest("int64")
    pair, weight, edge_id = ops.compact(is_edge, pair, weight, edge_id)
    order = ops.argsort(edge_id)
    u, v = (ops.asarray(end, fragment.dtype) for end in (pair // count, pair % count))
    key = ops.order_key(weight, signed=False)
    return Edges(*(ops.gather(column, order) for column in (u, v, key, edge_id)))


@stage(writes="core_distance")
def list_core_distances(
    ops: PointModule, distinct: Points, core: Weights, copies: Copies
) -> Weights:
    """Return the core distances in the order of the ids; those of dropped points are 0."""
    return order_by_id(ops, distinct, core, copies)
