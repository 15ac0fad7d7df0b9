"""Stages over vertices: hook fragments along their lightest edges, find, number and label them."""

from ..primitives.interface import ArrayModule
from .declare import stage
from .fields import Count, Index, VertexIndex


@stage(writes="forest")
def start_forest(ops: ArrayModule) -> Index:
    """Begin with no edge in the forest."""
    return ops.iota(0, dtype="int64")


@stage(writes="successor")
def remove_mirrored_edges(ops: ArrayModule, best_end: VertexIndex) -> VertexIndex:
    """Point each vertex along its lightest edge; of two that point at each other, one way only.

    The edges are strictly ordered, so two vertices that point at each other chose the same edge,
    and there is no longer cycle. The smaller of the two becomes a root: its own successor.

    Source: Sousa, Mariano and Proenca, section IV-B, step 2.
    """
    vertex = ops.iota(len(best_end), dtype=best_end.dtype)
    is_mirrored = ops.gather(best_end, best_end) == vertex
    return ops.where(is_mirrored & (vertex < best_end), vertex, best_end)


@stage(writes="forest")
def collect_forest_edges(
    ops: ArrayModule, best_id: VertexIndex, successor: VertexIndex, forest: Index
) -> Index:
    """Add the chosen edges to the forest: those of all vertices that are no roots."""
    is_chosen = successor != ops.iota(len(successor), dtype=successor.dtype)
    (chosen,) = ops.compact(is_chosen, best_id)
    return ops.concatenate([forest, chosen])


@stage(writes="color")
def propagate_colors(ops: ArrayModule, successor: VertexIndex) -> VertexIndex:
    """Color each vertex with its root, by pointer jumping until nothing changes.

    Source: Sousa, Mariano and Proenca, section IV-B, step 3 (their loop is the primitive's).
    """
    return ops.pointer_jump(successor)


@stage(writes=("label", "num_fragments"))
def create_new_vertex_ids(ops: ArrayModule, color: VertexIndex) -> tuple[VertexIndex, Count]:
    """Give roots new ids in order, by an exclusive scan of flags, and all others their root's.

    Source: Sousa, Mariano and Proenca, section IV-B, step 4.
    """
    is_root = color == ops.iota(len(color), dtype=color.dtype)
    new_id = ops.scan(is_root, dtype=color.dtype, exclusive=True)
    return ops.gather(new_id, color), ops.count(is_root)


@stage(writes="num_vertices", resizes="vertices")
def contract_fragments(num_fragments: Count) -> Count:
    """Let the fragments be the vertices of the next round."""
    return num_fragments


@stage(writes="labels")
def start_labels(ops: ArrayModule, num_vertices: Count) -> Index:
    """Label each vertex of the graph with itself."""
    return ops.iota(num_vertices, dtype=ops.index_dtype(num_vertices))


@stage(writes="labels")
def compose_labels(ops: ArrayModule, labels: Index, label: VertexIndex) -> Index:
    """Carry the labels of the graph's vertices over to the new fragments."""
    return ops.gather(label, labels)


@stage(writes="labels")
def number_by_first_vertex(ops: ArrayModule, labels: Index) -> Index:
    """Renumber the labels in the order of the first vertex that carries each."""
    vertex = ops.iota(len(labels), dtype=labels.dtype)
    first = ops.gather(ops.scatter_reduce(labels, vertex, len(labels), "min", len(labels)), labels)
    return ops.gather(ops.scan(first == vertex, dtype="int64", exclusive=True), first)
