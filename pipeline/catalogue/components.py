"""Connected components, as Boruvka's algorithm that also carries the vertices' labels along.

Promise: components numbered in the order of their first vertices.
"""

from ...stages.fragments import compose_labels, number_by_first_vertex, start_labels
from ..pipeline import Pipeline
from .boruvka_edgelist import boruvka_edgelist

_labelled = boruvka_edgelist.insert_before("start_forest", start_labels).insert_after(
    "create_new_vertex_ids", compose_labels
)

components = Pipeline("components", *_labelled.steps, number_by_first_vertex, result=("labels",))
