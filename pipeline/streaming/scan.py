"""The stages of the strategies that read a graph in scans.

In each partition, a scan finds the minimum forest of the lightest edges that join two fragments.
Then a tree of tasks merges the forests. There are two ways to empty a full buffer. If few fragments
remain, the forest of the buffered edges is small, and replaces them. Otherwise the buffer keeps its
lighter half, and the scan skips heavier edges from then on. A later scan takes the skipped edges,
when fewer fragments remain.

Only forests have to be merged: an edge outside the minimum forest of its partition is the heaviest
edge of a cycle in the partition, and this cycle also exists in the graph. Partitions are ranges of
edge ids, and neighbours are merged. So positions are in the order of edge ids, and ties break in
the same way at every level.
"""

from typing import Any, NamedTuple

from ...primitives.vocabulary import ArrayModule
from ...stages.declare import stage
from ...stages.fields import Chosen, Columns, Count, Verdict
from .reading import Scan, read_partition
from .solver import Cut, Solver


class Candidates(NamedTuple):
    """Edges of consecutive partitions that contain their minimum forest."""

    #: In the order of edge ids. The ends are fragments.
    edges: tuple[Columns, ...]
    #: The scan took every edge up to this one; None if it took all edges.
    cut: Cut | None
    #: Whether there is one item and it is a forest.
    is_forest: bool


def merge_forests(
    ops: ArrayModule,
    parts: list[tuple[Candidates]],
    solver: Solver,
    num_fragments: int,
    record: Any = None,
) -> tuple[Candidates]:
    """Find the forest of the forests of several partitions.

    If the candidates have at most one edge for each fragment, they are passed on unreduced.
    """
    cuts = {each.cut for (each,) in parts}
    cut = min((cut for cut in cuts if cut is not None), default=None)
    edges = tuple(columns for (each,) in parts for columns in each.edges)
    candidates = Candidates(edges, cut, is_forest=False)
    if len(cuts) == 1 and sum(len(columns.u) for columns in edges) <= num_fragments:
        return (candidates,)
    return (_reduced(solver.here(), candidates, num_fragments, record, trim=len(cuts) > 1),)


@stage(writes="candidates", combine=merge_forests)
def scan_partition(
    source: Any,
    solver: Any,
    num_vertices: Count,
    num_edges: Any,
    num_fragments: Count,
    num_scans: Count,
    can_rescan: Verdict,
    capacity: Count,
    limit: Any,
    labels: Any,
    first_edge: Count,
    record: Any = None,
) -> Any:
    """Find the forest of the lightest edges of a partition that join two fragments.

    If a partition has at most one edge for each fragment, it is passed on unreduced. A merge or the
    next stage then drops the cycles.
    """
    progress = f"scan {num_scans}", num_edges or 0, first_edge
    scan = Scan(*progress, num_vertices, num_fragments, capacity, can_rescan, limit)
    buffer = read_partition(solver, scan, source, labels, record)
    return Candidates((buffer.release(),), buffer.cut, buffer.is_forest)


@stage(writes="columns")
def hold_forest(
    source: Any, solver: Any, num_vertices: Count, num_edges: Any, capacity: Count
) -> Columns:
    """Find the forest of a partition; a partition with few edges is held unreduced."""
    scan = Scan("hold forests", num_edges or 0, 0, num_vertices, num_vertices, capacity)
    return read_partition(solver, scan, source).release()


@stage(writes=("found", "cut"))
def finish_forest(
    candidates: Any, solver: Any, num_fragments: Count, record: Any = None
) -> tuple[Any, Any]:
    """Find the forest of the candidates of all partitions."""
    if not candidates.is_forest:
        candidates = _reduced(solver.here(), candidates, num_fragments, record, trim=False)
    (found,) = candidates.edges
    return found, candidates.cut


@stage(writes="forest")
def collect_forest(found: Any) -> Chosen:
    """Add the edges that a scan found to the forest."""
    return found.edge_id


@stage(writes=("num_fragments", "num_scans"))
def start_scans(num_vertices: Count) -> tuple[Count, Count]:
    """Make each vertex a fragment, and begin the first scan."""
    return num_vertices, 1


@stage(writes="sample", combine="concatenation")
def sample_weights(source: Any, num_light: Count, num_partitions: Count) -> Any:
    """Sample weights throughout the graph, if light edges need a limit."""
    return source.sample_weights(num_partitions if num_light else 0)


@stage(writes="limit")
def choose_limit(
    ops: ArrayModule, sample: Any, solver: Any, num_light: Count, num_edges: Any
) -> Any:
    """Choose a limit for the keys of about `num_light` edges; None if all edges are light."""
    rank = len(sample) * num_light // max(1, num_edges or 0)
    if rank >= len(sample):
        return None
    return int(ops.partition(solver.keys(ops.asarray(sample)), rank)[rank])


@stage(writes=("labels", "num_fragments", "limit", "num_scans"))
def join_fragments(
    ops: ArrayModule, found: Any, labels: Any, num_fragments: Count, num_scans: Count
) -> tuple[Any, Count, Any, Count]:
    """Join fragments along the forest of a scan, before the next scan."""
    _, root = ops.join_in_order(found.u, found.v, num_fragments)
    number, left = ops.number_roots(root)
    return number if labels is None else ops.gather(number, labels), left, None, num_scans + 1


@stage(writes="nothing_left_out")
def nothing_left_out(cut: Any) -> Verdict:
    """Return whether no further scan is needed."""
    return cut is None


def _reduced(
    solver: Solver, candidates: Candidates, num_fragments: int, record: Any, *, trim: bool
) -> Candidates:
    """Return the forest of candidates; with `trim`, without the edges after their cut."""
    ops, saved = solver.ops, record and record.load()
    if saved:
        edges = Columns(*map(ops.asarray, saved[0]))
    else:
        columns = zip(*candidates.edges, strict=True)
        edges = Columns(*(ops.concat(list(parts)) for parts in columns))
        if trim:
            edges = solver.up_to(candidates.cut, edges)
        edges = solver.forest(edges, num_fragments)
        if record is not None:
            record.save(map(ops.to_host, edges), {})
    return Candidates((edges,), candidates.cut, is_forest=True)
