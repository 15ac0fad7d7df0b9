"""The stages of strategies that only read a graph in scans.

A scan finds the minimum forest of the lightest edges that join two fragments, in each partition,
and merges the forests of all partitions up a tree. A buffer that fills up makes room in one of two
ways. If its forest must be small, since few fragments are left, the forest takes its place: an edge
that is the heaviest on a cycle here is so in the whole graph. Otherwise only its lighter half is
kept, and from there on the scan passes over what is heavier: a later scan, with more of the
vertices joined, takes care of that.

An edge that is not in the minimum forest of a partition is the heaviest on a cycle there, and so on
one of the whole: only forests have to be merged. Partitions are ranges of edge ids and merge with
their neighbours, so positions keep the order of ids and break ties alike at every level.
"""

from typing import Any, NamedTuple

from ...primitives.vocabulary import ArrayModule
from ...stages.declare import stage
from ...stages.fields import Chosen, Columns, Count, Verdict
from .buffer import EdgeBuffer
from .reading import Progress, Scan, leave, read_partition, resume
from .solver import Cut, Solver


class Candidates(NamedTuple):
    """Edges of some partitions among which their minimum forest is.

    Attributes
    ----------
    pieces : tuple of Columns
        In order of edge ids; ends as fragments.
    cut : Cut or None
        Up to where all edges were taken; None for all.
    is_forest : bool
        Whether the only piece is a forest.
    """

    pieces: tuple[Columns, ...]
    cut: Cut | None
    is_forest: bool


def merge_forests(
    ops: ArrayModule,
    parts: list[tuple[Candidates]],
    solver: Solver,
    num_fragments: int,
    record: Any = None,
) -> tuple[Candidates]:
    """Find the forest of the forests of several partitions.

    Candidates that are no more than the edges of a forest are passed on unreduced.
    """
    cuts = {each.cut for (each,) in parts}
    cut = min((cut for cut in cuts if cut is not None), default=None)
    pieces = tuple(piece for (each,) in parts for piece in each.pieces)
    candidates = Candidates(pieces, cut, is_forest=False)
    if len(cuts) == 1 and sum(len(piece.u) for piece in pieces) <= num_fragments:
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
    several_scans: Verdict,
    capacity: Count,
    limit: Any,
    labels: Any,
    first_edge: Count,
    record: Any = None,
) -> Any:
    """Find the forest of the lightest edges of a partition that join two fragments.

    A partition with no more edges than a forest may have is passed on unreduced: a merge, or the
    stage after this one, drops its cycles.
    """
    scan = Scan(num_vertices, num_fragments, capacity, several_scans, limit)
    progress = Progress(f"scan {num_scans}", source.first_id - first_edge, num_edges or 0)
    buffer, seen = read_partition(solver.here(), scan, source, labels, progress, record)
    buffer.reduce(above=num_fragments)
    leave(buffer, record, seen)
    return Candidates((Columns(*buffer.release()),), buffer.cut, buffer.is_forest)


@stage(writes="columns")
def hold_forest(
    source: Any, solver: Any, num_vertices: Count, num_edges: Any, capacity: Count
) -> Columns:
    """Find the forest of a partition; one with few edges is held as it is."""
    scan = Scan(num_vertices, num_vertices, capacity)
    progress = Progress("hold forests", source.first_id, num_edges or 0)
    buffer, _ = read_partition(solver.here(), scan, source, None, progress, None)
    buffer.reduce(above=num_vertices)
    return Columns(*buffer.release())


@stage(writes=("found", "cut"))
def finish_forest(
    candidates: Any, solver: Any, num_fragments: Count, record: Any = None
) -> tuple[Any, Any]:
    """Drop the cycles that are left among the candidates of all partitions."""
    if not candidates.is_forest:
        candidates = _reduced(solver.here(), candidates, num_fragments, record, trim=False)
    (found,) = candidates.pieces
    return found, candidates.cut


@stage(writes="forest")
def collect_forest(found: Any) -> Chosen:
    """Add the edges that a scan found to the forest."""
    return found.edge_id


@stage(writes=("num_fragments", "num_scans"))
def start_scans(num_vertices: Count) -> tuple[Count, Count]:
    """Make each vertex a fragment of its own, and begin with the first scan."""
    return num_vertices, 1


@stage(writes="sample", combine="concatenation")
def sample_weights(source: Any, num_light: Count, num_partitions: Count) -> Any:
    """Take weights from all over the graph, if there shall be a limit for light edges."""
    return source.sample_weights(num_partitions if num_light else 0)


@stage(writes="limit")
def choose_limit(
    ops: ArrayModule, sample: Any, solver: Any, num_light: Count, num_edges: Any
) -> Any:
    """Choose the key up to which about `num_light` edges are light; None if all are."""
    rank = len(sample) * num_light // max(1, num_edges or 0)
    if rank >= len(sample):
        return None
    return int(ops.partition(solver.keys(ops.asarray(sample)), rank)[rank])


@stage(writes=("labels", "num_fragments", "limit", "num_scans"))
def join_fragments(
    ops: ArrayModule, found: Any, labels: Any, num_fragments: Count, num_scans: Count
) -> tuple[Any, Count, Any, Count]:
    """Join fragments along the forest found, for a scan of the edges left out."""
    _, root = ops.join_in_order(found.u, found.v, num_fragments)
    number, left = ops.number_roots(root)
    return number if labels is None else ops.gather(number, labels), left, None, num_scans + 1


@stage(writes="nothing_left_out")
def nothing_left_out(cut: Any) -> Verdict:
    """Return whether the scan took every edge."""
    return cut is None


def _reduced(
    solver: Solver, candidates: Candidates, num_fragments: int, record: Any, *, trim: bool
) -> Candidates:
    """Return the forest of candidates, without those after their cut if asked to `trim`."""
    buffer = EdgeBuffer(solver, num_fragments, 0, None, folds=True)
    if not resume(buffer, record):
        concatenate, columns = solver.ops.concat, zip(*candidates.pieces, strict=True)
        edges = Columns(*(concatenate(list(pieces)) for pieces in columns))
        if trim:
            edges = solver.up_to(candidates.cut, edges)
        buffer.restore(edges, is_forest=False)
        buffer.reduce()
        leave(buffer, record, 1)
    return Candidates((Columns(*buffer.release()),), candidates.cut, is_forest=True)
