"""Stages over trees of vertices. Each vertex has a parent, and vertices are never renumbered."""

from ..primitives.vocabulary import ArrayModule
from .declare import stage
from .fields import Chosen, Count, Edges, Lightest, Verdict, VertexIndex


@stage(writes=("parent", "num_joined"))
def start_trees(ops: ArrayModule, num_vertices: Count) -> tuple[VertexIndex, Count]:
    """Make each vertex a separate tree, and count all of them as joined."""
    return ops.arange(num_vertices, dtype=ops.index_dtype(num_vertices)), num_vertices


@stage(writes="parent")
def flatten(ops: ArrayModule, parent: VertexIndex) -> VertexIndex:
    """Make each vertex a child of its root, so that finding a root takes one lookup.

    Source: Bhargava and Zaia, "Parallelizing MSF with Boruvka's Algorithm", optimizations (GPU).
    """
    return ops.pointer_jump(parent)


@stage(writes=("best_key", "best_id", "best_end"), combine="lexicographic minimum")
def assign_cheapest(
    ops: ArrayModule, edges: Edges, parent: VertexIndex, num_vertices: Count
) -> Lightest:
    """Find the lightest edge that leaves each tree: its key, its id and the root at its other end.

    The root of a tree gets these values. All other vertices get the largest key and id, and
    themselves as the other root.

    Source: Bhargava and Zaia, the kernel assign_cheapest.
    """
    u, v, key, edge_id = ops.relabel_pairs(parent, *edges)
    return ops.scatter_min_pairs(u, v, key, edge_id, num_vertices)


@stage(writes=("parent", "forest", "num_joined"))
def update_forest(
    ops: ArrayModule, parent: VertexIndex, best_end: VertexIndex, best_id: VertexIndex
) -> tuple[VertexIndex, Chosen, Count]:
    """Make each vertex of a flattened tree a child of the root at the other end of the tree's edge.

    If two roots chose the same edge, the smaller root remains a root.

    Source: Bhargava and Zaia, the kernel update_mst, which moves only the roots.
    """
    hook, chosen = ops.cut_mirrors(best_end, best_id)
    return ops.gather(hook, parent), chosen, len(chosen)


@stage(writes="no_tree_joined")
def no_tree_joined(num_joined: Count) -> Verdict:
    """Return whether the last round joined no trees, so no edge leaves a tree."""
    return num_joined == 0


@stage(writes="num_active")
def start_active(num_vertices: Count) -> Count:
    """Count each vertex as an active tree."""
    return num_vertices


@stage(writes=("parent", "forest", "num_joined", "num_active"))
def unite_trees(
    ops: ArrayModule,
    parent: VertexIndex,
    best_end: VertexIndex,
    best_id: VertexIndex,
    by_rank: bool,
) -> tuple[VertexIndex, Chosen, Count, Count]:
    """Unite the trees at both ends of each lightest edge; count joined trees and active trees.

    A tree is active if an edge leaves it. If two trees chose the same edge, it is added once.
    The smallest vertex of each tree becomes its root.

    Source: AlgoWiki, "Boruvka's algorithm", sections 1.5 (the counter) and 2.3 (the union).
    """
    vertex = ops.arange(len(parent), dtype=parent.dtype)
    (active,) = ops.compact(ops.not_equal(best_end, vertex), vertex)
    united, is_joining = ops.unite(parent, active, ops.gather(best_end, active), by_rank=by_rank)
    (chosen,) = ops.compact(is_joining, ops.gather(best_id, active))
    root = ops.pointer_jump(united)
    smallest = ops.scatter_reduce(root, vertex, len(root), "min", len(root))
    num_active = len(active) - len(chosen)
    return ops.gather(smallest, root), chosen, len(chosen), num_active


@stage(writes="one_active_left")
def one_active_left(num_active: Count) -> Verdict:
    """Return whether at most one active tree remains, so no further trees can be joined."""
    return num_active <= 1
