"""Stages over trees of vertices that keep their numbers: a parent for each, none renumbered."""

from ..primitives.vocabulary import ArrayModule
from .declare import stage
from .fields import Chosen, Count, Edges, Verdict, VertexIndex, VertexKeys


@stage(writes=("parent", "num_joined"))
def start_trees(ops: ArrayModule, num_vertices: Count) -> tuple[VertexIndex, Count]:
    """Make each vertex a tree of its own; all of them count as new."""
    return ops.arange(num_vertices, dtype=ops.index_dtype(num_vertices)), num_vertices


@stage(writes="parent")
def flatten(ops: ArrayModule, parent: VertexIndex) -> VertexIndex:
    """Make every vertex a child of its root, so that finding a root takes one look.

    Source: Bhargava and Zaia, "Parallelizing MSF with Boruvka's Algorithm", optimizations (GPU).
    """
    return ops.pointer_jump(parent)


@stage(writes=("best_key", "best_id", "best_end"), combine="lexicographic minimum")
def assign_cheapest(
    ops: ArrayModule, edges: Edges, parent: VertexIndex, num_vertices: Count
) -> tuple[VertexKeys, VertexIndex, VertexIndex]:
    """Find the lightest edge that leaves each tree, at its root: key, id and the other root.

    Vertices that are no roots get the largest key and id, and themselves.

    Source: Bhargava and Zaia, the kernel of that name.
    """
    u, v, key, edge_id = ops.relabel_pairs(parent, *edges)
    return ops.scatter_min_pairs(u, v, key, edge_id, num_vertices)


@stage(writes=("parent", "forest", "num_joined"))
def update_forest(
    ops: ArrayModule, parent: VertexIndex, best_end: VertexIndex, best_id: VertexIndex
) -> tuple[VertexIndex, Chosen, Count]:
    """Hang each root below the one its edge leads to; of two that chose one edge, one stays.

    A root is only ever made the child of another root, so that trees stay flat but for one level.

    Source: Bhargava and Zaia, the kernel update_mst.
    """
    hook, chosen = ops.cut_mirrors(best_end, best_id)
    vertex = ops.arange(len(parent), dtype=parent.dtype)
    return ops.where(parent == vertex, hook, parent), chosen, len(chosen)


@stage(writes="no_tree_joined")
def no_tree_joined(num_joined: Count) -> Verdict:
    """Return whether the last round joined no trees: then no edge leaves any of them."""
    return num_joined == 0


@stage(writes="num_active")
def start_active(num_vertices: Count) -> Count:
    """Count every vertex as a tree that an edge may leave."""
    return num_vertices


@stage(writes=("parent", "forest", "num_joined", "num_active"))
def unite_trees(
    ops: ArrayModule,
    parent: VertexIndex,
    best_end: VertexIndex,
    best_id: VertexIndex,
    by_rank: bool,
) -> tuple[VertexIndex, Chosen, Count, Count]:
    """Unite the trees that each lightest edge joins; count those joined, and active ones left.

    A tree is active if an edge leaves it. Two trees that chose one edge are united by one of them,
    it is open which; the other does not count as joined. The smallest vertex becomes the root.

    Source: AlgoWiki, "Boruvka's algorithm", sections 1.5 (the counter) and 2.3 (the union).
    """
    vertex = ops.arange(len(parent), dtype=parent.dtype)
    (active,) = ops.compact(best_end != vertex, vertex)
    united, is_joining = ops.unite(parent, active, ops.gather(best_end, active), by_rank=by_rank)
    (chosen,) = ops.compact(is_joining, ops.gather(best_id, active))
    root = ops.pointer_jump(united)
    smallest = ops.scatter_reduce(root, vertex, len(root), "min", len(root))
    num_active = len(active) - len(chosen)
    return ops.gather(smallest, root), ops.sort(chosen), len(chosen), num_active


@stage(writes="one_active_left")
def one_active_left(num_active: Count) -> Verdict:
    """Return whether at most one active tree is left: an edge that leaves it would have no end."""
    return num_active <= 1
