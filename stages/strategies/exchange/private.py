"""Stages that contract the vertices whose edges all one rank has, before any round.

Such a vertex is *private* to this rank. If the edges of a graph are sorted by vertex, as those of
grids and roads are, nearly all vertices are private.
"""

from ....primitives.vocabulary import ArrayModule
from ...declare import stage
from ...fields import Count, Edges, Flags, Index, Parcels, Verdict
from .labels import places, replaced, slices

#: The smallest share of private labels for which contracting them saves time.
_MIN_SHARE = 0.5


@stage(writes="answers", combine="exchange")
def answer_private(
    ops: ArrayModule, questions: Parcels, parent: Index, rank: Count, width: Count
) -> Parcels:
    """Answer each rank whether it is the only one that asked for a vertex."""
    asked = [places(labels, rank, width) for (labels,) in questions]
    place = ops.concat(asked)
    one = ops.full(len(place), 1, "int32")
    ranks = ops.scatter_reduce(place, one, len(parent), "sum", 0)
    return tuple(ops.gather(ranks, place) == 1 for place in asked)


@stage(writes="is_private")
def take_private(ops: ArrayModule, answers: Parcels) -> Flags:
    """Concatenate the answers: owners answer in order, and `touched` is ascending."""
    return ops.concat([*answers])


@stage(writes=("num_touched", "num_private"), combine="sum")
def count_private(ops: ArrayModule, is_private: Flags) -> tuple[Count, Count]:
    """Count the labels at edges, once for each rank, and the private ones."""
    return len(is_private), ops.count(is_private)


@stage(writes="has_private")
def has_private(num_touched: Count, num_private: Count, num_partitions: Count) -> Verdict:
    """Return whether there are several ranks, and enough private labels."""
    return num_partitions > 1 and num_private >= max(1, _MIN_SHARE * num_touched)


@stage(writes=("label", "local_edges", "joined"))
def contract_private(
    ops: ArrayModule, touched: Index, local_edges: Edges, is_private: Flags
) -> tuple[Index, Edges, Index]:
    """Join private labels by edges that are certain to be in the forest.

    Write the new label of each touched label, the smallest of its set; the edges that are not
    decided; and the ids of the certain ones.

    Source: Sanders and Schimek (2023), local preprocessing. They sort the edges by vertex, exclude
    vertices that two ranks share, and keep a vertex whose lightest edge leads to another rank.
    """
    none = ops.count(is_private)
    number = ops.scan(is_private, ops.index_dtype(len(touched)), exclusive=True)
    number = ops.where(is_private, number, none)  # `none` stands for all other labels
    u, v = (ops.gather(number, end) for end in local_edges[:2])
    position = ops.arange(len(u), ops.index_dtype(len(u)))
    is_inner = ops.minimum(u, v) < none
    inner_u, inner_v, key, position = ops.compact(is_inner, u, v, local_edges.key, position)
    certain, undecided, group, num_groups = ops.contract_tile(inner_u, inner_v, key, none)
    certain, undecided = (ops.gather(position, place) for place in (certain, undecided))
    is_kept = ops.maximum(u, v) == none
    is_kept = is_kept | ops.scatter(undecided, True, len(u), False, bool)
    (own,) = ops.compact(is_private, touched)
    smallest = ops.scatter_reduce(group, own, num_groups, "min", ops.largest(own.dtype))
    label = ops.where(is_private, ops.gather(ops.gather(smallest, group), number, fill=0), touched)
    kept = Edges(*ops.compact(is_kept, *local_edges))
    return label, kept, ops.gather(local_edges.edge_id, certain)


@stage(writes="moves", combine="exchange")
def send_moves(
    ops: ArrayModule, touched: Index, label: Index, width: Count, num_partitions: Count
) -> Parcels:
    """Send the owners of contracted vertices their new labels."""
    return slices(ops, ops.compact(label != touched, touched, label), width, num_partitions)


@stage(writes="parent")
def move_vertices(
    ops: ArrayModule, parent: Index, moves: Parcels, rank: Count, width: Count
) -> Index:
    """Make each contracted vertex a child of its new label."""
    vertex, label = (ops.concat([*column]) for column in zip(*moves, strict=True))
    return replaced(ops, parent, places(vertex, rank, width), label)
