"""Cluster roads with a stage that stops Boruvka's algorithm at k fragments or fewer.

The fragments are the clusters: affinity clustering (Bateni et al., NIPS 2017).
"""

from pathlib import Path

import numpy as np

import mstflow
from mstflow.stages.fields import Count, Verdict
from mstflow.testing import check_stage


@mstflow.stage(writes="few_fragments")
def few_fragments(num_vertices: Count, num_edges: Count, k: Count) -> Verdict:
    """Return whether at most k fragments remain, or no edge joins two of them."""
    return num_vertices <= k or num_edges == 0


boruvka = mstflow.algorithm("boruvka-edgelist")
cluster = boruvka.replace("no_edges_left", few_fragments).given(k=100).named("clusters")
check_stage(few_fragments, cluster)

roads = mstflow.read(Path(__file__).parent / "data" / "USA-road-d.NY.gr.gz")

if __name__ == "__main__":
    forest = mstflow.minimum_spanning_forest(roads, algorithm=cluster)
    sizes = np.sort(np.bincount(forest.labels))[::-1]
    print(f"{forest.num_components} clusters, the largest of {sizes[0]} crossings")
