"""Stages over the edge list: order, lightest edge at each vertex, relabel, drop loops, count."""

from ..primitives.vocabulary import ArrayModule
from .declare import stage
from .fields import Count, EdgeIndex, EdgeKeys, EdgeWeights, Verdict, VertexIndex, VertexKeys


@stage(writes="signed", over="edges", combine="any")
def find_signs(ops: ArrayModule, weight: EdgeWeights) -> Verdict:
    """Tell whether any weight has a sign; where none has, its bits are a key as they are."""
    return ops.any_signed(weight)


@stage(writes="key", over="edges")
def order_weights(
    ops: ArrayModule, weight: EdgeWeights, signed: Verdict, maximum: Verdict
) -> EdgeKeys:
    """Turn weights into unsigned keys of the same order, reversed for a maximum forest."""
    return ops.order_key(weight, signed=signed, descending=maximum)


@stage(writes=("u", "v", "key", "edge_id"), over="edges", resizes="edges")
def drop_loops(
    ops: ArrayModule, u: EdgeIndex, v: EdgeIndex, key: EdgeKeys, edge_id: EdgeIndex
) -> tuple[EdgeIndex, EdgeIndex, EdgeKeys, EdgeIndex]:
    """Keep the edges whose ends differ, in order, so that position still breaks ties.

    Source: Bhargava and Zaia, "Background" (filtering self edges).
    """
    is_edge = u != v
    if ops.count(is_edge) == len(u):
        return u, v, key, edge_id
    return ops.compact(is_edge, u, v, key, edge_id)


@stage(writes="num_edges", over="edges", combine="sum")
def count_edges(u: EdgeIndex) -> Count:
    """Count the edges that are left."""
    return len(u)


@stage(writes="no_edges_left")
def no_edges_left(num_edges: Count) -> Verdict:
    """Tell whether every fragment is a whole component: then no edge joins two of them."""
    return num_edges == 0


@stage(writes=("best_key", "best_id", "best_end"), over="edges", combine="lexicographic minimum")
def find_min_edges(
    ops: ArrayModule,
    u: EdgeIndex,
    v: EdgeIndex,
    key: EdgeKeys,
    edge_id: EdgeIndex,
    num_vertices: Count,
) -> tuple[VertexKeys, VertexIndex, VertexIndex]:
    """Find the lightest edge at each vertex: its key, its id and its other end.

    Ties go to the smaller id, which is the smaller position: among edges of one key ids ascend
    throughout. A vertex without edges gets the largest key and id, and itself as the end.

    Source: Bhargava and Zaia, "Background" step 1 and "Tie-Breaking" (cheapest edge by index).
    """
    return ops.scatter_min_pairs(u, v, key, edge_id, num_vertices)


@stage(writes=("u", "v", "key", "edge_id"), over="edges", resizes="edges")
def relabel_edges(
    ops: ArrayModule,
    u: EdgeIndex,
    v: EdgeIndex,
    key: EdgeKeys,
    edge_id: EdgeIndex,
    label: VertexIndex,
) -> tuple[EdgeIndex, EdgeIndex, EdgeKeys, EdgeIndex]:
    """Replace both ends of each edge by their fragments; edges inside a fragment go."""
    return ops.relabel_pairs(label, u, v, key, edge_id)
