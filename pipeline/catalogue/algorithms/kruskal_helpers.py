"""Kruskal's algorithm with helper threads that reject cycle edges ahead of the main thread.

If both ends of an edge are in one tree, the edge closes a cycle and is never chosen. The main
thread takes the sorted edges one by one. Meanwhile, each helper reads a range of later edges, again
whenever the main thread has halved its distance to them, and rejects those that close a cycle. The
main thread skips rejected edges. The threads take no locks: helpers read the trees while the main
thread modifies them, and the main thread checks every edge that no helper rejected. Which thread
rejects an edge depends on timing; the forest does not.
Backends without compiled loops process the ranges in turn: a helper reads a range once, then the
main loop takes its remaining edges.

In `forest.report.final`, `main_cycles` and `helper_cycles` are the numbers of edges that the main
thread and the helpers rejected. `forest.report.seconds` has the time of the sort and of the loop.

Source: Katsigiannis, Anastopoulos, Nikas and Koziris, "An approach to parallelize Kruskal's
algorithm using Helper Threads". Six deviations:

- The smaller root becomes the root of both trees; the paper joins by rank.
- The main thread halves paths; the paper compresses them.
- The main thread's range of edges is larger, because it is faster, and has at least an edge for
  each vertex.
- The paper's helpers read their edges again without a pause, and slow down the main thread if there
  are more threads than processors.
- The last pass of a helper ends where the main thread overtakes it.
- Only helpers have an array of colors. No other thread reads the colors of the main thread, and
  storing them takes longer than finding them. So the main thread stores the forest's edges and
  counts the edges that it rejects.

Work: m log m, and the helpers' look-ups.
Span: as `kruskal`, over the edges that helpers do not reject.
Use it for: repeating the measurements of its source.
"""

from ....stages.edges import concatenate_edges
from ....stages.kruskal import join_with_helpers, sort_by_weight
from ...pipeline import Pipeline

kruskal_helpers = Pipeline(
    "kruskal-helpers",
    concatenate_edges,
    sort_by_weight,
    join_with_helpers,
    summary="Kruskal with threads that reject edges ahead of time (Katsigiannis et al.)",
    footprint=1,
)
