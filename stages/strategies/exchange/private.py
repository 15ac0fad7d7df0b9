"""Stages that contract the vertices whose edges all their owner has, before any round.

Such a vertex is *private*. If the edges of a graph are sorted by vertex, as those of grids and
roads are, nearly all vertices are private.
"""

from ....primitives.vocabulary import ArrayModule
from ...declare import stage
from ...fields import Count, Edges, Index, Parcels, Verdict
from .ranges import Ranges, is_own, own_labels, owners, places, slices

#: The smallest share of edges between two vertices of their rank for which contraction saves time.
_MIN_SHARE = 0.5


@stage(writes=("num_edges", "num_own"), combine="sum")
def count_own(
    ops: ArrayModule, local_edges: Edges, rank: Count, ranges: Ranges
) -> tuple[Count, Count]:
    """Count the edges, and those both of whose ends their rank owns."""
    u, v, _, _ = local_edges
    return len(u), ops.count(is_own(u, rank, ranges) & is_own(v, rank, ranges))


@stage(writes="has_private")
def has_private(num_edges: Count, num_own: Count, num_partitions: Count) -> Verdict:
    """Return whether there are several ranks, and enough edges between vertices of their rank."""
    return num_partitions > 1 and num_own >= max(1, _MIN_SHARE * num_edges)


@stage(writes="shared_labels", combine="exchange")
def send_shared(ops: ArrayModule, local_edges: Edges, rank: Count, ranges: Ranges) -> Parcels:
    """Send the owners of other ranks' vertices at edges of this rank these vertices."""
    ends = [ops.compact(~is_own(end, rank, ranges), end)[0] for end in local_edges[:2]]
    label = ops.concat(ends)
    _, label = ops.deal(owners(ops, label, ranges), ranges.num_ranks, label)
    return slices(ops, (label,), ranges)


@stage(writes=("parent", "local_edges", "joined"))
def contract_private(
    ops: ArrayModule,
    local_edges: Edges,
    shared_labels: Parcels,
    parent: Index,
    rank: Count,
    ranges: Ranges,
) -> tuple[Index, Edges, Index]:
    """Join private vertices by edges that are certain to be in the forest.

    The label of a set is its smallest vertex. Write also the edges that are not decided, and the
    ids of the certain ones. Vertices that earlier passes joined become labels again; this has no
    effect, because no edge has them as its end.

    Source: Sanders and Schimek (2023), local preprocessing. They sort the edges by vertex, exclude
    vertices that two ranks share, and keep a vertex whose lightest edge leads to another rank.
    """
    none, own = len(parent), own_labels(ops, parent, rank, ranges)
    shared = places(ops.concat([labels for (labels,) in shared_labels]), rank, ranges)
    node = ops.scatter(shared, none, none, ops.arange(none, own.dtype), own.dtype)
    u, v, key, edge_id = local_edges
    at_u, at_v = (
        ops.where(is_own(end, rank, ranges), places(end, rank, ranges), none) for end in (u, v)
    )
    of_u, of_v = (ops.gather(node, place, fill=none) for place in (at_u, at_v))
    certain, undecided, group, num_groups = ops.contract_tile(of_u, of_v, key, none)
    is_outer = ops.maximum(of_u, of_v) == none
    is_kept = ops.scatter(undecided, True, len(u), is_outer, bool)
    smallest = ops.scatter_reduce(group, own, num_groups, "min", ops.largest(own.dtype))
    label = ops.gather(smallest, group)
    u, v, at_u, at_v, key, kept_id = ops.compact(is_kept, u, v, at_u, at_v, key, edge_id)
    u, v = ops.gather(label, at_u, fill=u), ops.gather(label, at_v, fill=v)
    return ~label, Edges(u, v, key, kept_id), ops.gather(edge_id, certain)
