"""Stages over edge lists: compute keys, drop loops, count, find lightest edges, relabel."""

from ..primitives.vocabulary import ArrayModule
from ..primitives.weight_order import WeightOrder
from .declare import stage
from .fields import Columns, Count, DType, Edges, Lightest, Verdict, VertexIndex


@stage(writes="signed", combine="any")
def find_signs(ops: ArrayModule, columns: Columns, unsigned: Verdict) -> Verdict:
    """Return whether any weight has its sign bit set; if none has, the bits of weights are keys."""
    return not unsigned and ops.any_signed(columns.weight)


@stage(writes="weight_order")
def choose_weight_order(weight_dtype: DType, signed: Verdict, maximum: Verdict) -> WeightOrder:
    """Choose the conversion of weights to keys, by the dtype, the signs and the direction."""
    return WeightOrder(weight_dtype, signed, maximum)


@stage(writes="edges")
def order_weights(ops: ArrayModule, columns: Columns, weight_order: WeightOrder) -> Edges:
    """Convert the weights to unsigned keys in the same order."""
    u, v, weight, edge_id = columns
    signed, descending = weight_order.signed, weight_order.descending
    return Edges(u, v, ops.order_key(weight, signed=signed, descending=descending), edge_id)


@stage(writes="edges")
def drop_loops(ops: ArrayModule, edges: Edges) -> Edges:
    """Remove the edges with two equal ends; keep the order of the others.

    Source: Bhargava and Zaia, "Background" (filtering self edges).
    """
    if not ops.any_equal(edges.u, edges.v):
        return edges
    return Edges(*ops.compact(ops.not_equal(edges.u, edges.v), *edges))


@stage(writes="num_edges", combine="sum")
def count_edges(edges: Edges) -> Count:
    """Count the remaining edges."""
    return len(edges.u)


@stage(writes="no_edges_left")
def no_edges_left(num_edges: Count) -> Verdict:
    """Return whether no edges remain; then every fragment is a component."""
    return num_edges == 0


@stage(writes=("best_key", "best_id", "best_end"), combine="lexicographic minimum")
def find_min_edges(ops: ArrayModule, edges: Edges, num_vertices: Count) -> Lightest:
    """Find the lightest edge of each vertex: its key, its id and its other end.

    Ties go to the smaller id, which is the smaller position because ids ascend. A vertex without
    edges gets the largest key and id, and itself as the other end.

    Source: Bhargava and Zaia, "Background" step 1 and "Tie-Breaking" (cheapest edge by index).
    """
    return ops.scatter_min_pairs(*edges, num_vertices)


@stage(writes="edges")
def relabel_edges(ops: ArrayModule, edges: Edges, label: VertexIndex) -> Edges:
    """Replace the ends of the edges by their fragments; remove edges inside a fragment."""
    return Edges(*ops.relabel_pairs(label, *edges))


@stage(writes="whole_edges", combine="concatenation")
def concatenate_edges(edges: Edges) -> Edges:
    """Concatenate the remaining edges of all partitions."""
    return edges
