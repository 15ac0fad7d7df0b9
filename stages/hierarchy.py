"""Stages that build the single-linkage hierarchy of a forest: chains of edges, parents, sizes.

The hierarchy is a tree. Its nodes are the vertices and the edges of the forest. An edge joins two
clusters, and its node represents the resulting cluster. The *rank* of an edge is its position in
the order of (weight, edge id).

Boruvka rounds build the hierarchy. In each round, the *holder* of a fragment is the lightest edge
that leaves the fragment. Edges of the fragment that are lighter than its holder are below the
holder in the hierarchy. Some of them are already in the chain of a smaller fragment; the others
form the *chain* of this fragment. A chain is sorted by rank. The parent of each edge in it is the
next edge, and the parent of the last edge is the holder. The parent of a vertex is the holder of
this vertex in the first round. After the last round no edge leaves a fragment, so the last edge of
the fragment's chain is a root.

For example, let the edges of rank 0 to 3 be a-b, d-e, b-d and b-c:

1. The holders of a, b, c, d and e are the edges 0, 0, 3, 1 and 1. Contracting these edges leaves
   the fragments abc, which contains edges 0 and 3, and de, which contains edge 1.
2. Edge 2 is the holder of both fragments. The chain of abc is edge 0, and the chain of de is edge
   1. Edge 3 is heavier than edge 2, so edge 3 stays *open*: it joins the chain of a later fragment.
3. No edge leaves the fragment abcde. Its chain is edges 2 and 3.

So edge 2 is the parent of edges 0 and 1, edge 3 is the parent of edge 2 and vertex c, and edge 3 is
the root.

Source: Sao, Prokopenko and Lebrun-Grandie, "PANDORA: A Parallel Dendrogram Construction Algorithm
for Single Linkage Clustering on GPU", ICPP 2024. The paper contracts all edges that have a vertex
as a child. This is a round of Boruvka's algorithm, so the stages of such a round are used here.
"""

from typing import Any, NamedTuple

from ..primitives.vocabulary import ArrayModule
from .declare import stage
from .fields import Count, Edges, Flags, Index, VertexIndex


class Chains(NamedTuple):
    """The chains found so far. Fragments are numbered consecutively through all rounds.

    Attributes
    ----------
    first : int
        The number of the first fragment of the next round.
    holding : tuple of index arrays, one for each round
        The rank of the holder of each fragment. If no edge leaves the fragment, the rank is at
        least the number of edges.
    rank, chain : tuples of index arrays, one for each round
        The ranks of the edges whose chain is known, and the number of the chain's fragment.
    open_rank, open_fragment : index arrays
        The ranks of the contracted edges that are open, and their fragments in the next round.
    """

    first: int
    holding: tuple[Any, ...]
    rank: tuple[Any, ...]
    chain: tuple[Any, ...]
    open_rank: Any
    open_fragment: Any


@stage(writes=("edges", "order"))
def rank_edges(ops: ArrayModule, whole_edges: Edges) -> tuple[Edges, Index]:
    """Sort the edges of the forest by (key, edge id) and replace both by ranks."""
    u, v, key, _ = whole_edges
    order = ops.argsort(key)
    rank = ops.arange(len(order), dtype=order.dtype)
    key = ops.asarray(rank, f"u{order.dtype.itemsize}")
    return Edges(ops.gather(u, order), ops.gather(v, order), key, rank), order


@stage(writes="chains")
def start_chains(ops: ArrayModule, num_vertices: Count) -> Any:
    """Start without chains; every vertex is a fragment."""
    none = ops.empty(0, ops.index_dtype(2 * num_vertices))
    return Chains(0, (), (), (), none, none)


@stage(writes="chains")
def close_chains(ops: ArrayModule, chains: Any, best_id: VertexIndex) -> Any:
    """Move open edges that are lighter than the holder of their fragment to its chain.

    All other edges remain open, because they are not below the holder.
    """
    rank, fragment = chains.open_rank, chains.open_fragment
    is_below = ops.gather(best_id, fragment) > rank
    found, held_by = ops.compact(is_below, rank, fragment)
    open_rank, open_fragment = ops.compact(~is_below, rank, fragment)
    return chains._replace(
        first=chains.first + len(best_id),
        holding=(*chains.holding, best_id),
        rank=(*chains.rank, found),
        chain=(*chains.chain, held_by + ops.asarray(chains.first, held_by.dtype)),
        open_rank=open_rank,
        open_fragment=open_fragment,
    )


@stage(writes="chains")
def open_chains(ops: ArrayModule, chains: Any, edges: Edges, label: VertexIndex) -> Any:
    """Add the edges that this round contracts to the open edges, and relabel their fragments."""
    fragment = ops.gather(label, edges.u)
    is_contracted = fragment == ops.gather(label, edges.v)
    rank, fragment = ops.compact(is_contracted, edges.edge_id, fragment)
    dtype = chains.open_rank.dtype
    moved = ops.gather(label, chains.open_fragment)
    return chains._replace(
        open_rank=ops.concat([chains.open_rank, ops.asarray(rank, dtype)]),
        open_fragment=ops.concat([ops.asarray(moved, dtype), ops.asarray(fragment, dtype)]),
    )


@stage(writes="best_id")
def end_rounds(ops: ArrayModule, num_vertices: Count) -> VertexIndex:
    """Return no holder for any fragment, so that all open chains are closed."""
    dtype = ops.index_dtype(num_vertices)
    return ops.full(num_vertices, ops.largest(dtype), dtype=dtype)


@stage(writes=("chain_rank", "chain_holder", "is_head"))
def sort_chains(ops: ArrayModule, chains: Any) -> tuple[Index, Index, Flags]:
    """Sort the edges by (chain, rank).

    Return the rank of each edge, the rank of the holder of its chain, and whether the edge is the
    head of its chain, which is the heaviest edge. If a chain has no holder, the rank is the number
    of edges. Chains are numbered by round, so the chains of a round are adjacent.
    """
    found, chain = ops.concat(list(chains.rank)), ops.concat(list(chains.chain))
    size = len(found)
    chain = ops.scatter(found, chain, size, 0, dtype=chain.dtype)
    rank = ops.argsort(chain)
    chain = ops.gather(chain, rank)
    holding = ops.minimum(ops.concat(list(chains.holding)), size)
    following = ops.concat([chain[1:], ops.full(min(1, size), -1, dtype=chain.dtype)])
    return rank, ops.asarray(ops.gather(holding, chain), rank.dtype), chain != following


@stage(writes="parent")
def hang_nodes(
    ops: ArrayModule,
    chains: Any,
    chain_rank: Index,
    chain_holder: Index,
    is_head: Flags,
) -> Index:
    """Return the parent of each node: the next edge of its chain, or the holder of the chain.

    Vertices are nodes 0 to n - 1. The edge of rank r is node n + r. A root is its own parent.
    """
    size, dtype = len(chain_rank), chains.open_rank.dtype
    following = ops.concat([chain_rank[1:], chain_rank[:1]])
    above = ops.where(is_head, chain_holder, following)
    above = ops.scatter(chain_rank, above, size, 0, dtype=dtype)
    above = ops.concat([ops.asarray(ops.minimum(chains.holding[0], size), dtype), above])
    node = ops.arange(len(above), dtype=dtype)
    return ops.where(above < size, above + ops.asarray(len(above) - size, dtype), node)


@stage(writes="size")
def sum_sizes(
    ops: ArrayModule,
    chains: Any,
    chain_rank: Index,
    chain_holder: Index,
    is_head: Flags,
) -> Index:
    """Count the vertices below each edge, round by round.

    The holder of a chain belongs to a chain of a later round. So the vertices below a chain are
    counted before those below its holder.
    """
    num_edges = len(chain_rank)
    place = ops.arange(num_edges, dtype=chain_rank.dtype)
    place = ops.scatter(chain_rank, place, num_edges, 0, dtype=chain_rank.dtype)

    def add_below(holder: Any, count: Any, start: int) -> Any:
        """Count the vertices that join from outside the chain, at each place from `start` on."""
        holder, count = ops.compact(holder < num_edges, holder, count)
        place_of_holder = ops.gather(place, holder) - start
        return ops.scatter_reduce(place_of_holder, count, num_edges - start, "sum", 0)

    vertices = chains.holding[0]
    beside = add_below(vertices, ops.full(len(vertices), 1, dtype="int64"), 0)
    sizes, start = [], 0
    for found in chains.rank:
        stop = start + len(found)
        heads = is_head[start:stop]
        size = _sum_along_chains(ops, beside[: len(found)], heads)
        holder, whole = ops.compact(heads, chain_holder[start:stop], size)
        beside = beside[len(found) :] + add_below(holder, whole, stop)
        sizes.append(size)
        start = stop
    return ops.scatter(chain_rank, ops.concat(sizes), num_edges, 0, dtype="int64")


def _sum_along_chains(ops: ArrayModule, values: Any, is_head: Any) -> Any:
    """Return the prefix sums within each chain. A head is the last edge of its chain."""
    total = ops.scan(values, dtype="int64")
    before = ops.concat([ops.full(1, 0, dtype="int64"), *ops.compact(is_head, total)])
    return total - ops.gather(before, ops.scan(is_head, dtype="int64", exclusive=True))


def clusters_at(ops: ArrayModule, parent: Any, num_vertices: int, num_kept: int) -> Any:
    """Return the cluster of each vertex if only the edges of the lowest ranks join clusters.

    Parameters
    ----------
    ops : ArrayModule
    parent : index array
        As `hang_nodes` returns it.
    num_vertices, num_kept : int

    Returns
    -------
    int64 array of length n
        Clusters are numbered by their first vertices.
    """
    size = num_vertices + num_kept
    parent = parent[:size]
    root = ops.where(parent < size, parent, ops.arange(size, dtype=parent.dtype))
    root = ops.pointer_jump(root)[:num_vertices]
    vertex = ops.arange(num_vertices, dtype=parent.dtype)
    first = ops.gather(ops.scatter_reduce(root, vertex, size, "min", num_vertices), root)
    return ops.gather(ops.scan(first == vertex, dtype="int64", exclusive=True), first)


def line_up(ops: ArrayModule, parent: Any, size: Any, num_vertices: int) -> tuple[Any, Any]:
    """Arrange the vertices in a line so that each cluster of the hierarchy is contiguous.

    The place of a node is the place of its first vertex. The first child of an edge has the same
    place as the edge. The second child comes after the vertices of the first child.

    Parameters
    ----------
    ops : ArrayModule
    parent : index array of length n + f
        As `hang_nodes` returns it.
    size : int64 array of length f
        As `sum_sizes` returns it.
    num_vertices : int

    Returns
    -------
    place : index array of length n
        The place of each vertex.
    gap : index array of length n
        The rank of the edge that joins the clusters of the vertices at each place and the next
        place. It is f between two components and at the end.
    """
    dtype, num_edges = parent.dtype, len(size)
    node = ops.arange(len(parent), dtype=dtype)
    is_child = parent != node
    sizes = ops.concat([ops.full(num_vertices, 1, dtype=dtype), ops.asarray(size, dtype)])
    before = ops.scan(ops.where(~is_child, sizes, 0), dtype=dtype, exclusive=True)
    child, edge = ops.compact(is_child, node, parent)
    edge = edge - num_vertices
    first = ops.scatter_reduce(edge, child, num_edges, "min", ops.largest(dtype))
    second, edge = ops.compact(ops.gather(first, edge) != child, child, edge)
    shift = ops.gather(sizes, ops.gather(first, edge))
    shift = ops.scatter(second, shift, len(parent), 0, dtype=dtype)
    place = ops.path_sums(parent, ops.where(is_child, shift, before))
    gap = ops.scatter(ops.gather(place, second) - 1, edge, num_vertices, num_edges, dtype=dtype)
    return place[:num_vertices], gap


def heaviest_between(ops: ArrayModule, place: Any, table: Any, a: Any, b: Any, none: int) -> Any:
    """Return the highest rank on the path between each pair of vertices.

    This is the highest rank among the gaps between their places, because each edge joins two
    neighboring clusters of the line.

    Parameters
    ----------
    ops : ArrayModule
    place : index array of length n
        As `line_up` returns it.
    table : tuple of arrays
        The `max_table` of its gaps.
    a, b : index arrays of length k
    none : int
        The rank that stands for no edge.

    Returns
    -------
    index array of length k
        `none` if both are the same vertex; the number of edges if no path joins them.
    """
    a, b = ops.gather(place, a), ops.gather(place, b)
    low, high = ops.minimum(a, b), ops.maximum(a, b)
    rank = ops.range_max(table, low, ops.maximum(high - 1, low))
    return ops.where(low < high, rank, none)
