"""Connected components: Boruvka's algorithm, extended to compute a label for each vertex.

Promise: components are numbered in the order of their first vertices.
"""

from ..pipeline.catalogue.boruvka_edgelist import boruvka_edgelist
from ..pipeline.pipeline import Pipeline
from ..stages.fragments import add_level, compose_labels, number_by_first_vertex, start_levels

_levelled = boruvka_edgelist.insert_after("create_new_vertex_ids", add_level)

components = Pipeline(
    "components",
    start_levels,
    *_levelled.steps,
    compose_labels,
    number_by_first_vertex,
    result=("labels",),
)
