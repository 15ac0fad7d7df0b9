"""Two rounds of Boruvka's algorithm, then Kruskal's on the remaining edges.

A Boruvka round passes over the edges once and at least halves the number of fragments that have an
edge to another. Edges inside a fragment are dropped, so Kruskal's algorithm has fewer to sort.
"""

from mstflow import Loop, Pipeline, algorithm, stage
from mstflow.pipeline.catalogue.shared import CONTRACT, JOIN
from mstflow.stages.edges import count_edges, drop_loops
from mstflow.stages.fields import Count, Verdict


@stage(writes="rounds_left")
def start_rounds(rounds_of_boruvka: Count) -> Count:
    """Set the number of Boruvka rounds."""
    return rounds_of_boruvka


@stage(writes="rounds_left")
def count_round(rounds_left: Count) -> Count:
    """Subtract the finished round."""
    return rounds_left - 1


@stage(writes="rounds_over")
def rounds_over(rounds_left: Count, num_edges: Count) -> Verdict:
    """Return whether all rounds are done, or no edge is left."""
    return rounds_left == 0 or num_edges == 0


boruvka_kruskal = Pipeline(
    "boruvka-kruskal",
    drop_loops,
    count_edges,
    start_rounds,
    Loop(*JOIN, *CONTRACT, count_round, until=rounds_over),
    algorithm("kruskal"),
    values={"rounds_of_boruvka": 2},
    summary="two rounds of Boruvka, then Kruskal",
)
