"""Stages of Prim's algorithm: the arcs of the whole graph, and trees grown along the lightest."""

from heapq import heappop, heappush

from ..primitives.vocabulary import ArrayModule
from .csr import build_csr
from .declare import stage
from .fields import Count, Index, Keys


@stage(writes=("whole_arc_edge", "whole_destination", "whole_offsets"))
def build_whole_csr(
    ops: ArrayModule, whole_u: Index, whole_v: Index, num_vertices: Count
) -> tuple[Index, Index, Index]:
    """List the arcs of each vertex one after another, over the edges of all parts."""
    arcs: tuple[Index, Index, Index] = build_csr(ops, whole_u, whole_v, num_vertices)
    return arcs


@stage(writes="chosen")
def grow_trees(
    ops: ArrayModule,
    whole_key: Keys,
    whole_id: Index,
    whole_arc_edge: Index,
    whole_destination: Index,
    whole_offsets: Index,
) -> Index:
    """Grow a tree from each vertex that none has reached, always along its lightest arc.

    A heap holds the arcs that left the tree when they were met, by key and then by the position of
    the edge, so that ties go to the smaller id.

    Source: Prim, "Shortest Connection Networks And Some Generalizations", 1957.
    """
    start = whole_offsets.tolist()
    arcs = (ops.gather(whole_key, whole_arc_edge), whole_arc_edge, whole_destination)
    reached = bytearray(len(start) - 1)
    chosen: list[int] = []
    heap: list[tuple[int, int, int]] = []

    def reach(vertex: int) -> None:
        reached[vertex] = True
        here = slice(start[vertex], start[vertex + 1])
        for arc in zip(*(column[here].tolist() for column in arcs), strict=True):
            if not reached[arc[2]]:
                heappush(heap, arc)

    for root in range(len(reached)):
        if reached[root]:
            continue
        reach(root)
        while heap:
            _, edge, vertex = heappop(heap)
            if not reached[vertex]:
                chosen.append(edge)
                reach(vertex)
    return ops.gather(whole_id, ops.asarray(chosen, whole_arc_edge.dtype))
