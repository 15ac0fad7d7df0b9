"""Stages over vertices: join fragments by their lightest edges, and label the results."""

from typing import Any

from ..primitives.vocabulary import ArrayModule
from .declare import stage
from .fields import Chosen, Count, Index, Levels, VertexIndex


@stage(writes=("successor", "forest"))
def remove_mirrored_edges(
    ops: ArrayModule, best_end: VertexIndex, best_id: VertexIndex
) -> tuple[VertexIndex, Chosen]:
    """Return the successor of each vertex, the other end of its lightest edge; break cycles of two.

    Edges are strictly ordered, so all cycles have two vertices, which have chosen the same edge.
    The smaller of them becomes a root, which is its own successor. The edges of all other vertices
    are added to the forest.

    Source: Sousa, Mariano and Proenca, section IV-B, step 2.
    """
    return ops.cut_mirrors(best_end, best_id)


@stage(writes="forest")
def sort_forest_ids(ops: ArrayModule, forest: Chosen) -> Index:
    """Return the ids of the edges that were chosen in all rounds, in ascending order."""
    return ops.sorted_union(forest) if forest else ops.empty(0, ops.index_dtype(0))


@stage(writes="color")
def propagate_colors(ops: ArrayModule, successor: VertexIndex) -> VertexIndex:
    """Color each vertex with the root to which its successors lead, by pointer jumping.

    Source: Sousa, Mariano and Proenca, section IV-B, step 3. The loop is in the primitive.
    """
    return ops.pointer_jump(successor)


@stage(writes=("label", "num_fragments"))
def create_new_vertex_ids(ops: ArrayModule, color: VertexIndex) -> tuple[VertexIndex, Count]:
    """Assign numbers to the roots by a scan, and to each vertex the number of its root.

    Source: Sousa, Mariano and Proenca, section IV-B, step 4.
    """
    return ops.number_roots(color)


@stage(writes="num_vertices")
def contract_fragments(num_fragments: Count) -> Count:
    """Make the fragments the vertices of the next round."""
    return num_fragments


@stage(writes="levels")
def start_levels() -> Levels:
    """Start with an empty list of contractions."""
    return ()


@stage(writes="levels")
def add_level(levels: Levels, label: VertexIndex) -> Levels:
    """Append the labels of one contraction."""
    return (*levels, label)


@stage(writes="labels")
def compose_labels(ops: ArrayModule, levels: Levels, num_vertices: Count) -> Index:
    """Return the final fragment of each original vertex, from the labels of all contractions."""
    if not levels:
        return ops.arange(num_vertices, dtype=ops.index_dtype(num_vertices))
    labels = levels[-1]  # the smallest
    for label in reversed(levels[:-1]):
        labels = ops.gather(labels, label)
    return labels


@stage(writes="labels")
def number_by_first_vertex(ops: ArrayModule, labels: Index) -> Index:
    """Renumber the labels in the order of their first vertices."""
    return in_order_of_first(ops, labels, len(labels))


def in_order_of_first(ops: ArrayModule, labels: Any, size: int) -> Any:
    """Renumber labels less than `size` in the order of their first vertices, as int64."""
    vertex = ops.arange(len(labels), dtype=labels.dtype)
    first = ops.gather(ops.scatter_reduce(labels, vertex, size, "min", len(labels)), labels)
    return ops.gather(ops.scan(first == vertex, dtype="int64", exclusive=True), first)
