"""Connected components: Boruvka's algorithm, which also labels each vertex with its component.

The components are numbered in the order of their first vertices.
"""

from ...stages.fragments import number_by_first_vertex
from ..pipeline import Pipeline
from .algorithms.filter_boruvka import fragments_of

components = Pipeline(
    "components",
    *fragments_of.steps,
    number_by_first_vertex,
    result=("labels",),
    summary="The component of each vertex",
)
