"""Stages that find the lightest edges of fragments in blocks of all distances."""

from ...errors import GraphError
from ...primitives.points import Points, edge_ids
from ...primitives.vocabulary import ArrayModule
from ..declare import stage
from ..fields import Copies, Count, Edges, Index, Neighbors, Number, Verdict, VertexIndex, Weights

#: The number of pairs of fragments per point that are held at once.
_PAIRS = 4


@stage(writes=("core", "candidates"))
def find_neighbors_in_blocks(
    ops: ArrayModule, distinct: Points, core_samples: Count, spare_candidates: Count
) -> tuple[Weights, Neighbors]:
    """Find the core distance of each point, and candidates for the lightest edges.

    One pass over all pairs finds `spare_candidates` more neighbors than the core distance needs.
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
    """Multiply the core distances, instead of dividing all distances by the same number."""
    return core * alpha


@stage(writes="candidates")
def weigh_candidates(
    ops: ArrayModule, distinct: Points, core: Weights, candidates: Neighbors, core_samples: Count
) -> Neighbors:
    """Sort the candidates by mutual reachability distance, instead of distance."""
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
    # Points that are not candidates may have the same weight as the last one, in any order.
    unknown = ops.full(size, -1, dtype=position.dtype)
    weight, neighbor = ops.gather(weight, order), ops.gather(neighbor, order)
    return Neighbors(weight, neighbor, ops.maximum(reach, core), unknown)


@stage(writes=("fragment", "num_vertices"))
def start_fragments(ops: ArrayModule, distinct: Points) -> tuple[Index, Count]:
    """Make each point a fragment."""
    size = len(distinct.ids)
    return ops.arange(size, dtype=ops.index_dtype(size)), size


@stage(writes=("best_end", "best_id", "num_chosen", "unsure"))
def choose_candidates(
    ops: ArrayModule, distinct: Points, candidates: Neighbors, fragment: Index, num_vertices: Count
) -> tuple[VertexIndex, VertexIndex, Count, Index]:
    """Choose the lightest edge of each fragment for which the candidates of its points suffice.

    A candidate of a point is its nearest point outside if no other point can precede it. Without
    such a candidate, a point has a lower bound. A fragment chooses its lightest edge if no lower
    bound of its points is as low. A fragment that does not choose is its own other end.

    Write also the number of fragments that choose, and the points whose lower bounds prevent the
    other fragments from choosing. The largest of these fragments is left out: others join it.
    """
    size, index = len(distinct.ids), fragment.dtype
    weight, neighbor, reach, last = candidates
    k = len(weight) // size
    position = ops.arange(size, index)
    best, near = ops.full(size, ops.largest("float64"), dtype="float64"), position
    for rank in range(k - 1, -1, -1):
        other = neighbor[rank::k]
        is_outside = ops.gather(fragment, other, fill=fragment) != fragment
        best = ops.where(is_outside, weight[rank::k], best)
        near = ops.where(is_outside, other, near)
    has_edge = near != position
    is_sure = has_edge & ((best < reach) | ((best == reach) & (near <= last)))

    key, bound = ops.order_key(best, signed=False), ops.order_key(reach, signed=False)
    none = ops.largest(key.dtype)
    point, own, end, own_key = ops.compact(has_edge, position, fragment, near, key)
    edge = edge_ids(ops, distinct, point, end)
    lightest = ops.scatter_reduce(own, own_key, num_vertices, "min", none)
    is_lightest = own_key == ops.gather(lightest, own)
    own, edge, end = ops.compact(is_lightest, own, edge, end)
    best_id = ops.scatter_reduce(own, edge, num_vertices, "min", ops.largest("int64"))
    own, end = ops.compact(edge == ops.gather(best_id, own), own, end)
    itself = ops.arange(num_vertices, index)
    best_end = ops.scatter_reduce(own, ops.gather(fragment, end), num_vertices, "min", num_vertices)

    doubtful, its_key = ops.compact(~is_sure, fragment, bound)
    lowest = ops.scatter_reduce(doubtful, its_key, num_vertices, "min", none)
    chooses = (lightest < lowest) & (best_end < num_vertices)
    # The largest fragment that does not choose waits for the others.
    lengths = ops.scatter_reduce(fragment, ops.full(size, 1, dtype=index), num_vertices, "sum", 0)
    waiting = ops.scatter_argmin(
        (ops.full(num_vertices, 0, dtype=index),),
        ops.order_key(ops.where(chooses, 0, lengths), descending=True),
        1,
    )
    asks = ~chooses & (itself != waiting)
    is_unsure = ~is_sure & ops.gather(asks, fragment) & (bound <= ops.gather(lightest, fragment))
    return (
        ops.where(chooses, best_end, itself),
        ops.where(chooses, best_id, ops.largest("int64")),
        ops.count(chooses),
        ops.compact(is_unsure, position)[0],
    )


@stage(writes="none_chosen")
def none_chosen(num_chosen: Count) -> Verdict:
    """Return whether no fragment can choose an edge."""
    return num_chosen == 0


@stage(writes="candidates")
def find_nearest_in_blocks(
    ops: ArrayModule,
    distinct: Points,
    core: Weights,
    candidates: Neighbors,
    fragment: Index,
    unsure: Index,
) -> Neighbors:
    """Find new candidates for points whose lower bounds are too low, in a pass over their pairs.

    Raises
    ------
    GraphError
        If there are no such points, because a metric returned two distances for one pair.
    """
    if not len(unsure):
        raise GraphError("the metric returned different distances for the same pair of points")
    size = len(distinct.ids)
    k = len(candidates.weight) // size
    weight, neighbor, reach, last = (each.copy() for each in candidates)
    found = ops.nearest_in_blocks(distinct, core, fragment, unsure, k)
    point = ops.asarray(unsure, "int64")
    for rank in range(k):
        weight[point * k + rank], neighbor[point * k + rank] = (each[rank::k] for each in found)
    reach[point], last[point] = (each[k - 1 :: k] for each in found)
    return Neighbors(weight, neighbor, reach, last)


@stage(writes="comparing_pays")
def comparing_pays(
    num_vertices: Count, num_chosen: Count, unsure: Index, distinct: Points
) -> Verdict:
    """Return whether all fragments should be compared with each other, or only one is left.

    If most points are searched for, this takes less time. It is possible for few fragments.
    """
    size = len(distinct.ids)
    is_possible = num_vertices**2 <= _PAIRS * size
    return num_vertices <= 1 or (num_chosen == 0 and is_possible and 4 * len(unsure) >= size)


@stage(writes="edges")
def compare_fragments(
    ops: ArrayModule, distinct: Points, core: Weights, fragment: Index, num_vertices: Count
) -> Edges:
    """Find the lightest edge between each two fragments, in a pass over all pairs of points."""
    count = num_vertices
    if count <= 1:
        none = ops.empty(0, fragment.dtype)
        return Edges(none, none, ops.empty(0, "uint64"), ops.empty(0, "int64"))
    weight, edge_id = ops.lightest_between(distinct, core, fragment, count)
    place = ops.arange(count * count, "int64")
    is_edge = edge_id < ops.largest("int64")
    place, weight, edge_id = ops.compact(is_edge, place, weight, edge_id)
    order = ops.argsort(edge_id)
    u, v = (ops.asarray(each, fragment.dtype) for each in (place // count, place % count))
    key = ops.order_key(weight, signed=False)
    return Edges(*(ops.gather(column, order) for column in (u, v, key, edge_id)))


@stage(writes="core_distance")
def list_core_distances(
    ops: ArrayModule, distinct: Points, core: Weights, copies: Copies
) -> Weights:
    """Return the core distances in the order of the ids; copies have core distance 0."""
    ids = ops.concat([distinct.ids, copies[0]])
    values = ops.concat([core, ops.full(len(copies[0]), 0.0, dtype="float64")])
    return ops.scatter(ids, values, distinct.num_ids, 0.0, dtype="float64")
