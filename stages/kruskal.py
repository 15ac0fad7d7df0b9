"""Stages that process edges one at a time: the algorithms of Kruskal and Prim."""

from heapq import heappop, heappush

from ..primitives.vocabulary import ArrayModule
from .csr import compress_rows
from .declare import stage
from .fields import Arcs, Chosen, Count, Edges, VertexIndex


@stage(writes=("forest", "color"))
def join_by_weight(
    ops: ArrayModule, whole_edges: Edges, num_vertices: Count
) -> tuple[Chosen, VertexIndex]:
    """Choose each edge that joins two fragments, in ascending order of weights.

    Color each vertex with the root of its tree.

    Source: Kruskal, "On the Shortest Spanning Subtree of a Graph", 1956, construction A.
    """
    joining, color = ops.join_by_key(*whole_edges[:3], num_vertices)
    return ops.gather(whole_edges.edge_id, joining), color


@stage(writes="sorted_edges")
def sort_by_weight(ops: ArrayModule, whole_edges: Edges) -> Edges:
    """Sort the edges by weight. Ties are ordered by id."""
    order = ops.argsort(whole_edges.key)
    return Edges(*(ops.gather(column, order) for column in whole_edges))


@stage(writes=("forest", "main_cycles", "helper_cycles"))
def join_with_helpers(
    ops: ArrayModule, sorted_edges: Edges, num_vertices: Count
) -> tuple[Chosen, Count, Count]:
    """Join the sorted edges while helper threads reject edges that close a cycle.

    The chosen edges do not depend on the timing of threads; the numbers of rejected edges do.

    Source: Katsigiannis et al., "An approach to parallelize Kruskal's algorithm using Helper
    Threads", algorithms 2 and 3, and the counts of figure 7.
    """
    u, v, _, edge_id = sorted_edges
    joining, helper_cycles = ops.join_with_helpers(u, v, num_vertices)
    return ops.gather(edge_id, joining), len(u) - len(joining) - helper_cycles, helper_cycles


@stage(writes="whole_arcs")
def build_whole_csr(ops: ArrayModule, whole_edges: Edges, num_vertices: Count) -> Arcs:
    """Build the CSR form of the whole graph: position and destination of each arc."""
    u, v, *_ = whole_edges
    return compress_rows(ops, u, v, ops.arange(len(u), ops.index_dtype(2 * len(u))), num_vertices)


@stage(writes="forest")
def grow_trees(ops: ArrayModule, whole_edges: Edges, whole_arcs: Arcs) -> Chosen:
    """Grow a tree from each vertex that is not yet in a tree, always along the lightest arc.

    When the tree reaches a vertex, the arcs of this vertex that lead out of the tree are pushed to
    a heap, which compares (key, position of the edge). So ties go to the smaller id.

    Source: Prim, "Shortest Connection Networks And Some Generalizations", 1957.
    """
    start = whole_arcs.offsets.tolist()
    key = ops.gather(whole_edges.key, whole_arcs.edge)
    arcs = (key, whole_arcs.edge, whole_arcs.destination)
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
    return ops.gather(whole_edges.edge_id, ops.asarray(chosen, whole_arcs.edge.dtype))
