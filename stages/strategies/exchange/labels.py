"""Stages that divide the vertices, ask their owners for labels, and follow parents to roots."""

import itertools
from typing import Any

from ....primitives.vocabulary import ArrayModule
from ...declare import stage
from ...fields import Count, Edges, Index, Parcels, Verdict


@stage(writes=("width", "num_labels"))
def divide_vertices(num_vertices: Count, num_partitions: Count) -> tuple[Count, Count]:
    """Return the number of vertices of each rank, and that of all; the last ranks may own fewer.

    The flags of a rank are whole bytes, except for the last one that owns vertices. The width is at
    most the number of vertices, so that their dtype can hold it.
    """
    width = 8 * -(-num_vertices // (8 * num_partitions))
    return max(1, min(width, num_vertices)), num_vertices


@stage(writes="parent")
def start_parents(ops: ArrayModule, rank: Count, width: Count, num_labels: Count) -> Index:
    """Make each vertex of this rank a separate fragment."""
    first = min(rank * width, num_labels)
    size = min(width, num_labels - first)
    return ~(ops.arange(size, ops.index_dtype(num_labels)) + first)


@stage(writes=("arcs", "local_edges"))
def deal_arcs(
    ops: ArrayModule, local_edges: Edges, width: Count, num_partitions: Count
) -> tuple[Parcels, Edges]:
    """Sort both arcs of each edge by the owner of the tail; replace ends by the places of arcs.

    The arcs for an owner are a slice of three columns: tail, head and key.
    """
    u, v, key, edge_id = local_edges
    offsets, *columns, u, v = ops.deal_ends(u, v, key, width, num_partitions)
    bounds = itertools.pairwise(ops.to_host(offsets).tolist())
    arcs = tuple(tuple(column[low:high] for column in columns) for low, high in bounds)
    return arcs, Edges(u, v, key, edge_id)


@stage(writes="questions", combine="exchange")
def ask_tails(arcs: Parcels) -> Parcels:
    """Ask the owners for the parent of the tail of each arc."""
    return tuple((tail,) for tail, *_ in arcs)


@stage(writes="answers", combine="exchange")
def answer_questions(
    ops: ArrayModule, questions: Parcels, parent: Index, rank: Count, width: Count
) -> Parcels:
    """Answer each rank with the parents of the vertices in the first column of its questions."""
    return tuple(ops.gather(parent, places(labels, rank, width)) for labels, *_ in questions)


@stage(writes="local_edges")
def relabel_local(ops: ArrayModule, local_edges: Edges, answers: Parcels) -> Edges:
    """Replace the ends of edges by their labels, and drop edges inside a fragment.

    Owners answer in the order of arcs; the label is the answer or -1 - answer.
    """
    answer = ops.concat([*answers])
    return Edges(*ops.relabel_pairs(ops.maximum(answer, ~answer), *local_edges))


@stage(writes=("parent", "moving", "above"))
def follow_all(
    ops: ArrayModule, parent: Index, rank: Count, width: Count, num_partitions: Count
) -> tuple[Index, Index, Index]:
    """List the vertices that are not roots, and their parents, which may not be roots any more."""
    own = own_labels(ops, parent, rank, width)
    is_moving = parent != ~own
    above, moving = ops.compact(is_moving, ~parent, own)
    moving, above = by_owner(ops, moving, above, width, num_partitions)
    return ops.where(is_moving, ~parent, parent), moving, above


@stage(writes="questions", combine="exchange")
def ask_above(
    ops: ArrayModule, above: Index, moving: Index, width: Count, num_partitions: Count
) -> Parcels:
    """Ask the owners of the parents of moving vertices for their parents."""
    return slices(ops, (above, moving), width, num_partitions)


@stage(writes=("parent", "moving", "above"))
def jump(
    ops: ArrayModule,
    parent: Index,
    moving: Index,
    answers: Parcels,
    rank: Count,
    width: Count,
    num_partitions: Count,
) -> tuple[Index, Index, Index]:
    """Replace the parents of moving vertices by those of their parents; list those without a root.

    An answer says whether it is the root, so that a vertex does not ask its root.
    """
    place = places(moving, rank, width)
    is_moving = ops.gather(parent, place) >= 0  # not a root because two fragments chose one edge
    place, moving, above = ops.compact(is_moving, place, moving, ops.concat([*answers]))
    parent = ops.scatter(place, above, len(parent), parent, parent.dtype)
    moving, above = ops.compact(above >= 0, moving, above)
    return parent, *by_owner(ops, moving, above, width, num_partitions)


@stage(writes="num_moving", combine="sum")
def count_moving(moving: Index) -> Count:
    """Count the vertices whose root may not be known."""
    return len(moving)


@stage(writes="roots_reached")
def roots_reached(num_moving: Count) -> Verdict:
    """Return whether the root of every vertex is known."""
    return num_moving == 0


def own_labels(ops: ArrayModule, parent: Any, rank: int, width: int) -> Any:
    """Return the vertices of a rank."""
    return ops.arange(len(parent), parent.dtype) + rank * width


def places(labels: Any, rank: int, width: int) -> Any:
    """Return the places of labels in the arrays of their owner."""
    return labels - rank * width


def by_owner(
    ops: ArrayModule, moving: Any, above: Any, width: int, num_partitions: int
) -> tuple[Any, Any]:
    """Sort moving vertices and their parents by the owners of the parents."""
    _, moving, above = ops.deal(above // width, num_partitions, moving, above)
    return moving, above


def slices(
    ops: ArrayModule, columns: tuple[Any, ...], width: int, num_partitions: int
) -> tuple[tuple[Any, ...], ...]:
    """Divide columns, which are sorted by the owners of the first column, by these owners."""
    owner = columns[0] // width
    ranks = ops.arange(num_partitions, owner.dtype)
    bounds = [*ops.to_host(ops.searchsorted(owner, ranks)).tolist(), len(owner)]
    return tuple(
        tuple(column[low:high] for column in columns) for low, high in itertools.pairwise(bounds)
    )
