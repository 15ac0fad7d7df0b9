"""The load of `boruvka-csr` by round: the arcs of the largest partition, compared with the mean.

Sousa, Mariano and Proenca measure it by thread. The load is the same on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mstflow import algorithm, minimum_spanning_forest, stage
from mstflow.stages.fields import Arcs, Count  # annotations are read

from .. import graphs


def measure(graph: str, partitions: Sequence[int]) -> dict[str, Any]:
    """Return `rounds`: by number of partitions, the excess of each round."""
    loaded = graphs.load_named(graph)
    return {"rounds": {str(count): excess(loaded, count) for count in partitions}}


def excess(graph: graphs.Graph, partitions: int) -> list[float]:
    """Return for each round by what share the arcs of the largest partition exceed the mean."""
    counts: list[int] = []

    @stage(writes="num_edges", combine="sum")
    def count_arcs(arcs: Arcs) -> Count:
        counts.append(len(arcs.edge))
        return len(arcs.edge) // 2

    minimum_spanning_forest(
        graph[:3],
        num_vertices=graph.n,
        algorithm=algorithm("boruvka-csr").replace("count_arcs", count_arcs),
        strategy="iterate",
        partitions=partitions,
        progress=False,
    )
    rounds = (counts[first : first + partitions] for first in range(0, len(counts), partitions))
    return [max(each) * partitions / sum(each) - 1 for each in rounds if any(each)]
