"""Stages that find, for each edge of a forest, the lightest other edge that covers it.

An edge *covers* the edges of the forest on the path between its ends. The trees are rooted, so a
path climbs from both of its ends to their common ancestor. A *climb* of level k leads from a vertex
to its ancestor 2^k edges above, or to the root.
"""

from typing import Any

from ...primitives.vocabulary import ArrayModule
from ...stages.csr import places_by_source
from ...stages.declare import stage
from ...stages.fields import Count, Edges, Index, VertexIndex


@stage(writes=("above", "edge_above"))
def root_trees(
    ops: ArrayModule, whole_edges: Edges, own_edges: Any, num_vertices: Count
) -> tuple[VertexIndex, VertexIndex]:
    """Return the parent of each vertex, and the position in the forest of the edge between them.

    `own_edges` has the positions of the forest's edges, in ascending order. The root of a tree is
    its smallest vertex. It is its own parent, and its edge is the number of edges of the forest.

    Source: Tarjan and Vishkin, "An Efficient Parallel Biconnectivity Algorithm", SIAM J. Comput. 14
    (1985). An Euler tour passes each edge down and up. Pointer doubling counts the remaining arcs.
    """
    own = ops.asarray(own_edges)
    num_own, dtype = len(own), ops.index_dtype(max(2 * len(own), num_vertices))
    u, v = (ops.asarray(ops.gather(end, own), dtype) for end in whole_edges[:2])
    source, target = ops.concat([u, v]), ops.concat([v, u])
    arc, vertex = (ops.arange(size, dtype=dtype) for size in (2 * num_own, num_vertices))
    twin = ops.where(arc < num_own, arc + num_own, arc - num_own)
    # The tour continues with the arc after the twin, in the cyclic list of the arcs of its source.
    place, offsets = places_by_source(ops, source, num_vertices)
    order = ops.scatter(place, arc, len(arc), 0, dtype=dtype)
    is_last = place + 1 == ops.gather(offsets[1:], source)
    following = ops.where(is_last, ops.gather(offsets, source), place + 1)
    following = ops.gather(order, ops.gather(following, twin))
    # The tour of a tree begins at the first arc of its root. The last arc is followed by itself.
    _, root = ops.join_in_order(u, v, num_vertices)
    start = ops.gather(order, ops.gather(offsets, ops.gather(root, source)))
    following = ops.where(following == start, arc, following)
    remaining = ops.asarray(following != arc, dtype)
    while ops.count((skipped_to := ops.gather(following, following)) != following):
        remaining, following = remaining + ops.gather(remaining, following), skipped_to
    is_down = remaining > ops.gather(remaining, twin)  # the tour passes an edge down first
    child, parent, edge = ops.compact(is_down, target, source, ops.minimum(arc, twin))
    edge = ops.scatter(child, edge, num_vertices, num_own, dtype=dtype)
    above = ops.scatter(child, parent, num_vertices, 0, dtype=dtype)
    return ops.where(edge < num_own, above, vertex), edge


@stage(writes=("climbs", "depth"))
def double_climbs(ops: ArrayModule, above: VertexIndex) -> tuple[Any, VertexIndex]:
    """Return the end of the climb of each level from each vertex, and the depth of the vertex."""
    vertex = ops.arange(len(above), dtype=above.dtype)
    climbs, depth = [above], ops.asarray(above != vertex, above.dtype)
    while ops.count((top := ops.gather(climbs[-1], climbs[-1])) != climbs[-1]):
        depth = depth + ops.gather(depth, climbs[-1])
        climbs.append(top)
    return tuple(climbs), depth


@stage(writes=("candidates", "first"))
def mark_climbs(
    ops: ArrayModule,
    whole_edges: Edges,
    own_edges: Any,
    climbs: Any,
    depth: VertexIndex,
    num_vertices: Count,
) -> tuple[Index, Any]:
    """Divide the path of each candidate into climbs; find the first candidate of each climb.

    The candidates are the minimum forest of the other edges, which has the lightest edge between
    any two sides. They are in ascending order of (weight, edge id). A path has at most four climbs
    of each level. Write the ids of the candidates, and for each level and vertex the position of
    the first candidate of this climb; without one, the number of candidates.
    """
    size = len(whole_edges.u)
    is_own = ops.scatter(ops.asarray(own_edges), True, size, False, dtype="bool")
    u, v, key, edge_id = ops.compact(~is_own, *whole_edges)
    joining, _ = ops.join_by_key(u, v, key, num_vertices)
    u, v = (ops.asarray(ops.gather(end, joining), depth.dtype) for end in (u, v))
    none = len(joining)
    number = ops.arange(none, dtype=ops.index_dtype(none))
    first = [ops.full(num_vertices, none, dtype=number.dtype) for _ in climbs]

    def climb(level: int, end: Any, is_climbing: Any) -> Any:
        start, mark = ops.compact(is_climbing, end, number)
        marked = ops.scatter_reduce(start, mark, num_vertices, "min", none)
        first[level] = ops.minimum(first[level], marked)
        return ops.where(is_climbing, ops.gather(climbs[level], end), end)

    is_lower = ops.gather(depth, u) > ops.gather(depth, v)
    low, high = ops.where(is_lower, u, v), ops.where(is_lower, v, u)
    rise = ops.gather(depth, low) - ops.gather(depth, high)
    # Climb from the lower end to the depth of the other end, then from both ends to their ancestor.
    for level in range(len(climbs)):
        low = climb(level, low, (rise >> level) & 1 == 1)
    for level in reversed(range(len(climbs))):
        differ = ops.gather(climbs[level], low) != ops.gather(climbs[level], high)
        low, high = climb(level, low, differ), climb(level, high, differ)
    for end in (low, high):
        climb(0, end, low != high)
    return ops.gather(ops.asarray(edge_id, "int64"), joining), tuple(first)


@stage(writes="replacement")
def cover_edges(
    ops: ArrayModule, candidates: Index, first: Any, climbs: Any, edge_above: VertexIndex
) -> Index:
    """Return the id of the lightest edge that covers each edge of the forest; -1 without one.

    The first candidate of a climb also covers both halves of the climb, level by level.
    """
    size, none = len(edge_above), len(candidates)
    covering = first[-1]  # the first candidate that covers the climb of a level from each vertex
    for level in reversed(range(len(climbs) - 1)):
        upper_half = ops.scatter_reduce(climbs[level], covering, size, "min", none)
        covering = ops.minimum(ops.minimum(first[level], covering), upper_half)
    num_own = size - ops.count(climbs[0] == ops.arange(size, dtype=climbs[0].dtype))
    covering, place = ops.compact(edge_above < num_own, covering, edge_above)
    lightest = ops.scatter(place, covering, num_own, none, dtype=covering.dtype)
    return ops.gather(candidates, lightest, fill=-1)
