"""Kruskal's algorithm with helper threads that reject cycle edges ahead of the main one.

An edge whose ends are joined already will close a cycle whenever its turn comes. So, while the main
thread takes the sorted edges one by one, every other looks through a part of the later ones, over
and over, and rejects what it can; the main thread skips that. There are no locks: helpers read the
trees as they stand, and an edge they miss is left to the main thread. O(m log m) work. The forest
does not depend on timing, who rejects what does. Where no loop over edges is compiled, the parts
are taken in turn: one look at each, then the loop over what is left of it.

Source: Katsigiannis, Anastopoulos, Nikas and Koziris, "An approach to parallelize Kruskal's
algorithm using Helper Threads". Five deviations: the smaller root becomes the root of both trees
where theirs joins by rank; the main thread halves paths where theirs compresses them; its part of
the edges is the larger, since it is faster; a helper's last pass ends where the main thread
overtakes it. And only the helpers' colors are an array: what the main thread finds, nobody else
reads, and to write it down for each edge takes longer than to find it, so it is the list of the
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
    summary="Kruskal, helper threads reject cycle edges ahead of it (Katsigiannis et al.)",
)
