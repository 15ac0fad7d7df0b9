"""Stages over vertices: hook fragments along their lightest edges, find, number and label them."""

from typing import Any

from ..primitives.vocabulary import ArrayModule
from .declare import stage
from .fields import Chosen, Count, Index, VertexIndex


@stage(writes=("successor", "forest"))
def remove_mirrored_edges(
    ops: ArrayModule, best_end: VertexIndex, best_id: VertexIndex
) -> tuple[VertexIndex, Chosen]:
    """Point each vertex along its lightest edge; of two that point at each other, one way only.

    The edges are strictly ordered, so two vertices that point at each other chose the same edge,
    and there is no longer cycle. The smaller of the two becomes a root: its own successor. The
    edges of all others join the forest.

    Source: Sousa, Mariano and Proenca, section IV-B, step 2.
    """
    return ops.cut_mirrors(best_end, best_id)


@stage(writes="forest")
def list_forest(ops: ArrayModule, forest: Chosen) -> Index:
    """List the edges chosen in all rounds by id."""
    return ops.sorted_union(forest) if forest else ops.empty(0, ops.index_dtype(0))


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
    return ops.number_roots(color)


@stage(writes="num_vertices")
def contract_fragments(num_fragments: Count) -> Count:
    """Let the fragments be the vertices of the next round."""
    return num_fragments


@stage(writes="levels")
def start_levels() -> Any:
    """Begin with no contraction."""
    return ()


@stage(writes="levels")
def add_level(levels: Any, label: VertexIndex) -> Any:
    """Remember the labels of one contraction."""
    return (*levels, label)


@stage(writes="labels")
def compose_labels(ops: ArrayModule, levels: Any, num_vertices: Count) -> Index:
    """Follow all contractions: the fragment of each vertex there was before the first.

    From the last one back: levels shrink, so the work is that of the first few.
    """
    if not levels:
        return ops.arange(num_vertices, dtype=ops.index_dtype(num_vertices))
    labels = levels[-1]
    for label in reversed(levels[:-1]):
        labels = ops.gather(labels, label)
    return labels


@stage(writes="labels")
def number_by_first_vertex(ops: ArrayModule, labels: Index) -> Index:
    """Renumber the labels in the order of the first vertex that carries each."""
    vertex = ops.arange(len(labels), dtype=labels.dtype)
    first = ops.gather(ops.scatter_reduce(labels, vertex, len(labels), "min", len(labels)), labels)
    return ops.gather(ops.scan(first == vertex, dtype="int64", exclusive=True), first)
