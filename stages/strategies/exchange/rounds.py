"""Stages of the rounds: fragments choose their lightest edge, and hook onto each other."""

from typing import Any

from ....primitives.vocabulary import ArrayModule
from ...declare import stage
from ...fields import Chosen, Count, Edges, Index, Parcels, Verdict
from .ranges import Ranges, by_owner, own_labels, places, slices

#: A rank that joins at least this share of edges per vertex of the graph does not number the labels
#: at them, which would take longer than an entry for each vertex.
_MANY_EDGES = 1 / 4

#: One rank joins the rest if it has at most this number of edges for each vertex of the graph,
#: divided twice by the number of ranks: the more ranks share a round, the shorter it is.
JOINED = 8


@stage(writes="local_edges")
def drop_cycles(
    ops: ArrayModule,
    local_edges: Edges,
    num_vertices: Count,
    num_labels: Count,
    num_partitions: Count,
) -> Edges:
    """Reduce more edges than fragments to their forest: other edges close a cycle of lighter ones.

    Source: Sanders and Schimek (2023), who remove only parallel edges here.
    """
    if num_partitions == 1 or len(local_edges.u) <= num_vertices:
        return local_edges
    joining, *_ = join_edges(ops, local_edges, num_labels)
    is_kept = ops.scatter(joining, True, len(local_edges.u), False, bool)
    return Edges(*ops.compact(is_kept, *local_edges))


@stage(writes="offers", combine="exchange")
def offer_arcs(arcs: Parcels) -> Parcels:
    """Send each arc to the owner of its tail."""
    return arcs


@stage(writes=("best_arc", "best_end", "moving", "above"))
def choose_lightest(
    ops: ArrayModule,
    offers: Parcels,
    parent: Index,
    rank: Count,
    ranges: Ranges,
) -> tuple[Index, Index, Index, Index]:
    """Choose the lightest arc of each fragment of this rank; list the fragments that have one.

    These fragments, `moving`, may get new roots; `above` has the heads of their arcs. Arcs are in
    the order of ranks, and so in the order of edge ids, which breaks ties. A vertex without arcs is
    its own best end.
    """
    tail, head, key = (ops.concat([*column]) for column in zip(*offers, strict=True))
    own = own_labels(ops, parent, rank, ranges)
    best_arc = ops.scatter_argmin((places(tail, rank, ranges),), key, len(parent))
    best_end = ops.gather(head, best_arc, fill=own)
    moving, above = ops.compact(best_arc < len(tail), own, best_end)
    return best_arc, best_end, *by_owner(ops, moving, above, ranges)


@stage(writes="parent")
def hook(
    ops: ArrayModule,
    parent: Index,
    best_end: Index,
    questions: Parcels,
    rank: Count,
    ranges: Ranges,
) -> Index:
    """Make each fragment a child of its best end; break cycles of two.

    If two fragments chose the same edge, each is the best end of the other, because ties are broken
    alike. Then the smaller one remains a root, as in `remove_mirrored_edges`.
    """
    end, sender = (ops.concat([*column]) for column in zip(*questions, strict=True))
    place = places(end, rank, ranges)
    is_mutual = (ops.gather(best_end, place) == sender) & (end < sender)
    hooked = ops.where(best_end == own_labels(ops, parent, rank, ranges), parent, best_end)
    (root,) = ops.compact(is_mutual, end)
    return ops.scatter(places(root, rank, ranges), ~root, len(parent), hooked, parent.dtype)


@stage(writes="answers", combine="exchange")
def answer_arcs(
    ops: ArrayModule, offers: Parcels, parent: Index, best_arc: Index, rank: Count, ranges: Ranges
) -> Parcels:
    """Answer each arc with the label of its tail, or with -1 - label if the tail chose the arc."""
    tail = ops.concat([tails for tails, *_ in offers])
    own = own_labels(ops, parent, rank, ranges)
    root, chosen = ops.compact((best_arc < len(tail)) & (parent != ~own), parent, best_arc)
    label = ~ops.gather(parent, places(tail, rank, ranges))
    answer = ops.scatter(chosen, root, len(tail), label, label.dtype)
    answers, end = [], 0
    for tails, *_ in offers:
        answers.append(answer[end : end + len(tails)])
        end += len(tails)
    return tuple(answers)


@stage(writes="joined")
def list_joined(ops: ArrayModule, local_edges: Edges, answers: Parcels) -> Index:
    """List the ids of the edges that an end chose."""
    answer = ops.concat([*answers])
    best = ops.minimum(ops.gather(answer, local_edges.u), ops.gather(answer, local_edges.v))
    return ops.compact(best < 0, local_edges.edge_id)[0]


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
def one_rank_suffices(
    num_edges: Count, num_labels: Count, num_partitions: Count, few: Count
) -> Verdict:
    """Return whether one rank joins the rest: it has the memory, and rounds would take longer."""
    return num_partitions == 1 or num_edges <= max(few, JOINED * num_labels // num_partitions**2)


@stage(writes="rest", combine="exchange")
def send_rest(local_edges: Edges, num_partitions: Count) -> Parcels:
    """Send the remaining edges of all ranks to the first one."""
    nothing = tuple(column[:0] for column in local_edges)
    return tuple(local_edges), *[nothing] * (num_partitions - 1)


@stage(writes="local_edges")
def take_rest(ops: ArrayModule, rest: Parcels) -> Edges:
    """Concatenate the edges that all ranks sent."""
    return Edges(*(ops.concat([*column]) for column in zip(*rest, strict=True)))


@stage(writes=("joined", "rest_labels", "rest_roots"))
def join_rest(
    ops: ArrayModule, local_edges: Edges, num_labels: Count
) -> tuple[Index, Index, Index]:
    """Join the remaining fragments; write those that are not roots any more, and their roots."""
    joining, label, root = join_edges(ops, local_edges, num_labels)
    return ops.gather(local_edges.edge_id, joining), *ops.compact(label != root, label, root)


@stage(writes="moves", combine="exchange")
def send_roots(ops: ArrayModule, rest_labels: Index, rest_roots: Index, ranges: Ranges) -> Parcels:
    """Send the owners of joined fragments their roots."""
    return slices(ops, (rest_labels, rest_roots), ranges)


@stage(writes="parent")
def take_roots(
    ops: ArrayModule, parent: Index, moves: Parcels, rank: Count, ranges: Ranges
) -> Index:
    """Make the joined fragments of this rank children of their roots."""
    label, root = (ops.concat([*column]) for column in zip(*moves, strict=True))
    place = places(label, rank, ranges)
    return ops.scatter(place, ~root, len(parent), parent, parent.dtype)


def join_edges(ops: ArrayModule, edges: Edges, num_labels: int) -> tuple[Any, Any, Any]:
    """Find the forest of edges.

    Return the places of its edges, the labels at the edges in ascending order, and the label of one
    fragment of the tree of each of them. Few labels are numbered first.
    """
    u, v, key, _ = edges
    if len(u) >= _MANY_EDGES * num_labels:
        joining, root = ops.join_by_key(u, v, key, num_labels)
        return joining, ops.arange(num_labels, u.dtype), ops.asarray(root, u.dtype)
    label, place = ops.unique_inverse(ops.concat([u, v]), num_labels)
    joining, root = ops.join_by_key(place[: len(u)], place[len(u) :], key, len(label))
    return joining, label, ops.gather(label, root)
