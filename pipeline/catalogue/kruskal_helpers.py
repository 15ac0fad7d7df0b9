"""Kruskal's algorithm with helper threads that reject cycle edges ahead of the main thread.

An edge with both ends in one tree closes a cycle and will never be chosen. So while the main thread
takes the sorted edges one by one, each helper repeatedly reads a range of later edges and rejects
those, which the main thread then skips. There are no locks: helpers read the trees while they
change, and the main thread checks the edges that they miss. O(m log m) work. The forest does not
depend on timing; the thread that rejects an edge does. Backends without compiled loops take the
ranges in turn: helpers read each once, then the main loop takes the remaining edges.

Source: Katsigiannis, Anastopoulos, Nikas and Koziris, "An approach to parallelize Kruskal's
algorithm using Helper Threads". Five deviations: the smaller root becomes the root of both trees,
where the paper joins by rank; the main thread halves paths instead of compressing them; its range
of edges is larger, because it is faster; and the last pass of a helper ends where the main thread
overtakes it. Finally, only helpers have an array of colors. No other thread reads the main thread's
findings, and to store one per edge takes longer than to find it, so they are the list of the
forest's edges and a count.

Promise: the forest that is minimal under (weight, edge id), on any backend and in any partition.
"""

from ...stages.edges import bring_edges_together
from ...stages.kruskal import join_with_helpers, sort_by_weight
from ..pipeline import Pipeline

kruskal_helpers = Pipeline(
    "kruskal-helpers",
    bring_edges_together,
    sort_by_weight,
    join_with_helpers,
    summary="Kruskal with threads that reject edges ahead of time (Katsigiannis et al.)",
)
