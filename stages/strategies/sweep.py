"""Stages of the strategy "sweep": remove the vertices of a graph, one range after another.

The vertices are in a random order, which is divided into ranges. A range has a bucket of edges, and
an edge is in the bucket of its earlier end. When the first range is removed, its bucket has all
edges of its vertices:

- Treat all vertices after the range as one vertex. An edge in the forest of this graph is the
  lightest one across a cut of the whole graph, so it is in the forest of the whole graph.
- These edges connect each vertex of the range to one vertex after it, its *hook*, or they complete
  its component. Replace each vertex by its hook, and move the edges to later buckets.

Because the order is random, about 2 m ln(n / k) edges are moved while the number of vertices falls
from n to k, if m edges remain then.

Source: Dementiev, Sanders, Schultes and Sibeyn, "Engineering an external memory minimum spanning
tree algorithm", 2004. Deviation: the paper removes one vertex at a time.
"""

from typing import Any

from ...primitives.vocabulary import ArrayModule
from ..combine import concatenation
from ..declare import stage
from ..fields import Edges, Index, Verdict
from .readers import Buckets, Source, Sweeper


@stage(writes="buckets")
def deal_to_buckets(source: Source, sweeper: Sweeper, record: Any = None) -> Buckets:
    """Read the graph, and write each edge to the bucket of its earlier end."""
    return sweeper.deal(source, record)


@stage(writes="is_last_range")
def is_last_range(buckets: Buckets) -> Verdict:
    """Return whether the vertices of only one range remain."""
    return buckets.is_last


@stage(writes="joined")
def join_range(ops: ArrayModule, buckets: Buckets) -> Edges:
    """Find the forest of a range, with all vertices after it as one vertex.

    A bucket that does not fit in memory is read in blocks. Each block is joined to the forest of
    the blocks before it.
    """
    size, joined = buckets.num_vertices, None
    for block in buckets.blocks(ops):
        edges = block if buckets.is_last else _drop_parallel(ops, block, size)
        if joined is not None:
            (edges,) = concatenation(ops, [(joined,), (edges,)])
        joined = None  # free the memory for the next forest
        joined = _forest_of(ops, edges, size, buckets.id_bits)
    assert joined is not None  # there is at least one block
    buckets.add_to_forest(ops.to_host(joined.edge_id))
    return joined


@stage(writes="hooks")
def find_hooks(ops: ArrayModule, buckets: Buckets, joined: Edges) -> Index:
    """Return the hook of each vertex of a range.

    A complete component may have any hook: both ends of its edges have the same hook.
    """
    size, (u, v, *_) = buckets.num_vertices, joined
    inner_u, inner_v = ops.compact(v < size, u, v)
    _, root = ops.join_in_order(inner_u, inner_v, size)
    u, v = ops.compact(v >= size, u, v)
    hook = ops.scatter(ops.gather(root, u), v, size, size, v.dtype)
    return ops.gather(hook, root)


@stage(writes="buckets")
def replace_by_hooks(buckets: Buckets, hooks: Index) -> Buckets:
    """Replace the vertices of a range by their hooks; move the edges to later buckets."""
    size = buckets.num_vertices

    def replace_ends(ops: ArrayModule, edges: Edges) -> tuple[Any, ...]:
        u = ops.gather(hooks, edges.u)
        v = ops.gather(hooks, ops.minimum(edges.v, size), fill=edges.v)
        return ops.compact(u != v, u, v, edges.key, edges.edge_id)

    return buckets.move(replace_ends)


@stage(writes="forest")
def read_forest(buckets: Buckets) -> Index:
    """Return the ids of the forest's edges, in ascending order."""
    return buckets.forest_ids()


def _drop_parallel(ops: ArrayModule, edges: Edges, size: int) -> Edges:
    """Drop edges that are heavier than a parallel edge to the vertices from `size` on.

    These vertices count as one. Parallel edges between other vertices are rare, and are kept.
    """
    u, v, key, _ = edges
    inner_or_u = ops.where(v < size, size, u)
    least = ops.scatter_reduce(inner_or_u, key, size + 1, "min", ops.largest(key.dtype))
    return Edges(*ops.compact((v < size) | (key == ops.gather(least, u)), *edges))


def _forest_of(ops: ArrayModule, edges: Edges, size: int, id_bits: int) -> Edges:
    """Return the minimum forest of edges in any order; vertices from `size` on count as one."""
    index, (u, v, key, edge_id) = ops.index_dtype(size), edges
    u, v = ops.asarray(u, index), ops.asarray(ops.minimum(v, size), index)
    if 8 * key.dtype.itemsize + id_bits <= 64:  # key and edge id fit in one word
        key = ops.asarray(key, "uint64") << id_bits | ops.asarray(edge_id, "uint64")
        joining, _ = ops.join_by_key(u, v, key, size + 1)
    else:
        order = ops.argsort(edge_id)
        u, v, key = (ops.gather(column, order) for column in (u, v, key))
        joining, _ = ops.join_by_key(u, v, key, size + 1)
        joining = ops.gather(order, joining)
    return Edges(*(ops.gather(column, joining) for column in edges))
