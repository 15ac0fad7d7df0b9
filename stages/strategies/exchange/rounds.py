"""Stages of the rounds: fragments choose their lightest edge, and hook onto each other."""

from typing import Any

from ....primitives.vocabulary import ArrayModule
from ...declare import stage
from ...fields import Chosen, Count, Edges, Index, Parcels, Verdict
from .labels import places, replaced, slices

#: A rank drops the edges that close cycles among its own if it has more edges per label than this.
_EDGES_PER_LABEL = 1.5


@stage(writes="local_edges")
def drop_cycles(ops: ArrayModule, local_edges: Edges, touched: Index) -> Edges:
    """Reduce many edges to their forest: an edge that closes a cycle of lighter ones is not needed.

    Source: Sanders and Schimek (2023), who remove only parallel edges here.
    """
    u, v, key, _ = local_edges
    if len(u) <= _EDGES_PER_LABEL * len(touched):
        return local_edges
    joining, _ = ops.join_by_key(u, v, key, len(touched))
    is_kept = ops.scatter(joining, True, len(u), False, bool)
    return Edges(*ops.compact(is_kept, *local_edges))


@stage(writes="offers", combine="exchange")
def offer_lightest(
    ops: ArrayModule, touched: Index, local_edges: Edges, width: Count, num_partitions: Count
) -> Parcels:
    """Send the lightest edge of this rank at each label to the owner: key, id and other end."""
    key, edge_id, other = ops.scatter_min_pairs(*local_edges, len(touched))
    columns = touched, key, edge_id, ops.gather(touched, other)
    return slices(ops, columns, width, num_partitions)


@stage(writes=("active", "best_id", "best_end"))
def choose_lightest(
    ops: ArrayModule, offers: Parcels, parent: Index, rank: Count, width: Count
) -> tuple[Index, Index, Index]:
    """Choose the lightest offer for each fragment of this rank; list them in the order of ends.

    Offers are in the order of ranks, and so in the order of edge ids, which breaks ties.
    """
    labels, key, edge_id, other = (ops.concat([*column]) for column in zip(*offers, strict=True))
    position = ops.scatter_argmin((places(labels, rank, width),), key, len(parent))
    (position,) = ops.compact(position < len(labels), position)
    position = ops.gather(position, ops.argsort(ops.gather(other, position)))
    return tuple(ops.gather(column, position) for column in (labels, edge_id, other))


@stage(writes="claims", combine="exchange")
def send_claims(
    ops: ArrayModule,
    active: Index,
    best_id: Index,
    best_end: Index,
    width: Count,
    num_partitions: Count,
) -> Parcels:
    """Send each choice to the owner of the other end: that end, the edge, and the fragment."""
    return slices(ops, (best_end, best_id, active), width, num_partitions)


@stage(writes=("parent", "moving", "joined", "above_place"))
def hook(
    ops: ArrayModule,
    parent: Index,
    active: Index,
    best_id: Index,
    best_end: Index,
    claims: Parcels,
    rank: Count,
    width: Count,
) -> tuple[Index, Index, Index, Index]:
    """Make each fragment a child of the one that its edge leads to; break cycles of two.

    If two fragments chose the same edge, the smaller one remains a root, as in
    `remove_mirrored_edges`. Write the fragments with a new parent, the ids of their edges, and the
    places of their claims.
    """
    target, edge_id, sender = (ops.concat([*column]) for column in zip(*claims, strict=True))
    at, own = places(target, rank, width), places(active, rank, width)
    chosen = ops.scatter(own, best_id, len(parent), -1, best_id.dtype)
    is_mutual = (ops.gather(chosen, at) == edge_id) & (target < sender)
    is_root = ops.scatter(ops.compact(is_mutual, at)[0], True, len(parent), False, bool)
    claim = ops.arange(len(own), ops.index_dtype(len(own)))
    columns = ops.compact(~ops.gather(is_root, own), own, best_end, active, best_id, claim)
    own, best_end, moving, joined, claim = columns
    return replaced(ops, parent, own, best_end), moving, joined, claim


def append_joined(ops: ArrayModule, parts: list[tuple[Any, int]]) -> tuple[Any, int]:
    """Concatenate the ids of the edges that ranks chose, and add their numbers."""
    joined, counts = zip(*parts, strict=True)
    return ops.concat([*joined]), sum(counts)


@stage(writes=("forest", "num_joined"), combine=append_joined)
def collect_joined(joined: Index) -> tuple[Chosen, Count]:
    """Add the edges that a rank chose to the forest, and count them."""
    return joined, len(joined)


@stage(writes="num_vertices")
def count_fragments(num_vertices: Count, num_joined: Count) -> Count:
    """Subtract the number of joined fragments."""
    return num_vertices - num_joined


@stage(writes="one_rank_suffices")
def one_rank_suffices(num_edges: Count, width: Count, num_partitions: Count, few: Count) -> Verdict:
    """Return whether one rank can join the rest: no more edges remain than it has vertices.

    Rounds down to a quarter of them took 20 % longer with two workers.
    """
    return num_partitions == 1 or num_edges <= max(few, width)


@stage(writes="rest", combine="concatenation")
def collect_rest(ops: ArrayModule, local_edges: Edges, touched: Index) -> Edges:
    """Send the remaining edges of all ranks to one rank."""
    u, v, key, edge_id = local_edges
    return Edges(ops.gather(touched, u), ops.gather(touched, v), key, edge_id)


@stage(writes=("forest", "num_joined", "joined_labels", "joined_roots"))
def join_rest(
    ops: ArrayModule, rest: Edges, num_labels: Count
) -> tuple[Chosen, Count, Index, Index]:
    """Join the remaining fragments in one rank; write their labels and their roots."""
    labels, place = ops.unique_inverse(ops.concat([rest.u, rest.v]), num_labels)
    count = len(rest.u)
    joining, root = ops.join_by_key(place[:count], place[count:], rest.key, len(labels))
    chosen = ops.gather(rest.edge_id, joining)
    return chosen, len(chosen), labels, ops.gather(labels, root)


@stage(writes="parent")
def take_roots(
    ops: ArrayModule,
    parent: Index,
    joined_labels: Index,
    joined_roots: Index,
    rank: Count,
    width: Count,
    num_partitions: Count,
) -> Index:
    """Make the fragments of this rank that another rank joined children of their roots."""
    columns = joined_labels, joined_roots
    label, root = slices(ops, columns, width, num_partitions)[rank]
    return replaced(ops, parent, places(label, rank, width), root)
