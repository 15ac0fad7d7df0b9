"""Stages that ask the owners of vertices for labels, and follow parents to roots."""

import itertools

from ....primitives.vocabulary import ArrayModule
from ...declare import stage
from ...fields import Count, Edges, Index, Parcels, Verdict
from .ranges import Ranges, by_owner, own_labels, places, slices


@stage(writes="parent")
def start_parents(ops: ArrayModule, rank: Count, ranges: Ranges, num_labels: Count) -> Index:
    """Make each vertex of this rank a separate fragment."""
    first, stop = ranges.starts[rank : rank + 2]
    return ~(ops.arange(stop - first, ops.index_dtype(num_labels)) + first)


@stage(writes=("arcs", "local_edges"))
def deal_arcs(ops: ArrayModule, local_edges: Edges, ranges: Ranges) -> tuple[Parcels, Edges]:
    """Sort both arcs of each edge by the owner of the tail; replace ends by the places of arcs.

    The arcs for an owner are a slice of three columns: tail, head and key.
    """
    u, v, key, edge_id = local_edges
    offsets, *columns, u, v = ops.deal_ends(u, v, key, ranges.owner, ranges.bits, ranges.num_ranks)
    bounds = itertools.pairwise(ops.to_host(offsets).tolist())
    arcs = tuple(tuple(column[low:high] for column in columns) for low, high in bounds)
    return arcs, Edges(u, v, key, edge_id)


@stage(writes="questions", combine="exchange")
def ask_tails(arcs: Parcels) -> Parcels:
    """Ask the owners for the parent of the tail of each arc."""
    return tuple((tail,) for tail, *_ in arcs)


@stage(writes="answers", combine="exchange")
def answer_questions(
    ops: ArrayModule, questions: Parcels, parent: Index, rank: Count, ranges: Ranges
) -> Parcels:
    """Answer each rank with the parents of the vertices in the first column of its questions."""
    return tuple(ops.gather(parent, places(labels, rank, ranges)) for labels, *_ in questions)


@stage(writes="local_edges")
def relabel_local(ops: ArrayModule, local_edges: Edges, answers: Parcels) -> Edges:
    """Replace the ends of edges by their labels, and drop edges inside a fragment.

    Owners answer in the order of arcs; the label is the answer or -1 - answer.
    """
    answer = ops.concat([*answers])
    return Edges(*ops.relabel_pairs(ops.maximum(answer, ~answer), *local_edges))


@stage(writes=("parent", "moving", "above"))
def follow_all(
    ops: ArrayModule, parent: Index, rank: Count, ranges: Ranges
) -> tuple[Index, Index, Index]:
    """List the vertices that are not roots, and their parents, which may not be roots any more."""
    own = own_labels(ops, parent, rank, ranges)
    is_moving = parent != ~own
    above, moving = ops.compact(is_moving, ~parent, own)
    moving, above = by_owner(ops, moving, above, ranges)
    return ops.where(is_moving, ~parent, parent), moving, above


@stage(writes="questions", combine="exchange")
def ask_above(ops: ArrayModule, above: Index, moving: Index, ranges: Ranges) -> Parcels:
    """Ask the owners of the parents of moving vertices for their parents."""
    return slices(ops, (above, moving), ranges)


@stage(writes=("parent", "moving", "above"))
def jump(
    ops: ArrayModule,
    parent: Index,
    moving: Index,
    answers: Parcels,
    rank: Count,
    ranges: Ranges,
) -> tuple[Index, Index, Index]:
    """Replace the parents of moving vertices by those of their parents; list those without a root.

    An answer says whether it is the root, so that a vertex does not ask its root.
    """
    place = places(moving, rank, ranges)
    is_moving = ops.gather(parent, place) >= 0  # not a root because two fragments chose one edge
    place, moving, above = ops.compact(is_moving, place, moving, ops.concat([*answers]))
    parent = ops.scatter(place, above, len(parent), parent, parent.dtype)
    moving, above = ops.compact(above >= 0, moving, above)
    return parent, *by_owner(ops, moving, above, ranges)


@stage(writes="num_moving", combine="sum")
def count_moving(moving: Index) -> Count:
    """Count the vertices whose root may not be known."""
    return len(moving)


@stage(writes="roots_reached")
def roots_reached(num_moving: Count) -> Verdict:
    """Return whether the root of every vertex is known."""
    return num_moving == 0
