"""Stages of the strategy "scan", which call the scanner of a graph.

In each partition, a scan finds the minimum forest of the lightest edges that join two fragments.
Then a tree of tasks merges the forests. There are two ways to empty a full buffer. If few fragments
remain, the forest of the buffered edges is small, and replaces them. Otherwise the buffer keeps its
lighter half, and the scan skips heavier edges from then on. A later scan takes the skipped edges,
when fewer fragments remain.

It is enough to merge the forests: an edge outside the minimum forest of its partition is the
heaviest edge of a cycle in the partition, and this cycle also exists in the graph. Partitions are
ranges of edge ids, and neighbours are merged, so positions are in the order of edge ids.
"""

from typing import Any

from ...primitives.vocabulary import ArrayModule
from ..declare import stage
from ..fields import (
    Candidates,
    Chosen,
    Columns,
    Count,
    Cut,
    Index,
    Limit,
    Verdict,
    Weights,
)
from .readers import Scanner, Source

#: The factor by which `raise_limit` raises the rank of a limit. The buffer lowers limits that are
#: too high.
_RANK_FACTOR = 3


@stage(writes=("num_fragments", "num_scans", "read_ms"))
def start_scans(num_vertices: Count) -> tuple[Count, Count, Count]:
    """Make each vertex a fragment, and begin the first scan."""
    return num_vertices, 1, 0


@stage(writes="sample", combine="concatenation")
def sample_weights(source: Source, num_light: Count, num_partitions: Count) -> Weights:
    """Sample the weights of the graph; the sample is empty if all edges are light."""
    return source.sample_weights(num_partitions if num_light else 0)


@stage(writes="limit")
def choose_limit(
    ops: ArrayModule, sample: Weights, scanner: Scanner, num_light: Count, num_edges: Count | None
) -> Limit | None:
    """Choose a limit that the keys of about `num_light` edges do not exceed; None for no limit."""
    rank = len(sample) * num_light // max(1, num_edges or 0)
    return _key_of_rank(ops, scanner.keys(sample), rank)


def merge_forests(
    ops: ArrayModule,
    parts: list[tuple[Candidates]],
    scanner: Scanner,
    num_fragments: int,
    record: Any = None,
) -> tuple[Candidates]:
    """Find the forest of the forests of several partitions, up to the first cut.

    If there are at most as many edges as fragments, they are passed on unreduced.
    """
    cuts = {candidates.cut for (candidates,) in parts}
    cut = min((cut for cut in cuts if cut is not None), default=None)
    edges = tuple(columns for (candidates,) in parts for columns in candidates.edges)
    read_ms = sum(candidates.read_ms for (candidates,) in parts)
    merged = Candidates(edges, cut, is_forest=False, read_ms=read_ms)
    if len(cuts) == 1 and sum(len(columns.u) for columns in edges) <= num_fragments:
        return (merged,)
    return (scanner.reduce(merged, num_fragments, record, trim=len(cuts) > 1),)


@stage(writes="candidates", combine=merge_forests)
def scan_partition(
    source: Source,
    scanner: Scanner,
    labels: Index | None,
    num_fragments: Count,
    num_scans: Count,
    limit: Limit | None,
    record: Any = None,
) -> Candidates:
    """Find the forest of the lightest edges of a partition that join two fragments.

    If there are at most as many edges as fragments, they are passed on unreduced. A merge or the
    next stage then drops the cycles. `labels` is the fragment of each vertex; None before the first
    vertices are joined. The task resumes from the edges that it saves in `record`.
    """
    return scanner.scan(source, num_fragments, labels, limit, record, number=num_scans)


@stage(writes=("found", "cut", "read_ms"))
def finish_forest(
    candidates: Candidates,
    scanner: Scanner,
    num_fragments: Count,
    read_ms: Count,
    record: Any = None,
) -> tuple[Columns, Cut | None, Count]:
    """Find the forest of the candidates of all partitions, and the cut of the scan.

    Add the time of reading to that of earlier scans, for the report.
    """
    if not candidates.is_forest:
        candidates = scanner.reduce(candidates, num_fragments, record, trim=False)
    (found,) = candidates.edges
    return found, candidates.cut, read_ms + candidates.read_ms


@stage(writes="forest")
def collect_forest(found: Columns) -> Chosen:
    """Add the edges that a scan found to the forest."""
    return found.edge_id


@stage(writes=("weighed", "weights"))
def collect_weights(
    ops: ArrayModule, found: Columns, weighed: Index | None, weights: Weights | None
) -> tuple[Index, Weights]:
    """Add the ids and weights of the edges that a scan found to those of earlier scans."""
    if weighed is None:
        return found.edge_id, found.weight
    return ops.concat([weighed, found.edge_id]), ops.concat([weights, found.weight])


@stage(writes=("labels", "num_fragments", "num_scans"))
def join_fragments(
    ops: ArrayModule,
    found: Columns,
    labels: Index | None,
    num_fragments: Count,
    num_scans: Count,
) -> tuple[Index, Count, Count]:
    """Join the fragments by the edges that a scan found, and count the next scan."""
    _, root = ops.join_in_order(found.u, found.v, num_fragments)
    joined, num_joined = ops.number_roots(root)
    return joined if labels is None else ops.gather(joined, labels), num_joined, num_scans + 1


@stage(writes="limit")
def raise_limit(
    ops: ArrayModule,
    sample: Weights,
    scanner: Scanner,
    cut: Cut | None,
    num_fragments: Count,
    num_partitions: Count,
) -> Limit | None:
    """Choose a higher limit for the next scan; None if few fragments remain.

    A scan skips the edges above the limit without a look-up of the fragments of their ends.
    """
    if cut is None or scanner.takes_all(num_fragments, num_partitions):
        return None
    keys = scanner.keys(sample)
    return _key_of_rank(ops, keys, _RANK_FACTOR * (1 + ops.count(keys <= cut.key)))


@stage(writes="no_edge_skipped")
def no_edge_skipped(cut: Cut | None) -> Verdict:
    """Return whether the scan skipped no edge, so that no further scan is needed."""
    return cut is None


def _key_of_rank(ops: ArrayModule, keys: Any, rank: int) -> int | None:
    """Return the key of rank `rank` in a sample; None if the sample has fewer keys."""
    return int(ops.partition(keys, rank)[rank]) if rank < len(keys) else None
