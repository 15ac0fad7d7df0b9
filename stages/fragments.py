"""Stages over vertices: joining fragments by their lightest edges, and labelling the results."""

from typing import Any

from ..primitives.vocabulary import ArrayModule
from .declare import stage
from .fields import Chosen, Count, Index, VertexIndex


@stage(writes=("successor", "forest"))
def remove_mirrored_edges(
    ops: ArrayModule, best_end: VertexIndex, best_id: VertexIndex
) -> tuple[VertexIndex, Chosen]:
    """Make the other end of its lightest edge each vertex's successor; break cycles of two.

    Edges are strictly ordered. So two vertices that are each other's successors chose the same
    edge, and longer cycles cannot arise. The smaller of the two becomes a root, its own successor.
    The edges of all other vertices join the forest.

    Source: Sousa, Mariano and Proenca, section IV-B, step 2.
    """
    return ops.cut_mirrors(best_end, best_id)


@stage(writes="forest")
def list_forest(ops: ArrayModule, forest: Chosen) -> Index:
    """Return the ids of the edges chosen in all rounds, ascending."""
    return ops.sorted_union(forest) if forest else ops.empty(0, ops.index_dtype(0))


@stage(writes="color")
def propagate_colors(ops: ArrayModule, successor: VertexIndex) -> VertexIndex:
    """Color each vertex with its root, by pointer jumping.

    Source: Sousa, Mariano and Proenca, section IV-B, step 3; the primitive has the loop.
    """
    return ops.pointer_jump(successor)


@stage(writes=("label", "num_fragments"))
def create_new_vertex_ids(ops: ArrayModule, color: VertexIndex) -> tuple[VertexIndex, Count]:
    """Assign consecutive numbers to the roots, by an exclusive scan, and give them to all vertices.

    Source: Sousa, Mariano and Proenca, section IV-B, step 4.
    """
    return ops.number_roots(color)


@stage(writes="num_vertices")
def contract_fragments(num_fragments: Count) -> Count:
    """Make the fragments the vertices of the next round."""
    return num_fragments


@stage(writes="levels")
def start_levels() -> Any:
    """Start with an empty list of contractions."""
    return ()


@stage(writes="levels")
def add_level(levels: Any, label: VertexIndex) -> Any:
    """Append the labels of one contraction."""
    return (*levels, label)


@stage(writes="labels")
def compose_labels(ops: ArrayModule, levels: Any, num_vertices: Count) -> Index:
    """Compose all contractions: return the final fragment of each original vertex.

    The last contractions are composed first. They are the smallest, so little work is repeated.
    """
    if not levels:
        return ops.arange(num_vertices, dtype=ops.index_dtype(num_vertices))
    labels = levels[-1]
    for label in reversed(levels[:-1]):
        labels = ops.gather(labels, label)
    return labels


@stage(writes="labels")
def number_by_first_vertex(ops: ArrayModule, labels: Index) -> Index:
    """Renumber the labels by the first vertex that has each."""
    vertex = ops.arange(len(labels), dtype=labels.dtype)
    first = ops.gather(ops.scatter_reduce(labels, vertex, len(labels), "min", len(labels)), labels)
    return ops.gather(ops.scan(first == vertex, dtype="int64", exclusive=True), first)
