"""Stages over trees of vertices that keep their numbers: a parent for each, none renumbered."""

from ..primitives.fused import ArrayModule
from .declare import stage
from .fields import Count, EdgeIndex, EdgeKeys, Index, Verdict, VertexIndex, VertexKeys


@stage(writes=("parent", "num_joined"))
def start_trees(ops: ArrayModule, num_vertices: Count) -> tuple[VertexIndex, Count]:
    """Make each vertex a tree of its own; all of them count as new."""
    return ops.iota(num_vertices, dtype=ops.index_dtype(num_vertices)), num_vertices


@stage(writes="parent")
def flatten(ops: ArrayModule, parent: VertexIndex) -> VertexIndex:
    """Make every vertex a child of its root, so that finding a root takes one look.

    Source: Bhargava and Zaia, "Parallelizing MSF with Boruvka's Algorithm", optimizations (GPU).
    """
    return ops.pointer_jump(parent)


@stage(writes=("best_key", "best_id", "best_end"), over="edges", combine="lexicographic minimum")
def assign_cheapest(
    ops: ArrayModule,
    u: EdgeIndex,
    v: EdgeIndex,
    key: EdgeKeys,
    edge_id: EdgeIndex,
    parent: VertexIndex,
    num_vertices: Count,
) -> tuple[VertexKeys, VertexIndex, VertexIndex]:
    """Find the lightest edge that leaves each tree, at its root: key, id and the other root.

    Vertices that are no roots get the largest key and id, and themselves.

    Source: Bhargava and Zaia, the kernel of that name.
    """
    u, v, key, edge_id = ops.relabel_pairs(parent, u, v, key, edge_id)
    return ops.scatter_min_pairs(u, v, key, edge_id, num_vertices)


@stage(writes=("parent", "chosen", "num_joined"))
def update_forest(
    ops: ArrayModule, parent: VertexIndex, best_end: VertexIndex, best_id: VertexIndex
) -> tuple[VertexIndex, Index, Count]:
    """Hang each root below the one its edge leads to; of two that chose one edge, one stays.

    A root is only ever made the child of another root, so that trees stay flat but for one level.

    Source: Bhargava and Zaia, the kernel update_mst.
    """
    hook, chosen = ops.cut_mirrors(best_end, best_id)
    vertex = ops.iota(len(parent), dtype=parent.dtype)
    return ops.where(parent == vertex, hook, parent), chosen, len(chosen)


@stage(writes="no_tree_joined")
def no_tree_joined(num_joined: Count) -> Verdict:
    """Tell whether the last round joined no trees: then no edge leaves any of them."""
    return num_joined == 0
