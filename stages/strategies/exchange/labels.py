"""Stages that divide the vertices, ask their owners for labels, and follow parents to roots."""

import itertools
from typing import Any

from ....primitives.vocabulary import ArrayModule
from ...declare import stage
from ...fields import Count, Edges, Index, Parcels, Verdict


@stage(writes=("width", "num_labels"))
def divide_vertices(num_vertices: Count, num_partitions: Count) -> tuple[Count, Count]:
    """Return the number of vertices of each rank, and that of all; the last ranks may own fewer.

    The flags of a rank are whole bytes.
    """
    return max(8, 8 * -(-num_vertices // (8 * num_partitions))), num_vertices


@stage(writes="parent")
def start_parents(ops: ArrayModule, rank: Count, width: Count, num_labels: Count) -> Index:
    """Make each vertex of this rank a separate fragment."""
    first = min(rank * width, num_labels)
    size = min(width, num_labels - first)
    return ops.arange(size, ops.index_dtype(num_labels)) + first


@stage(writes=("touched", "local_edges"))
def number_labels(ops: ArrayModule, edges: Edges, num_labels: Count) -> tuple[Index, Edges]:
    """List the labels at the ends of the edges of this rank, and drop loops."""
    dtype = ops.index_dtype(num_labels)
    u, v, key, edge_id = ops.compact(edges.u != edges.v, *edges)
    u, v = ops.asarray(u, dtype), ops.asarray(v, dtype)
    touched, place = ops.unique_inverse(ops.concat([u, v]), num_labels)
    return touched, Edges(place[: len(u)], place[len(u) :], key, edge_id)


@stage(writes="questions", combine="exchange")
def ask_owners(ops: ArrayModule, touched: Index, width: Count, num_partitions: Count) -> Parcels:
    """Ask the owner of each label for the label of its present fragment."""
    return slices(ops, (touched,), width, num_partitions)


@stage(writes="answers", combine="exchange")
def answer_questions(
    ops: ArrayModule, questions: Parcels, parent: Index, rank: Count, width: Count
) -> Parcels:
    """Answer each rank with the parents of the vertices in the first column of its questions."""
    return tuple(ops.gather(parent, places(labels, rank, width)) for labels, *_ in questions)


@stage(writes="label")
def take_labels(ops: ArrayModule, answers: Parcels) -> Index:
    """Concatenate the answers: owners answer in order, and `touched` is ascending."""
    return ops.concat([*answers])


@stage(writes=("touched", "local_edges"))
def relabel_local(
    ops: ArrayModule, local_edges: Edges, label: Index, num_labels: Count
) -> tuple[Index, Edges]:
    """List the new labels; drop edges inside a fragment, and labels that no edge touches."""
    labels, place = ops.unique_inverse(label, num_labels)
    u, v, key, edge_id = ops.relabel_pairs(place, *local_edges)
    is_touched = ops.scatter(ops.concat([u, v]), True, len(labels), False, bool)
    place = ops.scan(is_touched, place.dtype, exclusive=True)
    edges = Edges(ops.gather(place, u), ops.gather(place, v), key, edge_id)
    return ops.compact(is_touched, labels)[0], edges


@stage(writes="edges")
def restore_labels(ops: ArrayModule, local_edges: Edges, touched: Index) -> Edges:
    """Replace the places of labels by the labels."""
    u, v, key, edge_id = local_edges
    return Edges(ops.gather(touched, u), ops.gather(touched, v), key, edge_id)


@stage(writes="moving")
def follow_all(ops: ArrayModule, parent: Index, rank: Count, width: Count) -> Index:
    """Return the vertices of this rank that are not roots."""
    vertex = ops.arange(len(parent), parent.dtype) + rank * width
    return ops.compact(parent != vertex, vertex)[0]


@stage(writes="pointer")
def start_pointers(
    ops: ArrayModule, parent: Index, moving: Index, rank: Count, width: Count
) -> Index:
    """Return the parents of the moving vertices, and for all others -1 - parent: it is a root."""
    at = places(moving, rank, width)
    return replaced(ops, -1 - parent, at, ops.gather(parent, at))


@stage(writes=("above", "above_place"))
def list_parents(
    ops: ArrayModule, moving: Index, pointer: Index, rank: Count, width: Count, num_labels: Count
) -> tuple[Index, Index]:
    """List the distinct parents of the moving vertices, and the place of each vertex's parent."""
    return ops.unique_inverse(ops.gather(pointer, places(moving, rank, width)), num_labels)


@stage(writes=("pointer", "moving"))
def jump(
    ops: ArrayModule,
    pointer: Index,
    moving: Index,
    answers: Parcels,
    above_place: Index,
    rank: Count,
    width: Count,
) -> tuple[Index, Index]:
    """Replace the pointers of moving vertices by those of their parents; list those without a root.

    A parent that has found its root answers so. A jump later its children would find out by asking
    the root, so long paths take one jump less.
    """
    new = ops.gather(ops.concat([*answers]), above_place)
    pointer = replaced(ops, pointer, places(moving, rank, width), new)
    return pointer, ops.compact(new >= 0, moving)[0]


@stage(writes="parent")
def take_pointers(ops: ArrayModule, pointer: Index) -> Index:
    """Return the roots to which pointers lead."""
    return ops.maximum(pointer, -1 - pointer)


@stage(writes="num_moving", combine="sum")
def count_moving(moving: Index) -> Count:
    """Count the vertices whose parent may not be a root."""
    return len(moving)


@stage(writes="roots_reached")
def roots_reached(num_moving: Count) -> Verdict:
    """Return whether the parent of every vertex is a root."""
    return num_moving == 0


def places(labels: Any, rank: int, width: int) -> Any:
    """Return the places of labels in the arrays of their owner."""
    return labels - rank * width


def slices(
    ops: ArrayModule, columns: tuple[Any, ...], width: int, num_partitions: int
) -> tuple[tuple[Any, ...], ...]:
    """Divide columns by the owners of the first column, which has ascending labels."""
    labels = columns[0]
    starts = [min(rank * width, int(ops.largest(labels.dtype))) for rank in range(num_partitions)]
    bounds = ops.searchsorted(labels, ops.asarray(starts, labels.dtype))
    bounds = [*ops.to_host(bounds).tolist(), len(labels)]
    return tuple(
        tuple(column[low:high] for column in columns) for low, high in itertools.pairwise(bounds)
    )


def replaced(ops: ArrayModule, array: Any, place: Any, values: Any) -> Any:
    """Return an array of labels or pointers with new values at distinct places."""
    if not len(place):
        return array
    none = ops.largest(array.dtype)
    new = ops.scatter(place, values, len(array), none, array.dtype)
    return ops.where(new == none, array, new)
