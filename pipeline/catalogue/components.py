"""Connected components: Boruvka's algorithm, which also labels each vertex with its component.

The components are numbered in the order of their first vertices.
"""

from ...stages.fragments import add_level, compose_labels, number_by_first_vertex, start_levels
from ..pipeline import Pipeline
from .algorithms.boruvka_edgelist import boruvka_edgelist

components = Pipeline(
    "components",
    start_levels,
    *boruvka_edgelist.insert_after("create_new_vertex_ids", add_level).steps,
    compose_labels,
    number_by_first_vertex,
    result=("labels",),
    summary="The component of each vertex",
)
