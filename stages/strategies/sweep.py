"""Stages of the strategy "sweep": remove the vertices of a graph, one range after another.

The vertices are in a random order, which is divided into ranges. An edge is in the bucket of the
range of its earlier end. When the first range is removed, its bucket has all edges of its vertices:

- Treat all vertices after the range as one vertex. An edge in the forest of this graph is the
  lightest one across a cut of the whole graph, so it is in the forest of the whole graph.
- These edges connect each vertex of the range to one vertex after it, its hook, or they complete
  its component. Replace each vertex by its hook, and move the edges to later buckets.

The order is random. So if m edges remain when the number of vertices falls from n to k, about
2 m ln(n / k) edges are moved, whatever the graph is.

Source: Dementiev, Sanders, Schultes and Sibeyn, "Engineering an external memory minimum spanning
tree algorithm", 2004. Deviation: they remove one vertex at a time, and these stages a range.
"""

from typing import Any

from ...primitives.vocabulary import ArrayModule
from ..declare import stage
from ..fields import Buckets, Edges, Index, Source, Sweeper, Verdict


@stage(writes="buckets")
def deal_to_buckets(source: Source, sweeper: Sweeper, record: Any = None) -> Buckets:
    """Read the graph, and write each edge to the bucket of its earlier end."""
    return sweeper.deal(source, record)


@stage(writes="is_last_range")
def is_last_range(buckets: Buckets) -> Verdict:
    """Return whether the vertices of only one range remain."""
    return bool(buckets.is_last)


@stage(writes="joined")
def join_range(ops: ArrayModule, buckets: Buckets) -> Edges:
    """Find the forest of a range, with all vertices after it as one vertex.

    A bucket that does not fit in memory is read in blocks. After each of them, only the forest so
    far is kept.
    """
    size, joined = buckets.num_vertices, None
    for block in buckets.blocks(ops):
        edges = block if buckets.is_last else _lightest(ops, block, size)
        if joined is not None:
            edges = _concatenated(ops, joined, edges)
        joined = None  # free it before the next one is found
        joined = _forest_of(ops, edges, size, buckets.id_bits)
    assert joined is not None  # there is at least one block
    buckets.add_to_forest(ops.to_host(joined.edge_id))
    return joined


@stage(writes="hooks")
def find_hooks(ops: ArrayModule, buckets: Buckets, joined: Edges) -> Index:
    """Return the hook of each vertex of a range.

    Complete components may have any hook, because both ends of their edges get the same.
    """
    size, (u, v, *_) = buckets.num_vertices, joined
    inner_u, inner_v = ops.compact(v < size, u, v)
    _, root = ops.join_in_order(inner_u, inner_v, size)
    u, v = ops.compact(v >= size, u, v)
    hook = ops.scatter(ops.gather(root, u), v, size, size, v.dtype)
    return ops.gather(hook, root)


@stage(writes="buckets")
def hand_over(buckets: Buckets, hooks: Index) -> Buckets:
    """Replace the vertices of a range by their hooks, and move the edges to later buckets."""
    size = buckets.num_vertices

    def replace_ends(ops: ArrayModule, edges: Edges) -> tuple[Any, ...]:
        u = ops.gather(hooks, edges.u)
        v = ops.gather(hooks, ops.minimum(edges.v, size), fill=edges.v)
        return ops.compact(u != v, u, v, edges.key, edges.edge_id)

    return buckets.move(replace_ends)


@stage(writes="forest")
def read_forest(buckets: Buckets) -> Index:
    """Return the ids of all edges that joined vertices, in ascending order."""
    return buckets.forest_ids()


def _lightest(ops: ArrayModule, edges: Edges, size: int) -> Edges:
    """Drop edges that have a lighter parallel edge, if all ends from `size` on are one vertex.

    Only edges to this vertex are compared; parallel edges between others are rare.
    """
    u, v, key, _ = edges
    place = ops.where(v < size, size, u)
    least = ops.scatter_reduce(place, key, size + 1, "min", ops.largest(key.dtype))
    return Edges(*ops.compact((v < size) | (key == ops.gather(least, u)), *edges))


def _forest_of(ops: ArrayModule, edges: Edges, size: int, id_bits: int) -> Edges:
    """Return the minimum forest of edges in any order; ends from `size` on are one vertex."""
    index, (u, v, key, edge_id) = ops.index_dtype(size), edges
    u, v = ops.asarray(u, index), ops.asarray(ops.minimum(v, size), index)
    if 8 * key.dtype.itemsize + id_bits <= 64:  # unlike keys of one word break ties by edge id
        key = ops.asarray(key, "uint64") << id_bits | ops.asarray(edge_id, "uint64")
        joining, _ = ops.join_by_key(u, v, key, size + 1)
    else:
        order = ops.argsort(edge_id)
        u, v, key = (ops.gather(column, order) for column in (u, v, key))
        joining, _ = ops.join_by_key(u, v, key, size + 1)
        joining = ops.gather(order, joining)
    return Edges(*(ops.gather(column, joining) for column in edges))


def _concatenated(ops: ArrayModule, first: Edges, second: Edges) -> Edges:
    return Edges(*(ops.concat([left, right]) for left, right in zip(first, second, strict=True)))
